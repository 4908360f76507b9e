from __future__ import annotations

import os
import shutil
import subprocess
import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentclip.commands.blocks import Replacement, read_blocks_of
from agentclip.commands.difference import MAX_LINES, unified_diff
from agentclip.commands.edit import EditCommand
from agentclip.commands.replacing import locate, replaced
from agentclip.errors import CommandError, ErrorCode
from tests.commands.calls import Desk, Outcome

PROGRAM = b"def area(r):\n    return 3 * r\n\n\ndef name():\n    return 'x'\n"


def block(old: str, new: str, signs: int = 7) -> str:
    return f"{'<' * signs} OLD\n{old}{'=' * signs}\n{new}{'>' * signs} NEW\n"


def edit(desk: Desk, data: bytes, *words: str, stdin: str | None = None, name: str = "app.py") -> Outcome:
    (desk.cwd / name).write_bytes(data)
    return desk.call(EditCommand(), "edit", name, *words, stdin=None if stdin is None else stdin.encode())


def content(desk: Desk, name: str = "app.py") -> bytes:
    return (desk.cwd / name).read_bytes()


def refused(desk: Desk, outcome: Outcome, data: bytes) -> list[str]:
    """The lines of an error, checked: nothing has changed and nothing is left."""
    assert outcome.out == b""
    assert content(desk) == data
    assert os.listdir(desk.cwd) == ["app.py"]
    assert outcome.failure is not None
    return outcome.err.decode().splitlines()


def test_a_block_is_replaced_and_the_diff_shows_it(desk: Desk) -> None:
    outcome = edit(desk, PROGRAM, stdin=block("    return 3 * r\n", "    return math.pi * r ** 2\n"))
    assert content(desk) == PROGRAM.replace(b"3 * r", b"math.pi * r ** 2")
    assert outcome.text == (
        "--- app.py\n+++ app.py\n@@ -1,5 +1,5 @@\n"
        " def area(r):\n-    return 3 * r\n+    return math.pi * r ** 2\n \n \n def name():\n"
    )
    assert (outcome.status, outcome.err) == (0, b"")
    assert [(artifact.path, artifact.created) for artifact in outcome.artifacts] == [(str(desk.cwd / "app.py"), False)]


@pytest.mark.skipif(shutil.which("patch") is None, reason="needs patch")
@pytest.mark.parametrize("end", ["\n", ""])
def test_the_diff_is_one_that_patch_takes(desk: Desk, end: str) -> None:
    old = "\n".join(str(number) for number in range(100)) + end
    blocks = block("7\n", "") + block("50\n51\n", "fifty\nand\nmore\n") + block(f"99{end}" if end else "99\n", "last\n")
    outcome = edit(desk, old.encode(), stdin=blocks)
    (desk.cwd / "again").write_text(old)
    subprocess.run(["patch", "-s", "again"], cwd=desk.cwd, input=outcome.out, check=True)
    assert content(desk) == content(desk, "again")
    assert content(desk).endswith(b"last" + end.encode())


def test_several_blocks_look_at_the_file_as_it_was(desk: Desk) -> None:
    edit(desk, b"one\ntwo\n", stdin=block("one\n", "two\n") + "\n" + block("two\n", "one\n"))
    assert content(desk) == b"two\none\n"


def test_two_flags_replace_a_part_of_a_line(desk: Desk) -> None:
    edit(desk, b"debug = true\r\n", "--old", "true", "--new", "false")
    assert content(desk) == b"debug = false\r\n"
    edit(desk, b"a -x b\n", "--old=-x ", "--new", "")
    assert content(desk) == b"a b\n"


@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_a_block_is_whole_lines_and_never_a_part_of_one(desk: Desk, mark: str) -> None:
    data = f"{mark}x = 1\nmax = 1\nx = 1".encode()
    edit(desk, data, "--all", stdin=block("x = 1\n", "y\n"))
    assert content(desk) == f"{mark}y\nmax = 1\ny".encode()
    lines = refused(desk, edit(desk, b"max = 1", stdin=block("x = 1\n", "y\n")), b"max = 1")
    assert "(NO_MATCH)" in lines[0]
    edit(desk, b"a\na\na\n", "--all", stdin=block("a\n", "b\n"))
    assert content(desk) == b"b\nb\nb\n"


def test_all_replaces_every_place(desk: Desk) -> None:
    outcome = edit(desk, b"a b a\n" * 3, "--all", "--old", "a", "--new", "aa")
    assert content(desk) == b"aa b aa\n" * 3
    assert outcome.text.count("+aa b aa") == 3


