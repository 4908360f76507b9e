from __future__ import annotations

import json
import os
import re
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from agentclip.messages import Image
from agentclip.present.navigation import MAX_HINTS
from agentclip.present.presenter import CAPS, FLOORS, capped, present
from agentclip.present.ranges import MAX_RANGES
from agentclip.present.scan import LINE_EDGE_BYTES
from agentclip.present.shown import show
from agentclip.results import ChainResult, Limits, LineFate, Presented, StageKind, StreamFile
from tests.present.runs import Ran, Run

FOOTER = re.compile(r"\[exit:\d+ \| (\d+ms|[\d.]+s|\d+m\d\ds)( \| [^\n]*)?\]")
MARKS = 2500
"""Bytes for the marks, notes and paths that come beside what is shown."""

CONTROLS = [b"\n", b"\r", b"\r\n", b"\0", b"\x1b[", b"\x1b[31m", b"\x1b]0;", b"\x07", b"\b", b"\xc2\x9b", b"\t"]
MARKS_AND_STRAYS = [b"\xff", b"\xef\xbb\xbf", b"\xff\xfe", b"\xed\xa0\x80", b"\xc0\x80", "你好".encode("gbk")]
WORDS = ["漢字", "😀", "👩\u200d🔬", "e\u0301", "\u2028", "word ", "x" * 300, "[exit:0 | 1ms]", "[stderr] "]
SNIPPETS = st.sampled_from([*CONTROLS, *MARKS_AND_STRAYS, *(word.encode() for word in WORDS)])
BYTES = st.one_of(
    st.binary(max_size=400),
    st.lists(SNIPPETS, max_size=40).map(b"".join),
    st.tuples(SNIPPETS, st.integers(1, 3000)).map(lambda pair: pair[0] * pair[1]),
)
FAILURES = [
    b"cat: confg.yaml: No such file or directory\n",
    b"bash: line 1: gti: command not found\n",
    b"[error] unknown command: cowsay. Available: cat\n",
    b"cat: src: Is a directory\n",
    b"bash: line 1: ./run.sh: Permission denied\n",
    b"bash: line 1: out/x: No such file or directory\n",
    b"cat: \x1b[31mconfg.yaml: No such file or directory\n",
]
SMALL = Limits(lines=5, bytes=1024, line_chars=60, stderr_lines=4, stderr_bytes=512, stderr_lines_on_success=2, tail_lines=2)
reuse = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


def raw_lines(data: bytes) -> int:
    return data.count(b"\n") + (data[-1:] not in {b"", b"\n"})


def check_text(text: str, limits: Limits) -> None:
    data = text.encode("utf-8")
    assert json.loads(json.dumps({"content": text}, ensure_ascii=False).encode())["content"] == text
    assert not any(c < " " and c not in "\t\n" for c in text)
    assert not any("\x7f" <= c <= "\x9f" or "\ud800" <= c <= "\udfff" for c in text)
    assert FOOTER.fullmatch(text.rsplit("\n", 1)[-1])
    assert len(data) <= limits.bytes + limits.stderr_bytes + MARKS


def check_ranges(shown: Presented, total: int) -> None:
    ranges = shown.ranges
    assert len(ranges) <= MAX_RANGES + 3
    assert [r.first for r in ranges[:1]] == ([0] if total else [])
    assert all(before.last + 1 == after.first for before, after in pairwise(ranges))
    assert all(r.first <= r.last for r in ranges)
    assert not ranges or ranges[-1].last == total - 1
    assert all((r.text_line is None) == (r.fate is LineFate.CUT) for r in ranges)


@given(
    stdout=BYTES,
    stderr=BYTES,
    status=st.sampled_from([0, 1, 141]),
    limits=st.sampled_from([Limits(), SMALL, Limits(encoding="gbk")]),
)
@example(stdout=b"\n" * 3000, stderr=b"\n" * 3000, status=1, limits=SMALL)
@example(stdout=b"\xff\xfe\n", stderr=b"\xff\xfe\n\x00", status=1, limits=SMALL)
@example(stdout=b"\r", stderr=b"\r", status=1, limits=Limits())
@reuse
def test_any_bytes_make_a_valid_text_within_budget(
    tmp_path: Path, stdout: bytes, stderr: bytes, status: int, limits: Limits
) -> None:
    result = Run(stdout, [[Ran("prog", status, stderr)]]).result(tmp_path)
    shown = present(result, limits)
    check_text(shown.text, limits)
    check_ranges(shown, raw_lines(stdout))
    assert shown == present(result, limits)


