from __future__ import annotations

from pathlib import Path

from agentclip.events import CommandFinished, OutputGrew
from agentclip.line.live import LiveRun
from agentclip.line.text import plain
from agentclip.present.presenter import present
from agentclip.results import Chain, ChainResult, Ended, Limits, StageKind, StageResult, StreamFile


class Written:
    """A run whose spools the test fills."""

    def __init__(self, folder: Path) -> None:
        self.out, self.err = folder / "cmd-3.txt", folder / "cmd-3.0.err"
        self.run = LiveRun(3, str(self.out))

    def grew(self, data: bytes, *, stderr: bool = False) -> list[str]:
        path = self.err if stderr else self.out
        with path.open("ab") as file:
            file.write(data)
        stage = 0 if stderr else None
        return [plain(line) for line in self.run.grew(OutputGrew(3, stage, str(path), path.stat().st_size))]

    def finish(self, status: int = 0) -> list[str]:
        self.out.touch()
        err = StreamFile(str(self.err), self.err.stat().st_size) if self.err.exists() else None
        result = ChainResult(
            number=3,
            chain=Chain("x", ()),
            status=status,
            stdout=StreamFile(str(self.out), self.out.stat().st_size),
            stages=(StageResult(0, "x", StageKind.PROGRAM, status, stderr=err),),
            last_statuses=(status,),
            duration_s=0.012,
            ended=Ended.EXITED,
        )
        return [plain(line) for line in self.run.finish(CommandFinished(3, None, result, present(result, Limits())))]


def test_whole_lines_appear_while_they_come(tmp_path: Path) -> None:
    written = Written(tmp_path)
    assert written.grew(b"one\ntw") == ["│ one"]
    assert written.grew(b"o\nthree") == ["│ two"]
    assert written.grew(b"oops\n", stderr=True) == ["! oops"]
    assert written.finish() == ["│ three", "[exit:0 | 12ms]"]


def test_a_flood_is_cut_and_counted_and_stderr_is_not_lost(tmp_path: Path) -> None:
    written = Written(tmp_path)
    shown = written.grew(b"".join(b"%d\n" % number for number in range(5000)))
    assert len(shown) == 201
    assert written.grew(b"more\n") == []
    written.grew(b"bad\n", stderr=True)
    end = written.finish()
    assert end == ["│ … 4,801 more lines (cmd-3.txt)", "[the model reads 200 of 5,001 lines]", "[exit:0 | 12ms]"]


def test_a_line_drawn_over_itself_shows_its_end_and_colours_are_taken_away(tmp_path: Path) -> None:
    assert Written(tmp_path).grew(b" 1%\r 50%\r\x1b[32m100%\x1b[0m\r\n") == ["│ 100%"]


def test_a_line_without_an_end_is_cut_and_what_follows_is_shown(tmp_path: Path) -> None:
    written = Written(tmp_path)
    (first,) = written.grew(b"x" * 1_000_000)
    assert len(first) < 2100
    assert written.grew(b"x\nnext\n") == ["│ next"]


def test_binary_output_is_not_shown_but_what_the_model_reads_is(tmp_path: Path) -> None:
    written = Written(tmp_path)
    assert written.grew(b"\x7fELF\0\0\x01") == []
    (error, footer) = written.finish()
    assert error.startswith("[error] binary file")
    assert footer == "[exit:0 | 12ms]"


def test_control_codes_become_marks(tmp_path: Path) -> None:
    (shown,) = Written(tmp_path).grew(b"\x1b]52;c;aGk=\x07\x1b[?1049l\xc2\x9b\xff\n")
    assert shown == "│ ␛]52;c;aGk=␇␛[?1049l\\x9b\\xff"


def test_a_spool_that_is_gone_is_no_error(tmp_path: Path) -> None:
    written = Written(tmp_path)
    written.grew(b"a\n")
    written.out.unlink()
    assert written.finish() == ["[exit:0 | 12ms]"]