@pytest.mark.parametrize("gap", ["\n", "\n\n\n\n\n\n\n\n\n"], ids=["dense", "sparse"])
def test_a_long_diff_is_bounded_and_true_as_far_as_it_goes(desk: Desk, gap: str) -> None:
    old = f"old{gap}" * 1000
    outcome = edit(desk, old.encode(), "--all", "--old", "old", "--new", "new")
    assert content(desk).decode() == old.replace("old", "new")
    assert outcome.error == f"the diff is cut at {MAX_LINES} lines; 1000 places were changed"
    lines = outcome.text.splitlines()
    assert len(lines) == MAX_LINES
    assert " old" not in lines
    assert lines.count("-old") >= 10


def test_many_changes_on_one_line_are_one_change(desk: Desk) -> None:
    outcome = edit(desk, b"a" * 10_000 + b"\n", "--all", "--old", "a", "--new", "bb")
    assert outcome.out.splitlines()[3:] == [b"-" + b"a" * 10_000, b"+" + b"b" * 20_000]


def test_line_ends_stay_those_of_the_file(desk: Desk) -> None:
    edit(desk, b"one\r\ntwo\r\nthree\r\n", stdin=block("two\n", "2\n2b\n"))
    assert content(desk) == b"one\r\n2\r\n2b\r\nthree\r\n"
    edit(desk, b"one\ntwo\r\nthree\n", stdin=block("two\nthree\n", "2\n").replace("two\n", "two\r\n"))
    assert content(desk) == b"one\n2\n"
    edit(desk, b"one\r\ntwo\r\n", "--old", "one\ntwo", "--new", "a\nb")
    assert content(desk) == b"a\r\nb\r\n"


def test_a_last_line_without_an_end_keeps_having_none(desk: Desk) -> None:
    outcome = edit(desk, b"one\ntwo", stdin=block("two\n", "2\n3\n"))
    assert content(desk) == b"one\n2\n3"
    assert "\\ No newline at end of file" in outcome.text


def test_mode_and_links_stay(desk: Desk) -> None:
    (desk.cwd / "link").symlink_to("app.py")
    (desk.cwd / "app.py").write_bytes(PROGRAM)
    (desk.cwd / "app.py").chmod(0o751)
    assert desk.call(EditCommand(), "edit", "link", "--old", "'x'", "--new", "'y'").status == 0
    assert (desk.cwd / "link").is_symlink()
    assert (desk.cwd / "app.py").stat().st_mode & 0o777 == 0o751
    assert b"'y'" in content(desk)


def test_bytes_that_are_no_text_stay_as_they_are(desk: Desk) -> None:
    data = b"\xff\x00\x81 old \xfe\n" + bytes(range(256))
    edit(desk, data, "--old", " old ", "--new", " é ")
    assert content(desk) == data.replace(b" old ", " é ".encode())


@pytest.mark.parametrize(
    ("encoding", "words"),
    [("utf-16", ()), ("utf-16-be", ("bom",)), ("gb18030", ("--encoding", "gb18030")), ("shift_jis", ("--encoding", "sjis"))],
)
def test_other_encodings_are_kept(desk: Desk, encoding: str, words: tuple[str, ...]) -> None:
    mark = "\ufeff" if words == ("bom",) else ""
    before, after = f"{mark}日本\r\n価格\r\n", f"{mark}日本\r\n値段\r\n"
    flags = () if words == ("bom",) else words
    assert edit(desk, before.encode(encoding), *flags, stdin=block("価格\n", "値段\n")).status == 0
    assert content(desk) == after.encode(encoding)


def test_text_that_the_encoding_cannot_write_is_refused(desk: Desk) -> None:
    data = "prix".encode("latin-1")
    lines = refused(desk, edit(desk, data, "--encoding", "latin-1", "--old", "prix", "--new", "値段"), data)
    assert "cannot be written in iso8859-1 (INVALID_VALUE)" in lines[0]
    lines = refused(desk, edit(desk, data, "--encoding", "klingon", "--old", "a", "--new", "b"), data)
    assert lines == ["[error] edit: 'klingon' is no encoding that is known here (INVALID_VALUE). Use: iconv --list"]
    lines = refused(desk, edit(desk, b"\xff\xfea", "--old", "a", "--new", "b"), b"\xff\xfea")
    assert "no utf-16-le text that could be kept byte for byte" in lines[0]


def test_an_old_text_that_is_there_twice_names_the_places(desk: Desk) -> None:
    data = b"a = 1\nb = 2\na = 1\n"
    outcome = edit(desk, data, stdin=block("a = 1\n", "a = 2\n"))
    (line,) = refused(desk, outcome, data)
    assert line.startswith("[error] edit: the old text is there 2 times, at lines 1, 3: add lines around it, or use --all")
    assert line.endswith(" (SEVERAL_MATCHES). Use: edit --help")
    assert outcome.failure is not None
    assert outcome.failure.details == {"count": 2, "lines": "1, 3"}