@given(
    stdout=BYTES,
    stderr=st.one_of(BYTES, st.lists(st.sampled_from(FAILURES), max_size=6).map(b"".join)),
    end=st.tuples(st.sampled_from(list(StageKind)), st.sampled_from([0, 1, 126, 127])),
    limits=st.sampled_from([Limits(), SMALL]),
)
@example(stdout=b"\x1f\x8b\x08" + bytes(40), stderr=b"".join(FAILURES), end=(StageKind.PROGRAM, 127), limits=SMALL)
@reuse
def test_any_bytes_with_their_hints_make_a_valid_text_within_budget(
    tmp_path: Path, stdout: bytes, stderr: bytes, end: tuple[StageKind, int], limits: Limits
) -> None:
    run = Run(
        stdout,
        [[Ran("cat confg.yaml", end[1], stderr, kind=end[0])]],
        source="cat confg.yaml src ./run.sh out/x",
        files={"config.yaml": b"", "src/": b"", "run.sh": b"", "\x1b[31mconfi.yaml": b""},
        programs=["git", "brew", "tar"],
    )
    result, machine = run.result(tmp_path), run.machine(tmp_path)
    shown = show(replace(result, cwd=machine.cwd), limits, machine)
    check_text(shown.text, limits)
    check_ranges(shown, raw_lines(stdout))
    said = [line for line in shown.text.split("\n")[-1 - MAX_HINTS : -1] if line.startswith("[hint] ")]
    plain = present(replace(result, cwd=machine.cwd), limits).text.split("\n")
    assert shown.text.split("\n") == [*plain[:-1], *said, plain[-1]] or b"[hint] " in stdout + stderr


@given(text=st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), max_size=200))
@reuse
def test_clean_text_passes_unchanged(tmp_path: Path, text: str) -> None:
    shown = present(Run(f"{text}\n".encode()).result(tmp_path), Limits())
    assert shown.text == text.removeprefix("\ufeff") + "\n[exit:0 | 12ms]"
    assert [r.fate for r in shown.ranges] == [LineFate.SHOWN]


@given(
    lines=st.lists(
        st.sampled_from([b"plain", b"\x1b[31mred", b"x" * 200, b"", b"a\rb", "漢".encode() * 50]), min_size=1, max_size=30
    ),
    failed=st.booleans(),
)
@reuse
def test_ranges_say_where_each_raw_line_stands(tmp_path: Path, *, lines: list[bytes], failed: bool) -> None:
    data = b"\n".join(lines) + b"\n"
    shown = present(Run(data, [[Ran(status=int(failed))]]).result(tmp_path), SMALL)
    text = shown.text.split("\n")
    for line_range in shown.ranges:
        if line_range.text_line is None:
            continue
        for offset in range(line_range.last - line_range.first + 1):
            raw = lines[line_range.first + offset]
            here = text[line_range.text_line + offset]
            assert (here.encode() == raw) == (line_range.fate is LineFate.SHOWN)
            assert here == {b"\x1b[31mred": "red", b"a\rb": "b"}.get(raw, here)
            assert raw[:3] in {here.encode()[:3], b"\x1b[3", b"a\rb"}


@pytest.mark.parametrize(
    ("stdout", "signs", "text"),
    [
        ("abc\n日本語".encode() + b"\xe6\x97\nd\xff\nok\r\n", "=~~=", "abc\n日本語\ufffd\nd\ufffd\nok"),
        (b"plain\nd\x9b1mbold\n", "=~", "plain\ndbold"),
        ("x\nyy\n\nz\n".encode("utf-16"), "~~~~~", "x\nyy\n\nz"),
        ("plain\nпривет, как дела сегодня\n".encode("cp1251"), "=~", "plain\nпривет, как дела сегодня"),
        (b"gone\r" + b"x" * LINE_EDGE_BYTES + b"\rleft\nok\n", "~=", "left\nok"),
    ],
)
def test_a_line_that_the_model_reads_otherwise_than_it_is_counts_as_changed(
    tmp_path: Path, stdout: bytes, signs: str, text: str
) -> None:
    shown = present(Run(stdout).result(tmp_path), Limits())
    told = {LineFate.SHOWN: "=", LineFate.CHANGED: "~", LineFate.CUT: "-"}
    assert "".join(told[r.fate] * (r.last - r.first + 1) for r in shown.ranges) == signs
    assert shown.text.startswith(text + "\n")


def test_ranges_stay_few_when_every_other_line_is_changed(tmp_path: Path) -> None:
    data = b"plain\n\x1b[1mbold\n" * 1000
    shown = present(Run(data).result(tmp_path), Limits(lines=2000))
    check_ranges(shown, 2000)
    assert shown.ranges[0].fate is LineFate.CHANGED


