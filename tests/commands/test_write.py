from __future__ import annotations

import base64
import errno
import os
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import chdir

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentclip.commands.write import WriteCommand, _decoded
from agentclip.errors import CommandError
from tests.commands.calls import Desk, Outcome


def write(desk: Desk, *words: str, stdin: bytes | None = None) -> Outcome:
    return desk.call(WriteCommand(), "write", *words, stdin=stdin)


def in_child(desk: Desk, setup: str, *words: str, stdin: bytes | None = None) -> str:
    """Call `write` in a process of its own after `setup`, which holds for whole processes; returns what it printed."""
    script = f"""
import ctypes, resource, signal, sys, threading
from agentclip.command import CommandIO
from agentclip.commands.write import WriteCommand
from agentclip.errors import CommandError

{setup}
io = CommandIO(sys.stdin.buffer, sys.stdout.buffer, sys.stderr.buffer, ".", {{}}, threading.Event(), None)
try:
    WriteCommand().run(["write", *sys.argv[1:]], io)
except CommandError as error:
    print(error.line("write"), error.code.exit_status)
"""
    argv = [sys.executable, "-c", script, *words]
    return subprocess.run(argv, cwd=desk.cwd, input=stdin, stdout=subprocess.PIPE, check=True).stdout.decode()


SMALL_DISK = "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))"
"""A limit on the size of files stands in for a full disk."""

NO_POWERS = "assert ctypes.CDLL(None).capset((ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()) == 0"
"""root may write everything, unless it gives up its capabilities."""


def test_an_argument_is_written_as_it_is_without_a_line_end(desk: Desk) -> None:
    outcome = write(desk, "notes.md", "first line\n  and $HOME")
    target = desk.cwd / "notes.md"
    assert outcome.text == f"Written 22 bytes -> {target}\n"
    assert target.read_bytes() == b"first line\n  and $HOME"


def test_stdin_is_written_byte_for_byte(desk: Desk) -> None:
    data = bytes(range(256)) * 128
    outcome = write(desk, "data.bin", stdin=data)
    assert outcome.text == f"Written 32KB -> {desk.cwd / 'data.bin'}\n"
    assert (desk.cwd / "data.bin").read_bytes() == data


def test_a_dash_means_stdin_and_an_empty_stdin_makes_an_empty_file(desk: Desk) -> None:
    assert write(desk, "empty", "-", stdin=b"").text.startswith("Written 0 bytes")
    assert (desk.cwd / "empty").read_bytes() == b""


@pytest.mark.parametrize("before", [None, b"old"])
def test_without_content_nothing_is_written(desk: Desk, before: bytes | None) -> None:
    if before is not None:
        (desk.cwd / "a b.md").write_bytes(before)
    outcome = write(desk, "a b.md")
    assert outcome.status == 2
    assert outcome.error == (
        "[error] write: nothing to write: neither content nor stdin was given (MISSING_ARGUMENT). Use: write 'a b.md' 'content'"
    )
    assert [path.read_bytes() for path in desk.cwd.iterdir()] == ([] if before is None else [before])


def test_missing_folders_are_made(desk: Desk) -> None:
    write(desk, "a/b/c.txt", "x")
    assert (desk.cwd / "a/b/c.txt").read_text() == "x"


def test_append_adds_to_the_end_and_makes_a_new_file(desk: Desk) -> None:
    assert write(desk, "log", "one\n", "--append").text.startswith("Written 4 bytes")
    assert write(desk, "log", "two\n", "--append").text.startswith("Appended 4 bytes")
    assert (desk.cwd / "log").read_text() == "one\ntwo\n"


