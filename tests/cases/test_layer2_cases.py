"""Cases B24 to B37 of the log of public bug reports, the whole kind each: real bash, both layers, what the model reads.

INV (the next prompt is accepted by a strict server and answered, and once more after quit and resume) comes from `against`.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import resource
import signal
import subprocess
import time
from pathlib import Path

import pytest

from agentclip.agent.options import AgentOptions
from agentclip.events import CommandFinished, OutputGrew
from agentclip.results import ChainResult, Ended, Limits
from agentclip.shell.execute import RunRequest
from tests.agent.workbench import against, answers, asked, turn_in_the_background, until
from tests.cases.lines import lines
from tests.cases.program import home
from tests.fake_model.script import run, text

FOOTER = re.compile(r"\[exit:(\d+) \| [^\]\n]+\]\Z")


def body(shown: str, status: int = 0) -> str:
    """The text without its footer, whose status is looked at."""
    match = FOOTER.search(shown)
    assert match, shown
    assert int(match[1]) == status, shown
    return shown[: match.start()]


def content(path: str) -> bytes:
    return Path(path).read_bytes()


def spool(result: ChainResult) -> bytes:
    return content(result.stdout.path)


def log_of(folder: Path) -> bytes:
    """Everything that sessions stored there."""
    return b"".join(path.read_bytes() for path in folder.rglob("*.json*"))


# B24: NUL ------------------------------------------------------------------------------------------------------------

NULS = [
    r"printf 'before\000after\n'",
    r"printf '\000'",
    r"printf 'a\000b\n' >&2",
    r"printf 'a\000b\n' | cat; printf 'c\000' >&2; exit 3",
    r"python3 -c 'import sys; sys.stdout.buffer.write(\"wide\".encode(\"utf-16-le\"))'",
    r"head -c 3000 /dev/zero",
    r"seq 300; printf 'x\000y\n'; exit 1",
]


async def test_b24_a_nul_never_reaches_a_request_nor_the_session(tmp_path: Path) -> None:
    async with against(tmp_path, [run(*NULS), text("done")]) as (it, server):
        await asked(it, "go", "done")
        told = answers(server)
        assert len(told) == len(NULS)
        first = told[next(iter(told))]
        assert re.match(r"\[error\] binary file \(13B\)\. Use: cat -b \S+\n\[exit:0 \| ", first)
        assert spool(it.of(CommandFinished)[0].result) == b"before\0after\n"
        assert all(FOOTER.search(said) for said in told.values())
        assert not any("\0" in said for said in told.values())
        stored = log_of(tmp_path / "sessions")
        assert b"\0" not in stored
        assert b"\\u0000" not in stored.replace(b"\\\\u0000", b"")
        assert b"\0" not in server.last.raw


async def test_b24_the_way_out_of_a_nul_works_as_written(tmp_path: Path) -> None:
    with lines(tmp_path) as session:
        advice = session.read(NULS[0]).partition("Use: ")[2].splitlines()[0]
        assert body(session.read(advice)) == "YmVmb3JlAGFmdGVyCg==\n"
        assert body(session.read(f"{NULS[0]} | tr '\\000' ' '")) == "before after\n"


# B25: binary output ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "size"),
    [
        ("head -c 4096 /dev/urandom", "4KB"),
        ("gzip -c /etc/passwd", None),
        ("cat /bin/ls", None),
        ("head -c 4096 /dev/urandom; echo text", "4KB"),
        ("tar -cf - /etc/passwd 2>/dev/null", "10KB"),
        ("head -c 5000000 /dev/urandom | cat", "4.8MB"),
        ("sh -c 'head -c 4096 /dev/urandom >&2'", "4KB"),
    ],
)
def test_b25_a_binary_is_one_short_note_with_its_size_and_a_way(line: str, size: str | None, tmp_path: Path) -> None:
    with lines(tmp_path) as session:
        result, shown = session.run(line)
        said = body(shown.text)
        assert len(shown.text) < 500
        assert re.match(r"(\[stderr\] )?\[error\] binary (file|image) \([\d.]+(B|KB|MB)\)\. Use: (cat -b|see) \S+\n", said)
        assert size is None or f"({size})" in said
        advice = said.partition("Use: ")[2].splitlines()[0]
        again = session.run(f"{advice} | head -c 40")[0]
        assert again.status == 0
        assert result.status == 0


async def test_b25_random_bytes_leave_the_conversation_whole(tmp_path: Path) -> None:
    async with against(tmp_path, [run("head -c 4096 /dev/urandom", "gzip -c /etc/passwd"), text("done")]) as (it, server):
        await asked(it, "go", "done")
        assert all(len(said) < 500 for said in answers(server).values())
        advised = re.search(r"Use: cat -b (\S+\.gz)\n", list(answers(server).values())[1])
        assert advised, "the spool has the name of what it holds"
        assert content(advised[1]) == spool(it.of(CommandFinished)[1].result)


# B26: stray bytes -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (r"printf 'caf\351\n'; seq 1 3", "caf\ufffd\n1\n2\n3\n"),
        (r"printf 'x\360'; echo tail", "x\ufffdtail\n"),
        (r"printf '\377\n'; echo ok", "\ufffd\nok\n"),
        (r"echo start; printf 'h\303'", "start\nh\ufffd"),
        (r"printf '\342\202\n'; seq 3", "\ufffd\n1\n2\n3\n"),
        (r"seq 100000 >/dev/null; printf 'a\200b\n'", "a\ufffdb\n"),
    ],
)
def test_b26_a_byte_that_is_no_utf8_costs_one_sign_and_nothing_else(line: str, expected: str, tmp_path: Path) -> None:
    with lines(tmp_path) as session:
        said = body(session.read(line))
        assert said.startswith(expected)
        assert "binary" not in said
        stderr = session.read(f"{{ {line}; }} >&2")
        assert f"[stderr] {expected.rstrip()}" in stderr


# B27: other encodings ---------------------------------------------------------------------------------------------------

LEGACY = [
    (r"printf '\304\343\272\303\n'", "gbk", "zh_CN.GBK", "你好"),
    (r"printf '\202\261\202\361\n'", "cp932", "ja_JP.SJIS", "こん"),
    (r"printf '\247\101\246\156\n'", "big5", "zh_TW.BIG5", "你好"),
    (r"printf 'Gr\366\337e\n'", "iso8859-1", "de_DE.ISO-8859-1", "Größe"),
    (r"printf '\317\360\350\342\345\362\n'", "cp1251", "ru_RU.CP1251", "Привет"),
]


@pytest.mark.parametrize(("line", "encoding", "locale", "expected"), LEGACY)
def test_b27_the_option_and_the_locale_decide_how_text_is_read(
    line: str, encoding: str, locale: str, expected: str, tmp_path: Path
) -> None:
    with lines(tmp_path, limits=Limits(encoding=encoding)) as session:
        assert body(session.read(line)).startswith(f"{expected}\n[encoding: ")
    for variable in ("LC_ALL", "LANG"):
        said = home(tmp_path, **{"LANG": "", variable: locale}).exec(line)
        assert said.startswith(f"{expected}\n[encoding: "), (variable, said)
        assert "\n[exit:0 | " in said


@pytest.mark.parametrize(("line", "encoding", "locale", "expected"), LEGACY)
def test_b27_without_a_declaration_a_hint_says_what_to_try(
    line: str, encoding: str, locale: str, expected: str, tmp_path: Path
) -> None:
    said = body(home(tmp_path).exec(line))
    assert "binary" not in said
    assert "[not UTF-8" in said
    assert "iconv -f " in said
    assert not (encoding == "gbk" and any("\uff61" <= c <= "\uff9f" for c in said)), "short GBK taken for Shift-JIS"
    assert (expected in said) or ("\ufffd" in said), locale


def test_b27_the_setting_wins_over_the_locale(tmp_path: Path) -> None:
    it = home(tmp_path, LANG="ja_JP.SJIS", AGENTCLIP_ENCODING="gbk")
    assert it.exec(LEGACY[0][0]).startswith("你好\n[encoding: gbk]\n")


# B28: characters split over reads ---------------------------------------------------------------------------------------

SLOW = """python3 -u -c "import os,time
for c in '{text}'.encode(): os.write({fd},bytes([c])); time.sleep(.01)" """