@given(st.text(max_size=80), st.text(max_size=80), st.text(max_size=80))
@reuse
def test_foreign_names_and_notes_stay_on_their_line(tmp_path: Path, cwd: str, note: str, word: str) -> None:
    result = Run(b"out\n", [[Ran(word, 1, b"err\n"), Ran("other", 1, b"err\n")]], cwd=cwd, notes=[note]).result(tmp_path)
    shown = present(result, Limits())
    check_text(shown.text, Limits())
    assert len(shown.text.split("\n")) == 5


def test_images_are_carried_beside_the_text(tmp_path: Path) -> None:
    image = Image("/x.png", "image/png", "x.png", 4, 3)
    result = replace(Run(b"").result(tmp_path), images=(image,))
    assert present(result, Limits()).images == (image,)


@pytest.mark.parametrize("value", [-5, 0, 10**12])
def test_limits_are_always_capped(value: int, tmp_path: Path) -> None:
    limits = Limits(value, value, value, value, value, value, value)
    assert capped(limits) == (CAPS if value > 0 else FLOORS)
    shown = present(Run(b"x" * 99 + b"\n" + b"y\n" * 10**6, [[Ran(status=1, stderr=b"e\n" * 10**6)]]).result(tmp_path), limits)
    check_text(shown.text, CAPS if value > 0 else FLOORS)


def test_a_line_whose_kept_part_is_all_escapes_still_says_what_is_left_out(tmp_path: Path) -> None:
    data = b"\x1b[0m" * (LINE_EDGE_BYTES // 4) + b"the end\n"
    assert present(Run(data).result(tmp_path), Limits()).text.startswith(
        "... [+7 chars]\n--- output truncated (1 line, 64.0KB)"
    )


def gone(result: ChainResult) -> None:
    os.unlink(result.stdout.path)


def emptied(result: ChainResult) -> None:
    os.truncate(result.stdout.path, 6)


def a_folder(result: ChainResult) -> None:
    os.unlink(result.stdout.path)
    os.mkdir(result.stdout.path)


@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        (gone, "[output not readable: {path} (No such file or directory)]\n[exit:0 | 12ms]"),
        (emptied, "first\n[output incomplete: 6B of 13B are left in {path}]\n[exit:0 | 12ms]"),
        (a_folder, "[output not readable: {path} (not a regular file)]\n[exit:0 | 12ms]"),
    ],
)
def test_a_damaged_spool_is_a_note_not_a_crash(damage: object, expected: str, tmp_path: Path) -> None:
    result = Run(b"first\nsecond\n").result(tmp_path)
    assert callable(damage)
    damage(result)
    assert present(result, Limits()).text == expected.format(path=result.stdout.path)


def test_a_lost_stderr_is_said_in_its_place(tmp_path: Path) -> None:
    result = Run(b"", [[Ran("a", 1, b"why\n")]]).result(tmp_path)
    path = tmp_path / "cmd-3.0.err"
    path.unlink()
    assert (
        present(result, Limits()).text == f"[stderr] [stderr not readable: {path} (No such file or directory)]\n[exit:1 | 12ms]"
    )


def test_only_the_bytes_of_the_result_are_shown_while_a_job_goes_on_writing(tmp_path: Path) -> None:
    result = Run("started 漢\n".encode(), jobs=[1]).result(tmp_path)
    with open(result.stdout.path, "ab") as spool:
        spool.write(b"later\n\0\0")
    assert present(result, Limits()).text == "started 漢\n[exit:0 | 12ms | job 1 running]"
    inside = replace(result, stdout=StreamFile(result.stdout.path, 9))
    assert present(inside, Limits()).text.startswith("started \ufffd\n[not UTF-8 in 1 place")


@pytest.mark.parametrize("shift", range(4))
@pytest.mark.parametrize("sign", ["😀", "👩\u200d🔬", "🇩🇪", "e\u0301", "👍🏽", "❤\ufe0f"])
def test_a_cut_never_splits_a_sign(sign: str, shift: int, tmp_path: Path) -> None:
    data = ("x" * shift + sign * 20_000).encode()
    text = present(Run(data).result(tmp_path), Limits()).text
    kept, _, rest = text.splitlines()[0].partition("... [+")
    assert kept == "x" * shift + sign * ((len(kept) - shift) // len(sign))
    assert len(kept) + int(rest.split()[0].replace(",", "")) == len(data.decode())
    assert "\ufffd" not in text


def test_paths_are_words_of_the_shell(tmp_path: Path) -> None:
    folder = tmp_path / "it's a $HOME"
    folder.mkdir()
    text = present(Run(b"1\n" * 300).result(folder), Limits()).text
    path = f"{folder}/cmd-3.txt".replace("'", "'\"'\"'")
    assert f"Full output: '{path}'\n" in text
    assert f"         cat '{path}' | tail 100\n" in text
