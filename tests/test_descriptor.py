from __future__ import annotations

import os

from agentclip.descriptor import DescriptorFile


def test_what_is_written_arrives_whole_and_what_cannot_be_spelled_is_a_question_mark() -> None:
    read_end, write_end = os.pipe()
    with open(read_end, "rb") as pipe:
        out = DescriptorFile(write_end, "ascii")
        assert out.write("a日b") == 3
        out.flush()
        os.close(write_end)
        assert pipe.read() == b"a?b"


def test_once_the_terminal_is_gone_writing_does_nothing() -> None:
    master, slave = os.openpty()
    out = DescriptorFile(slave)
    assert out.isatty()
    assert out.fileno() == slave
    os.close(master)
    assert out.write("nobody reads this") == 17
    assert out.write("nor this") == 8
    os.close(slave)