def test_append_keeps_the_very_file_for_those_who_hold_it_open(desk: Desk) -> None:
    (desk.cwd / "log").write_text("one\n")
    os.link(desk.cwd / "log", desk.cwd / "same")
    write(desk, "log", "two\n", "--append")
    assert (desk.cwd / "same").read_text() == "one\ntwo\n"


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755])
def test_an_existing_file_keeps_its_mode(desk: Desk, mode: int) -> None:
    (desk.cwd / "run.sh").write_text("old")
    (desk.cwd / "run.sh").chmod(mode)
    write(desk, "run.sh", "new")
    assert stat.S_IMODE((desk.cwd / "run.sh").stat().st_mode) == mode
    assert (desk.cwd / "run.sh").read_text() == "new"


def test_a_new_file_gets_the_mode_that_the_shell_would_give_it(desk: Desk) -> None:
    write(desk, "ours", "x")
    subprocess.run(["sh", "-c", "echo x > theirs"], cwd=desk.cwd, check=True)
    assert (desk.cwd / "ours").stat().st_mode == (desk.cwd / "theirs").stat().st_mode


def test_a_reader_sees_the_old_or_the_new_text_and_never_a_part(desk: Desk) -> None:
    target, stop, seen = desk.cwd / "shared", threading.Event(), set()
    target.write_bytes(b"a" * 300_000)

    def read() -> None:
        while not stop.is_set():
            seen.add(target.read_bytes())

    reader = threading.Thread(target=read)
    reader.start()
    try:
        for number in range(60):
            write(desk, "shared", stdin=(b"b" if number % 2 else b"a") * 300_000)
    finally:
        stop.set()
        reader.join()
    assert seen <= {b"a" * 300_000, b"b" * 300_000}


def test_a_link_is_followed_and_stays_a_link(desk: Desk) -> None:
    (desk.cwd / "real").write_text("old")
    (desk.cwd / "link").symlink_to("real")
    assert write(desk, "link", "new").text.endswith(f"-> {desk.cwd / 'real'}\n")
    assert (desk.cwd / "link").is_symlink()
    assert (desk.cwd / "real").read_text() == "new"


def test_a_link_to_nothing_yet_makes_its_target(desk: Desk) -> None:
    (desk.cwd / "link").symlink_to("sub/later")
    write(desk, "link", "new")
    assert (desk.cwd / "sub/later").read_text() == "new"


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("folder", "folder is a folder (INVALID_VALUE). Use: ls folder"),
        ("new/", "new/ names a folder (INVALID_VALUE). Use: mkdir -p new/"),
        ("circle", "circle is a link that leads in a circle (INVALID_VALUE). Use: ls -l circle"),
        ("socket", "socket is no regular file (socket) (INVALID_VALUE). Use: ls -l socket"),
        ("fifo", "fifo is no regular file (named pipe) (INVALID_VALUE). Use: ls -l fifo"),
        ("", "the file name is empty (INVALID_VALUE). Use: ls"),
        ("x" * 256, f"{'x' * 256}: File name too long (FAILED). Use: ls"),
        ("half\ud83d", "no file can be called 'half\\ud83d' (INVALID_VALUE). Use: ls"),
    ],
)
def test_what_is_no_file_is_never_replaced(desk: Desk, name: str, what: str) -> None:
    (desk.cwd / "folder").mkdir()
    (desk.cwd / "file").write_text("old")
    (desk.cwd / "circle").symlink_to("circle")
    os.mkfifo(desk.cwd / "fifo")
    with socket.socket(socket.AF_UNIX) as server, chdir(desk.cwd):
        server.bind("socket")
    before = sorted(desk.cwd.iterdir())
    outcome = write(desk, name, "x")
    assert outcome.error == f"[error] write: {what}"
    assert outcome.status in (1, 2)
    assert sorted(desk.cwd.iterdir()) == before


def test_nothing_is_written_below_a_file(desk: Desk) -> None:
    above = desk.cwd / "file"
    above.write_text("old")
    outcome = write(desk, "file/a/b", "x")
    assert outcome.error == f"[error] write: {above} is no folder (INVALID_VALUE). Use: ls -l {above}"
    assert above.read_text() == "old"