def test_an_old_text_that_is_not_there_shows_the_nearest_place(desk: Desk) -> None:
    outcome = edit(desk, PROGRAM, stdin=block("def name():\n    return 'y'\n", "gone\n"))
    assert refused(desk, outcome, PROGRAM) == [
        "[error] edit: the old text is not in the file; line 5 is the most like it (NO_MATCH). Use: edit --help",
        "from line 5 (- looked for, + in the file):",
        "  def name():",
        "-     return 'y'",
        "+     return 'x'",
    ]
    assert outcome.failure is not None
    assert outcome.failure.details == {"line": 5, "text": "def name():\n    return 'x'"}
    assert outcome.status == 2


def test_white_space_that_differs_is_made_visible(desk: Desk) -> None:
    data = b"if x:\n\treturn 1\n"
    lines = refused(desk, edit(desk, data, stdin=block("    return 1\n", "    return 2\n")), data)
    assert "line 2 differs only in white space" in lines[0]
    assert lines[2:] == ["- ····return·1", "+ \\treturn·1"]


def test_a_misspelt_line_is_found_and_nothing_alike_is_said(desk: Desk) -> None:
    lines = refused(desk, edit(desk, PROGRAM, "--old", "retrun 3 * r", "--new", "x"), PROGRAM)
    assert "line 2 is the most like it" in lines[0]
    data = b"".join(b"line %d some text that is much longer than what is looked for, and so on\n" % n for n in range(9))
    lines = refused(desk, edit(desk, data, "--old", "line 5 sume text", "--new", "x"), data)
    assert "line 6 is the most like it" in lines[0]
    lines = refused(desk, edit(desk, PROGRAM, "--old", "zebra crossing", "--new", "x"), PROGRAM)
    assert lines == ["[error] edit: the old text is not in the file, nor anything like it (NO_MATCH). Use: edit --help"]


def test_what_the_error_shows_is_bounded_and_cannot_draw(desk: Desk) -> None:
    data = b"".join(b"line %d \x1b[2J%s\n" % (number, b"x" * 5000) for number in range(300))
    old = data.decode().replace("line", "lime")
    lines = refused(desk, edit(desk, data, stdin=block(old, "")), data)
    assert len(lines) < 25
    assert max(map(len, lines)) < 250
    assert all(line.isprintable() for line in lines)


def test_one_block_that_fails_changes_nothing_at_all(desk: Desk) -> None:
    lines = refused(desk, edit(desk, PROGRAM, stdin=block("    return 3 * r\n", "") + block("nowhere\n", "")), PROGRAM)
    assert lines[0].startswith("[error] edit: block 2: the old text is not in the file")


@pytest.mark.parametrize(
    ("stdin", "what"),
    [
        ("", "standard input holds no block"),
        ("\n \n", "standard input holds no block"),
        ("def area", "line 1 of stdin is in no block: def area"),
        ("<<<<<<< OLD\na\n", "line 1 of stdin opens a block without a line ======="),
        ("\n<<<<<<< OLD\na\n=======\nb\n", "line 2 of stdin opens a block without a line >>>>>>> NEW"),
        ("<<<<<<< OLD\n=======\nb\n>>>>>>> NEW\n", "line 1 of stdin opens a block without an old text"),
        ("<<<<<<<<< OLD\na\n=======\nb\n>>>>>>>\n", "line 1 of stdin opens a block without a line ========="),
        (block("def area(r):\n", "def area(r):\n"), "the old text and the new one are the same"),
        (
            block("def area(r):\n    return 3 * r\n", "x\n") + block("    return 3 * r\n", "y\n"),
            "blocks 1 and 2 change the same place, line 2: make them one",
        ),
    ],
)
def test_broken_blocks_are_refused_with_their_line(desk: Desk, stdin: str, what: str) -> None:
    outcome = edit(desk, PROGRAM, stdin=stdin)
    lines = refused(desk, outcome, PROGRAM)
    assert lines[0].startswith(f"[error] edit: {what}")
    assert outcome.status == 2


def test_a_text_that_holds_markers_is_edited_with_longer_ones(desk: Desk) -> None:
    conflict = block("ours\n", "theirs\n")
    edit(desk, f"a\n{conflict}b\n".encode(), stdin=block(conflict, "both\n", signs=9))
    assert content(desk) == b"a\nboth\nb\n"