@pytest.mark.parametrize("written", ["你好😀", "é", "👩‍🔬 ok", "日本語テキスト"])
def test_b28_a_character_that_comes_in_pieces_is_whole(written: str, tmp_path: Path) -> None:
    with lines(tmp_path) as session:
        assert body(session.read(SLOW.format(text=written, fd=1))) == f"{written}\n"
        assert body(session.read(SLOW.format(text=written, fd=2))) == f"[stderr] {written}\n"
        assert body(session.read(SLOW.format(text=written, fd=1) + "| cat")) == f"{written}\n"


def test_b28_the_live_stream_grows_by_bytes_that_come_out_whole(tmp_path: Path) -> None:
    grown: list[OutputGrew] = []
    with lines(tmp_path) as session:
        request = RunRequest(on_event=lambda event: grown.append(event) if isinstance(event, OutputGrew) else None)
        handle = session.executor.prepare(SLOW.format(text="你好😀", fd=1), request)
        handle.begin()
        result, shown = session.end(handle)
    assert body(shown.text) == "你好😀\n"
    assert spool(result).decode("utf-8") == "你好😀"
    assert [event.size for event in grown] == sorted(event.size for event in grown)
    assert grown[-1].size == len("你好😀".encode())


# B29: half an emoji -----------------------------------------------------------------------------------------------------