def test_a_name_of_255_bytes_can_be_written(desk: Desk) -> None:
    name = "n" * 255
    assert write(desk, name, "x").status == 0
    assert (desk.cwd / name).read_text() == "x"


@pytest.mark.parametrize("name", ["with space", "-dash", "new\nline", "ünï😀", "\udcff\udcfe", "*"])
def test_any_name_the_system_allows_can_be_written(desk: Desk, name: str) -> None:
    outcome = write(desk, "--", name, "x")
    assert outcome.status == 0
    assert len(outcome.text.splitlines()) == 1
    assert (desk.cwd / name).read_text() == "x"


@pytest.mark.skipif(sys.platform != "linux", reason="gives up capabilities")
@pytest.mark.parametrize("flags", [(), ("--append",)])
def test_a_read_only_file_is_refused_and_stays(desk: Desk, flags: Sequence[str]) -> None:
    (desk.cwd / "fixed").write_text("old")
    (desk.cwd / "fixed").chmod(0o444)
    said = in_child(desk, NO_POWERS, "fixed", "new", *flags)
    assert "fixed is read-only (DENIED). Use: ls -l " in said
    assert said.endswith(" 77\n")
    assert [(path.name, path.read_text()) for path in desk.cwd.iterdir()] == [("fixed", "old")]


@pytest.mark.parametrize("before", [None, b"old\n"])
@pytest.mark.parametrize("flags", [(), ("--append",)])
def test_a_full_disk_leaves_the_old_file_and_no_litter(desk: Desk, before: bytes | None, flags: Sequence[str]) -> None:
    folder = desk.cwd / "sub"
    if before is not None:
        folder.mkdir()
        (folder / "a").write_bytes(before)
    said = in_child(desk, SMALL_DISK, "sub/a", "-", *flags, stdin=b"x" * 1_000_000)
    assert said == f"[error] write: sub/a: {os.strerror(errno.EFBIG)} (FAILED). Use: ls -ld sub/a 1\n"
    assert [path.name for path in desk.cwd.rglob("*")] == ([] if before is None else ["sub", "a"])
    assert before is None or (folder / "a").read_bytes() == before


def test_an_append_that_fails_half_way_is_undone(desk: Desk) -> None:
    (desk.cwd / "a").write_bytes(b"o" * 99_990)
    said = in_child(desk, SMALL_DISK, "a", "x" * 50, "--append")
    assert "(FAILED)" in said
    assert (desk.cwd / "a").read_bytes() == b"o" * 99_990


def test_base64_is_decoded(desk: Desk) -> None:
    data = bytes(range(256)) * 1000
    text = base64.encodebytes(data)
    assert write(desk, "data.bin", "-b", stdin=text).status == 0
    assert (desk.cwd / "data.bin").read_bytes() == data
    assert write(desk, "data.bin", "AQI=", "--base64", "--append").text.startswith("Appended 2 bytes")
    assert (desk.cwd / "data.bin").read_bytes() == data + b"\1\2"


@pytest.mark.parametrize(
    "text", [b"not base64!", b"AQI", b"AQ==AQ==", b"A===", b"AQ==x", b"====", "日本".encode(), b"AQI=" * 2 + b"="]
)
@pytest.mark.parametrize("before", [None, b"old"])
def test_bad_base64_changes_nothing(desk: Desk, text: bytes, before: bytes | None) -> None:
    if before is not None:
        (desk.cwd / "data.bin").write_bytes(before)
    outcome = write(desk, "data.bin" if before else "new/data.bin", "-b", stdin=text)
    assert outcome.status == 2
    assert "the content is no base64" in outcome.error
    assert [path.read_bytes() for path in desk.cwd.iterdir()] == ([] if before is None else [before])


@settings(deadline=None)
@given(st.binary(max_size=300), st.lists(st.integers(1, 40), max_size=30))
def test_base64_is_the_same_however_its_blocks_are_cut(data: bytes, cuts: list[int]) -> None:
    text, blocks = base64.encodebytes(data), []
    for cut in cuts:
        blocks.append(text[:cut])
        text = text[cut:]
    assert b"".join(_decoded([*blocks, text])) == data