@pytest.mark.parametrize(
    ("words", "status", "line"),
    [
        (("app.py",), 2, "nothing to replace: neither --old and --new nor blocks on stdin were given (MISSING_ARGUMENT)."),
        (("app.py", "--old", "a b"), 2, "--new is missing (MISSING_ARGUMENT). Use: edit app.py --old 'a b' --new TEXT"),
        (("app.py", "--new", "a"), 2, "--old is missing (MISSING_ARGUMENT). Use: edit app.py --old TEXT --new a"),
        (("app.py", "--old", "", "--new", "a"), 2, "--old is empty (INVALID_VALUE). Use: write --help"),
        (("ap.py", "--old", "a", "--new", "b"), 2, "no such file: ap.py (INPUT_NOT_FOUND). Use: edit app.py"),
        ((".", "--old", "a", "--new", "b"), 2, ". is a folder (INVALID_VALUE). Use: ls ."),
        (("app.py", "--old", "\ud83d", "--new", "b"), 2, "the text holds half a character (a lone surrogate)"),
    ],
)
def test_wrong_calls_get_one_line_with_the_next_step(desk: Desk, words: tuple[str, ...], status: int, line: str) -> None:
    (desk.cwd / "app.py").write_bytes(PROGRAM)
    outcome = desk.call(EditCommand(), "edit", *words)
    assert outcome.error.startswith(f"[error] edit: {line}")
    assert outcome.status == status
    assert content(desk) == PROGRAM


def test_a_file_that_is_too_large_is_refused_without_being_read(desk: Desk) -> None:
    with (desk.cwd / "big").open("wb") as file:
        file.truncate(2 * 1024**3)
    outcome = desk.call(EditCommand(), "edit", "big", "--old", "a", "--new", "b")
    assert outcome.error == "[error] edit: big is 2GB, allowed: 64MB (TOO_LARGE). Use: sed --help"


def test_a_cancel_changes_nothing(desk: Desk) -> None:
    (desk.cwd / "app.py").write_bytes(PROGRAM)
    cancelled = threading.Event()
    cancelled.set()
    with open(os.devnull, "rb") as null:
        words = ("edit", "app.py", "--old", "3 * r", "--new", "4")
        outcome = desk.on_descriptor(EditCommand(), words, null.fileno(), cancelled)
    assert outcome.status == 130
    assert (content(desk), os.listdir(desk.cwd)) == (PROGRAM, ["app.py"])


def test_a_change_by_somebody_else_meanwhile_is_not_lost(desk: Desk) -> None:
    path = desk.cwd / "app.py"
    path.write_bytes(PROGRAM)

    class Other(threading.Event):
        """Asked whether to stop, it writes: the command has read the file by then."""

        def is_set(self) -> bool:
            path.write_bytes(PROGRAM + b"# theirs\n")
            return False

    with open(os.devnull, "rb") as null:
        words = ("edit", "app.py", "--old", "3 * r", "--new", "4")
        outcome = desk.on_descriptor(EditCommand(), words, null.fileno(), Other())
    assert "changed by somebody else meanwhile; nothing was written (FAILED)" in outcome.error
    assert content(desk) == PROGRAM + b"# theirs\n"


TEXTS = st.text("ab\n", max_size=12).map(str.encode)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(TEXTS, st.lists(st.tuples(st.text("ab\n", min_size=1, max_size=3).map(str.encode), TEXTS), min_size=1, max_size=3))
def test_what_is_replaced_is_exactly_what_was_named(data: bytes, pairs: list[tuple[bytes, bytes]]) -> None:
    """One pair everywhere is `bytes.replace`, but for a last line without an end."""
    (old, new), *rest = pairs
    if rest or old == new or old not in data:
        return
    spans = locate(data, [Replacement(old, new)], everywhere=True)
    assert replaced(data, spans) == data.replace(old, new)
    assert not unified_diff(data, spans, "a").is_cut


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=300), st.lists(st.sampled_from([b"<<<<<<< OLD\n", b"=======\n", b">>>>>>> NEW\n", b"a\n"])))
def test_any_stdin_is_read_or_refused(data: bytes, lines: list[bytes]) -> None:
    for text in (data, b"".join(lines)):
        try:
            blocks = read_blocks_of(text)
        except CommandError as error:
            assert error.code in {ErrorCode.INVALID_VALUE, ErrorCode.MISSING_ARGUMENT}  # noqa: PT017  either is right
        else:
            assert all(each.old for each in blocks)


@pytest.mark.skipif(shutil.which("patch") is None, reason="needs patch")
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(st.text("ab\n", min_size=1, max_size=60), st.text("ab\n", min_size=1, max_size=2), st.text("ab\n", max_size=3))
def test_patch_makes_of_any_diff_what_edit_made(tmp_path: Path, text: str, old: str, new: str) -> None:
    data = text.encode()
    if old == new or old.encode() not in data:
        return
    spans = locate(data, [Replacement(old.encode(), new.encode())], everywhere=True)
    (tmp_path / "a").write_bytes(data)
    diff = b"".join(unified_diff(data, spans, "a").lines)
    subprocess.run(["patch", "-s", "a"], cwd=tmp_path, input=diff, check=True)
    made = (tmp_path / "a").read_bytes() if (tmp_path / "a").exists() else b""  # patch removes what becomes empty
    assert made == replaced(data, spans)