async def test_b29_a_cut_in_a_row_of_emoji_leaves_strict_json(tmp_path: Path) -> None:
    commands = [f"""python3 -c "print('x'*{shift} + '😀'*20000)" """ for shift in range(4)]
    commands += [f"""python3 -c "print(('x'*{shift} + '😀'*30 + chr(10))*2000); exit(1)" """ for shift in range(2)]
    async with against(tmp_path, [run(*commands), text("done")]) as (it, server):
        await asked(it, "go", "done")
        for said in answers(server).values():
            assert "😀" in said
            assert "\ufffd" not in said
        assert all(spool(event.result).decode().count("😀") == 20000 for event in it.of(CommandFinished)[:4])
        for raw in (server.last.raw, log_of(tmp_path / "sessions")):
            assert re.search(r"\\ud[89a-f]", raw.decode("utf-8"), re.IGNORECASE) is None


async def test_b29_cancelling_a_command_of_three_hundred_emoji(tmp_path: Path) -> None:
    command = f"sleep 60; echo '{'😀' * 300}'"
    async with against(tmp_path, [run(command)]) as (it, server):
        async with turn_in_the_background(it, "go"):
            await until(lambda: it.agent.active is not None)
            it.agent.cancel()
        server.script[:] = [text("on")]
        await asked(it, "next", "on")
        assert "cancelled" in next(iter(answers(server).values()))
        assert b"\\ud83d" not in server.last.raw.lower()


# B30, B31: long lines ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "size", "left_out"),
    [
        (r"head -c 10485760 /dev/zero | tr '\0' a", 10485760, "+10,483,760 chars"),
        (r"head -c 10485760 /dev/zero | tr '\0' a; exit 3", 10485760, "+10,483,760 chars"),
        ("python3 -c \"print('漢'*3000000, end='')\"", 9000000, "+2,998,000 chars"),
    ],
)
def test_b30_a_line_of_megabytes_is_cut_by_itself(line: str, size: int, left_out: str, tmp_path: Path) -> None:
    with lines(tmp_path) as session:
        began = time.monotonic()
        result, shown = session.run(line)
        assert time.monotonic() - began < 30
    assert len(shown.text.encode()) < 10_000
    assert f"[{left_out}]" in shown.text
    assert len(spool(result)) == size


def test_b30_a_line_of_megabytes_takes_no_memory(tmp_path: Path) -> None:
    it = home(tmp_path)
    assert it.exec("true").startswith("[exit:0")
    small = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    it.exec(r"head -c 100485760 /dev/zero | tr '\0' a")
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss - small < 100 * 1024


@pytest.mark.parametrize("where", ["first", "middle", "last", "every other"])
def test_b31_long_lines_do_not_eat_the_short_ones(where: str, tmp_path: Path) -> None:
    long = r"head -c 200000 /dev/zero | tr '\0' m; echo"
    hits = 'for i in $(seq {0}); do echo "hit-$i"; done'
    line = {
        "first": f"{long}; {hits.format('1 20')}",
        "middle": f"{hits.format('1 10')}; {long}; {hits.format('11 20')}",
        "last": f"{hits.format('1 20')}; {long}",
        "every other": f'for i in $(seq 1 20); do echo "hit-$i"; {long}; done',
    }[where]
    with lines(tmp_path) as session:
        said = body(session.read(line))
    assert all(f"hit-{number}\n" in said for number in range(1, 21))
    assert re.search(r"m{40,}\.\.\. \[\+19\d,\d{3} chars\]", said)
    assert len(said.encode()) < 60_000