@settings(deadline=None)
@given(st.binary(max_size=60), st.lists(st.integers(1, 9), max_size=12))
def test_what_base64_accepts_does_not_depend_on_the_blocks(text: bytes, cuts: list[int]) -> None:
    def outcome(blocks: list[bytes]) -> bytes | None:
        try:
            return b"".join(_decoded(blocks))
        except CommandError:
            return None

    rest, blocks = text, []
    for cut in cuts:
        blocks.append(rest[:cut])
        rest = rest[cut:]
    assert outcome([*blocks, rest]) == outcome([text])


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=200))
def test_any_text_is_written_or_refused_whole(desk: Desk, text: str) -> None:
    outcome = write(desk, "--", "text", text)
    if text == "-":
        return
    assert outcome.status == 0
    assert (desk.cwd / "text").read_bytes() == text.encode()


def test_half_a_character_is_refused(desk: Desk) -> None:
    outcome = write(desk, "text", "half \ud83d")
    assert (outcome.status, list(desk.cwd.iterdir())) == (2, [])
    assert "half a character" in outcome.error


def test_100_megabytes_stream_through_in_constant_memory(desk: Desk) -> None:
    script = """
import resource, sys, threading
from agentclip.command import CommandIO
from agentclip.commands.write import WriteCommand

io = CommandIO(sys.stdin.buffer, sys.stdout.buffer, sys.stderr.buffer, ".", {}, threading.Event(), None)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
WriteCommand().run(["write", "big"], io)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    size = 100 * 1024 * 1024
    with subprocess.Popen(["head", "-c", str(size), "/dev/zero"], stdout=subprocess.PIPE) as source:
        argv = [sys.executable, "-c", script]
        said = subprocess.run(argv, cwd=desk.cwd, stdin=source.stdout, stdout=subprocess.PIPE, text=True, check=True).stdout
    line, grown = said.splitlines()
    assert line.startswith("Written 100MB -> ")
    assert int(grown) < 8_000
    assert (desk.cwd / "big").stat().st_size == size


def test_a_cancel_while_stdin_is_awaited_ends_at_once_and_leaves_nothing(desk: Desk) -> None:
    """The writer's end stays open: nothing but the cancel can end the waiting."""
    (desk.cwd / "a").write_text("old")
    read_end, write_end = os.pipe()
    os.write(write_end, b"half of it")
    cancelled, outcomes = threading.Event(), list[Outcome]()
    call = threading.Thread(
        target=lambda: outcomes.append(desk.on_descriptor(WriteCommand(), ("write", "a"), read_end, cancelled))
    )
    call.start()
    wait_for(lambda: len(list(desk.cwd.iterdir())) == 2)
    cancelled.set()
    call.join(10)
    os.close(write_end)
    os.close(read_end)
    assert not call.is_alive()
    assert (outcomes[0].status, outcomes[0].out) == (130, b"")
    assert [(path.name, path.read_text()) for path in desk.cwd.iterdir()] == [("a", "old")]


def test_a_writer_ended_by_the_cancel_does_not_pass_for_the_end_of_the_data(desk: Desk) -> None:
    read_end, write_end = os.pipe()
    os.write(write_end, b"half of it")
    cancelled, outcomes = threading.Event(), list[Outcome]()
    call = threading.Thread(
        target=lambda: outcomes.append(desk.on_descriptor(WriteCommand(), ("write", "a"), read_end, cancelled))
    )
    call.start()
    wait_for(lambda: list(desk.cwd.iterdir()))
    cancelled.set()
    os.close(write_end)
    call.join(10)
    os.close(read_end)
    assert (outcomes[0].status, list(desk.cwd.iterdir())) == (130, [])


def wait_for(condition: object) -> None:
    assert callable(condition)
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)
