"""The cases of public bug reports that Layer 2 answers for, with the bytes that real programs print."""

from __future__ import annotations

import hashlib
import re
import subprocess
from pathlib import Path

import pytest

from agentclip.present.naming import name_by_content
from agentclip.present.presenter import present
from agentclip.results import Chain, ChainResult, Ended, Limits, StageKind, StageResult, StreamFile


def run(line: str, folder: Path, limits: Limits | None = None) -> str:
    """Run a line in bash and give what the model reads of it."""
    limits = limits or Limits()
    out, err = folder / "cmd-1.txt", folder / "cmd-1.0.err"
    with out.open("wb") as stdout, err.open("wb") as stderr:
        status = subprocess.run(
            ["bash", "-c", line], stdout=stdout, stderr=stderr, stdin=subprocess.DEVNULL, check=False
        ).returncode
    said = StreamFile(str(err), err.stat().st_size) if err.stat().st_size else None
    stage = StageResult(0, line, StageKind.SHELL, status, stderr=said)
    spool = StreamFile(str(out), out.stat().st_size)
    result = ChainResult(1, Chain(line, (), whole=True), status, spool, (stage,), (status,), 0.005, Ended.EXITED)
    name_by_content(spool, limits)
    return present(result, limits).text


def test_b25_a_binary_is_one_short_note(tmp_path: Path) -> None:
    text = run("head -c 4096 /dev/urandom", tmp_path)
    assert text == f"[error] binary file (4KB). Use: cat -b {tmp_path}/cmd-1.bin\n[exit:0 | 5ms]"
    text = run("gzip -c /etc/passwd", tmp_path)
    assert re.fullmatch(rf"\[error\] binary file \(\S+B\)\. Use: cat -b {tmp_path}/cmd-1\.gz\n\[exit:0 \| 5ms\]", text)


def test_b26_a_byte_that_is_not_utf8_costs_only_itself(tmp_path: Path) -> None:
    text = run(r"printf 'caf\351\n'; seq 1 3", tmp_path)
    assert text.startswith("caf\ufffd\n1\n2\n3\n")
    assert "iconv -f" in text
    assert run(r"printf 'x\360'; echo tail", tmp_path).startswith("x\ufffdtail\n")


@pytest.mark.parametrize(
    ("line", "codec", "text"),
    [(r"printf '\304\343\272\303\n'", "gbk", "你好"), (r"printf '\202\261\202\361\n'", "sjis", "こん")],
)
def test_b27_legacy_text_is_read_by_declaration_and_guessed_with_a_hint(
    line: str, codec: str, text: str, tmp_path: Path
) -> None:
    assert run(line, tmp_path, Limits(encoding=codec)).startswith(f"{text}\n[encoding: {codec}]\n")
    guessed = run(line, tmp_path)
    assert guessed.startswith(f"{text}\n")
    assert "guessed]\n[not UTF-8" in guessed


def test_b29_a_line_of_emoji_is_cut_between_them(tmp_path: Path) -> None:
    for shift in range(4):
        text = run(f"""python3 -c "print('x'*{shift} + '😀'*20000)" """, tmp_path)
        assert re.match(rf"x{{{shift}}}😀+\.\.\. \[\+1[\d,]+ chars\]\n", text)
        assert (tmp_path / "cmd-1.txt").read_text().count("😀") == 20000


def test_b30_one_line_of_ten_megabytes(tmp_path: Path) -> None:
    text = run(r"head -c 10485760 /dev/zero | tr '\0' a", tmp_path)
    assert len(text) < 2500
    assert "a... [+10,483,760 chars]\n--- output truncated (1 line, 10.0MB) ---\n" in text


def test_b31_a_long_line_does_not_eat_the_short_ones(tmp_path: Path) -> None:
    line = (
        'for i in $(seq 1 10); do echo "hit-$i"; done; head -c 200000 /dev/zero | tr "\\0" m; echo; '
        'for i in $(seq 11 20); do echo "hit-$i"; done'
    )
    for limits in (Limits(), Limits(bytes=1024)):
        text = run(line, tmp_path, limits)
        assert all(f"hit-{number}\n" in text for number in range(1, 21))
        assert re.search(r"m\.\.\. \[\+19\d,\d\d\d chars\]\n", text)


def test_b32_head_tail_and_error_of_a_failure(tmp_path: Path) -> None:
    text = run("seq 1 50000; echo FINAL-ERROR-42 >&2; exit 7", tmp_path)
    assert text.startswith("1\n2\n3\n")
    assert text.endswith(
        "--- last 20 lines ---\n" + "".join(f"{n}\n" for n in range(49981, 50001)) + "[stderr] FINAL-ERROR-42\n[exit:7 | 5ms]"
    )


def test_b33_the_mark_is_exact_and_its_path_holds_everything(tmp_path: Path) -> None:
    text = run("seq 1 20000", tmp_path)
    assert "\n--- output truncated (20000 lines, 106.3KB) ---\n" in text
    path = re.search(r"Full output: (\S+)", text)
    assert path
    mine = hashlib.sha256(Path(path[1]).read_bytes()).hexdigest()
    assert mine == hashlib.sha256(subprocess.run(["seq", "1", "20000"], capture_output=True, check=True).stdout).hexdigest()
    # Both ways to explore work as written, the dialect of tail aside.
    explore = [line.removeprefix("Explore:").strip() for line in text.splitlines() if " | " in line and "[exit" not in line]
    for advice in explore:
        command = advice.replace("<pattern>", "19999").replace("tail 100", "tail -n 100")
        assert "19999\n" in subprocess.run(["bash", "-c", command], capture_output=True, check=True, text=True).stdout


def test_b34_redraws_escapes_and_line_ends(tmp_path: Path) -> None:
    assert run(r"for i in $(seq 0 100); do printf '\r\033[2K%d%%' $i; done; echo", tmp_path) == "100%\n[exit:0 | 5ms]"
    line = r"printf 'a\033[31mred\033[0m\033]8;;http://x\033\\link\033]8;;\033\\ z\n'"
    assert run(line, tmp_path) == "aredlink z\n[exit:0 | 5ms]"
    assert run(r"printf 'keep\r\nalpha\r\n'; printf 'old\rnew\n'", tmp_path) == "keep\nalpha\nnew\n[exit:0 | 5ms]"


def test_b35_the_first_line_keeps_its_indentation(tmp_path: Path) -> None:
    assert run(r"printf '    x = 1\n  y = 2\n'", tmp_path) == "    x = 1\n  y = 2\n[exit:0 | 5ms]"


def test_b36_stderr_of_a_success_is_kept(tmp_path: Path) -> None:
    assert run("sh -c 'echo warn >&2; echo fine'", tmp_path) == "fine\n[stderr] warn\n[exit:0 | 5ms]"


def test_b70_what_would_change_a_terminal_is_gone(tmp_path: Path) -> None:
    line = r"printf '\033]52;c;ZWNobyBoaQ==\007\033]0;owned\007\033[?1049l\033[2Jvisible\010\233m\n'"
    assert run(line, tmp_path) == "visible\n[exit:0 | 5ms]"