# B32, B33: the end, and the way to the rest -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "last"),
    [
        ("seq 1 50000; echo FINAL-ERROR-42 >&2; exit 7", "[stderr] FINAL-ERROR-42"),
        ("seq 1 50000; echo FINAL-ERROR-42; exit 7", "FINAL-ERROR-42"),
        ("{ seq 1 50000; echo FINAL-ERROR-42; } >&2; exit 7", "FINAL-ERROR-42"),
        ("seq 1 50000 | cat; sh -c 'echo FINAL-ERROR-42 >&2; exit 7'", "[stderr] FINAL-ERROR-42"),
    ],
)
def test_b32_a_failure_shows_how_it_began_and_how_it_ended(line: str, last: str, tmp_path: Path) -> None:
    with lines(tmp_path) as session:
        said = body(session.read(line), status=7)
    assert re.match(r"(\[stderr\] )?1\n2\n3\n", said)
    assert said.splitlines()[-1] == last


@pytest.mark.parametrize(
    "line", ["seq 1 20000", "seq 1 20000; exit 1", "seq 1 20000 | cat", "for i in 1; do seq 1 20000; done"]
)
def test_b33_the_mark_is_exact_and_names_a_file_that_the_model_can_read(line: str, tmp_path: Path) -> None:
    with lines(tmp_path) as session:
        said = session.read(line)
        assert "--- output truncated (20000 lines, 106.3KB) ---" in said
        path = re.search(r"^Full output: (\S+)$", said, re.MULTILINE)
        assert path
        seq = subprocess.run(["seq", "1", "20000"], capture_output=True, check=True).stdout
        assert hashlib.sha256(Path(path[1]).read_bytes()).digest() == hashlib.sha256(seq).digest()
        assert os.stat(path[1]).st_mode & 0o077 == 0
        assert body(session.read(f"tail -n 2 {path[1]}")) == "19999\n20000\n"
        explore = [
            each.removeprefix("Explore:").strip() for each in said.splitlines() if " | grep <" in each or " | tail 1" in each
        ]
        assert len(explore) == 2
        for command in explore:
            assert "19999\n" in session.read(command.replace("<pattern>", "19999"))


# B34, B35: terminal text ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (r"for i in $(seq 0 100); do printf '\r\033[2K%d%%' $i; done; echo", "100%\n"),
        (r"for i in $(seq 0 100); do printf '\r%3d%%' $i; sleep 0.001; done; echo", "100%\n"),
        (r"printf 'a\033[31mred\033[0m\033]8;;http://x\033\\link\033]8;;\033\\ z\n'", "aredlink z\n"),
        (r"printf 'keep\r\nalpha\r\n'; printf 'old\rnew\n'", "keep\nalpha\nnew\n"),
        (r"printf '\033[?1049h\033[2J\033[Hfull screen\n\033[?1049l'", "full screen\n"),
        (r"printf '12%%\b\b\b100%%\n'", "100%\n"),
    ],
)
def test_b34_only_the_last_state_of_a_terminal_is_read(line: str, expected: str, tmp_path: Path) -> None:
    with lines(tmp_path) as session:
        result, shown = session.run(line)
        assert body(shown.text) == expected
        assert "\x1b" not in shown.text
        assert b"\x1b" in spool(result) or b"\r" in spool(result) or b"\b" in spool(result)
        assert "\x1b" not in session.read(f"{{ {line}; }} >&2")


async def test_b34_no_escape_reaches_a_request(tmp_path: Path) -> None:
    commands = [r"printf '\033[31mred\033[0m \033]0;title\007x\n'", r"printf 'e\033[1mr\n' >&2", r"printf '\233Kx\n'"]
    async with against(tmp_path, [run(*commands), text("done")]) as (it, server):
        await asked(it, "go", "done")
        told = json.dumps(list(answers(server).values()))
        assert "\\u001b" not in told
        assert "\\u009b" not in told


@pytest.mark.parametrize("first", ["    x = 1", "\tx = 1", "  - item", "        deep"])
def test_b35_the_first_line_keeps_its_indentation(first: str, tmp_path: Path) -> None:
    with lines(tmp_path) as session:
        assert body(session.read(f"printf '%s\\n  y = 2\\n' '{first}'")) == f"{first}\n  y = 2\n"
        session.work.joinpath("f.py").write_text(f"{first}\nlast   \n")
        assert body(session.read("cat f.py")) == f"{first}\nlast   \n"


