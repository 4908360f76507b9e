"""The four stories of the article this program is built from, through the real loop: one call where it took many there."""

from __future__ import annotations

from pathlib import Path

from tests.cases.lines import linked_programs, program_folder
from tests.cases.program import home
from tests.commands.pictures import png

BASICS = ("bash", "sh", "cat", "ls", "head", "tail", "grep", "wc", "sort", "seq", "python3", "env", "sed", "awk", "find")


def test_a_picture_costs_one_corrected_call(tmp_path: Path) -> None:
    """There: twenty rounds with 182 KB of noise. Here: the first result names the command, the second carries the picture."""
    it = home(tmp_path)
    (it.work / "photo.png").write_bytes(png(40, 30))
    replies = [
        {"calls": [{"command": "cat photo.png"}]},
        {"calls": [{"command": "see photo.png"}]},
        {"text": "I see it."},
    ]
    document, (first, second) = it.replay(replies)
    assert first.shown.text.startswith("[error] binary image (")
    assert first.shown.text.splitlines()[0].endswith(". Use: see photo.png")
    assert len(first.shown.text) < 200
    assert [image.mime for image in second.shown.images] == ["image/png"]
    assert second.result.status == 0
    assert document["text"] == "I see it."
    assert document["steps"] == 3


def test_pip_not_found_is_visible_at_once_with_the_next_step(tmp_path: Path) -> None:
    """There: stderr was dropped because stdout was not empty, ten blind calls. Here: both stand in the first result."""
    programs = linked_programs(tmp_path / "real", *BASICS)
    others = program_folder(tmp_path / "others", "pip3", like="echo Successfully installed $2")
    it = home(tmp_path, PATH=f"{programs}:{others}")
    line = "for package in requests; do echo installing $package; pip install $package; done"
    replies = [
        {"calls": [{"command": line}]},
        {"calls": [{"command": line.replace("pip ", "pip3 ")}]},
        {"text": "installed"},
    ]
    _, (first, second) = it.replay(replies)
    assert first.shown.text.splitlines()[:-1] == [
        "installing requests",
        "[stderr] bash: line 1: pip: command not found",
        "[hint] pip is not here, pip3 is. Use: pip3",
    ]
    assert first.shown.text.splitlines()[-1].startswith("[exit:127 | ")
    assert "Successfully installed requests\n[exit:0 | " in second.shown.text


def test_pip_as_a_stage_of_its_own_is_told_too(tmp_path: Path) -> None:
    programs = linked_programs(tmp_path / "real", *BASICS)
    it = home(tmp_path, PATH=f"{programs}:{program_folder(tmp_path / 'others', 'brew')}")
    (first,) = it.replay([{"calls": [{"command": "echo installing && pip install x"}]}, {"text": "no pip"}])[1]
    said = first.shown.text.splitlines()
    assert said[0] == "installing"
    assert said[1].startswith("[error] unknown command: pip. ")
    assert said[2] == "[hint] pip is not installed. Use: brew install python"
    assert said[3].startswith("[exit:127 | ")


def test_a_log_of_5000_lines_is_explored_in_less_than_2_kb_after_its_first_page(tmp_path: Path) -> None:
    """There: the whole log, 5,000 lines, went into the context. Here: a page, then grep and tail on the file it names."""
    it = home(tmp_path)
    lines = [f"2026-01-01 12:00:00 {'ERROR disk full' if n % 500 == 0 else 'INFO ok'} request {n}" for n in range(1, 5001)]
    (it.work / "app.log").write_text("\n".join(lines) + "\n")
    replies = [
        {"calls": [{"command": "cat app.log"}]},
        {"calls": [{"command": "cat {full_output} | grep -c ERROR"}]},
        {"calls": [{"command": "cat {full_output} | grep ERROR | head 5"}]},
        {"calls": [{"command": "cat {full_output} | tail 10"}]},
        {"text": "ten errors"},
    ]
    _, (page, *exploring) = it.replay(replies)
    assert f"--- output truncated (5000 lines, {(it.work / 'app.log').stat().st_size / 1024:.1f}KB) ---" in page.shown.text
    assert page.shown.text.count("\n") == 204
    assert exploring[0].shown.text.startswith("10\n")
    assert exploring[1].shown.text.count("ERROR disk full") == 5
    assert "request 5000\n" in exploring[2].shown.text
    assert sum(len(run.shown.text.encode()) for run in exploring) < 2048


def test_an_unknown_command_tells_what_there_is_and_the_next_call_works(tmp_path: Path) -> None:
    it = home(tmp_path)
    replies = [{"calls": [{"command": "toipc list"}]}, {"calls": [{"command": "topic list"}]}, {"text": "found it"}]
    _, (first, second) = it.replay(replies)
    assert first.result.status == 127
    assert first.shown.text.startswith("[error] unknown command: toipc. Did you mean: topic")
    assert all(name in first.shown.text for name in ("cat", "see", "write", "ls", "grep", "help lists all"))
    assert second.result.status == 0