# B36: stderr ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("ls /ac_nope | wc -l", "0\n[stderr] ls: cannot access '/ac_nope': No such file or directory\n"),
        ("sh -c 'echo warn >&2; echo fine'", "fine\n[stderr] warn\n"),
        ("for i in 1; do echo warn >&2; echo fine; done", "fine\n[stderr] warn\n"),
        ("sh -c 'echo warn >&2' && echo fine", "fine\n[stderr] warn\n"),
        ("cat /ac_nope || echo fine", "fine\n[stderr] cat: /ac_nope: No such file or directory\n"),
        ("sh -c 'echo a >&2; echo x' | sh -c 'echo b >&2; cat'", "x\n[stderr sh] a\n[stderr sh] b\n"),
    ],
)
def test_b36_stderr_is_there_when_all_went_well_and_from_every_stage(line: str, expected: str, tmp_path: Path) -> None:
    with lines(tmp_path) as session:
        assert body(session.read(line)) == expected


# B37: the file with the full output -------------------------------------------------------------------------------------


def test_b37_a_flood_stops_at_the_cap_and_says_so(tmp_path: Path) -> None:
    megabyte = 1024 * 1024
    with lines(tmp_path, spool_limit_bytes=megabyte) as session:
        result, shown = session.run("yes ac-flood")
        assert result.ended is Ended.OUTPUT_LIMIT
        assert "[the full output was cut off at 1MB]" in shown.text
        assert "output limit 1MB reached]" in shown.text
        assert os.stat(result.stdout.path).st_size <= megabyte
        result, _ = session.run("yes ac-flood >&2")
        assert result.ended is Ended.OUTPUT_LIMIT
        assert all(stage.stderr is None or os.stat(stage.stderr.path).st_size <= megabyte for stage in result.stages)


def test_b37_a_cancelled_flood_is_within_the_cap_and_gone_after_its_days(tmp_path: Path) -> None:
    it = home(tmp_path, AGENTCLIP_SPOOL_LIMIT_MB="8")
    with it.start("exec", "yes ac-flood") as process:
        spools = it.state / "exec"
        deadline = time.monotonic() + 60
        while not any(path.stat().st_size for path in spools.rglob("cmd-1.txt")) and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    (file,) = spools.rglob("cmd-1.txt")
    assert file.stat().st_size <= 8 * 1024 * 1024
    assert b"cancelled]" in out or b"output limit 8MB reached]" in out
    for path in spools.rglob("*"):
        os.utime(path, (1, 1))
    (it.state / "retention.stamp").unlink()
    assert it.exec("echo again").startswith("again\n")
    assert not file.exists()
    assert len(list(spools.iterdir())) == 1, "the exec that swept keeps its own"


def test_b37_total_size_is_kept_by_removing_the_oldest(tmp_path: Path) -> None:
    it = home(tmp_path, AGENTCLIP_KEEP_TOTAL_MB="3")
    for number in range(4):
        it.exec(f"head -c 1500000 /dev/zero | tr '\\0' {number}")
        (it.state / "retention.stamp").unlink()
    kept = sum(path.stat().st_size for path in it.state.rglob("cmd-1.txt"))
    assert kept <= 3 * 1024 * 1024
    assert any(path.read_bytes()[:1] == b"3" for path in it.state.rglob("cmd-1.txt"))


def test_b37_what_an_exec_just_printed_about_is_not_swept_away_by_itself(tmp_path: Path) -> None:
    said = home(tmp_path, AGENTCLIP_KEEP_TOTAL_MB="1").exec("head -c 3000000 /dev/zero | tr '\\0' x")
    path = re.search(r"^Full output: (\S+)$", said, re.MULTILINE)
    assert path
    assert os.stat(path[1]).st_size == 3_000_000


def test_b37_a_session_resumes_without_its_spools_and_its_numbers_go_on(tmp_path: Path) -> None:
    it = home(tmp_path)
    document, (first,) = it.replay([{"calls": [{"command": "seq 1 9999"}]}, {"text": "done"}])
    spools = it.state / "sessions" / document["session"] / "cmd-output"
    for path in spools.rglob("*"):
        os.utime(path, (1, 1))
    (it.state / "retention.stamp").unlink()
    it.exec("true")
    assert list(spools.iterdir()) == []
    replies = [{"calls": [{"command": f"cat {first.result.stdout.path}"}]}, {"text": "gone"}]
    again, (_, second) = it.replay(replies, "--resume", document["session"])
    assert again["text"] == "gone"
    assert second.result.number == 2
    assert "No such file or directory" in second.shown.text


async def test_b37_memory_stays_flat_in_a_flood(tmp_path: Path) -> None:
    options = AgentOptions(timeout_s=2)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    async with against(tmp_path, [run("yes ac-flood"), text("done")], options=options) as (it, _):
        await asked(it, "go", "done")
        assert it.of(CommandFinished)[0].result.ended in {Ended.TIMEOUT, Ended.OUTPUT_LIMIT}
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 150 * 1024
