from __future__ import annotations

import os
from pathlib import Path

import pytest

from agentclip.candidates import Completer, Kind, Offer, quoted
from agentclip.file_index import FileIndex

WORDS = (
    ("/layer1", "[N]", "raw"),
    ("/layer2", "[N]", "shown"),
    ("/player", "", "music"),
    ("/loops", "[on | off]", "loop detection"),
    ("/queue", "[drop N | edit N TEXT]", "what waits"),
    ("/theme", "[NAME]", "colours"),
)


def offer(line: str, cwd: Path, *, first: bool = True) -> Offer | None:
    operands = {"/theme": lambda: ("dark", "light")}
    return Completer(WORDS, lambda: str(cwd), FileIndex(), operands, wait_s=20).offer(line, first=first)


def texts(line: str, cwd: Path, *, first: bool = True) -> list[str]:
    found = offer(line, cwd, first=first)
    return [] if found is None else [each.text for each in found.candidates]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "src" / "deep dir").mkdir(parents=True)
    for name in ("src/main.py", "src/deep dir/my notes.txt", ".hidden", 'quo"te', "日本語.txt", "plain"):
        (tmp_path / name).touch()
    for raw in (b"sad\x1b]0;x\x07", b"not\xffutf8", b"two\nlines", "turned\u202eround".encode()):
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + raw)).touch()
    (tmp_path / "src" / "mytool").touch(0o755)
    return tmp_path


def test_slash_words_begin_the_text_and_those_that_begin_so_come_first(folder: Path) -> None:
    found = offer("/lay", folder)
    assert found is not None
    assert (found.kind, found.begun, [each.text for each in found.candidates]) == (
        Kind.WORD,
        "/lay",
        ["/layer1", "/layer2", "/player"],
    )
    assert (found.candidates[0].detail, found.candidates[0].more, found.candidates[2].more) == ("[N]  raw", True, False)
    assert texts("/usr/b", folder) == texts("see /lay", folder) == texts("/lay", folder, first=False) == []
    assert len(texts("/", folder)) == len(WORDS)


def test_operands_come_from_the_word_itself_or_from_who_knows_them(folder: Path) -> None:
    assert texts("/loops ", folder) == ["on", "off"]
    assert texts("/loops of", folder) == ["off"]
    assert texts("/theme ", folder) == ["dark", "light"]
    assert texts("/theme gh", folder) == ["light"]
    assert texts("/queue ", folder) == texts("/layer1 ", folder) == texts("/nothing ", folder) == []


def test_files_are_found_by_any_part_anywhere_in_the_text(folder: Path) -> None:
    assert texts("look at @main", folder) == ["@src/main.py"]
    assert texts("@smain", folder) == ["@src/main.py"]
    assert texts("second line @日本", folder, first=False) == ["@日本語.txt"]
    assert texts("@plain", folder)[0] == "@plain"
    assert texts("mail a@main", folder) == texts("@main ", folder) == []
    assert texts("!cat @main", folder) == [], "a shell takes it by the letter"


def test_names_with_blanks_or_quotes_stand_in_quotes(folder: Path) -> None:
    assert texts("@notes", folder) == ['@"src/deep dir/my notes.txt"']
    assert texts('see @"src/deep dir/my n', folder) == ['@"src/deep dir/my notes.txt"']
    assert '@"src/deep dir/' in texts("@deep", folder)
    assert '@"quo\\"te"' in texts("@quo", folder)
    assert texts('@"quo\\"t', folder) == ['@"quo\\"te"']
    assert quoted("a b/") == '"a b/', "something follows"


def test_names_that_act_on_a_terminal_or_are_no_text_are_never_offered(folder: Path) -> None:
    for line in ("@sad", "@notu", "@two", "@turned", "!cat sa", "!cat no", "!cat tw", "!cat tu"):
        assert texts(line, folder) == [], line


def test_paths_outside_are_looked_up_in_their_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(folder))
    assert texts(f"@{folder}/src/m", folder) == [f"@{folder}/src/main.py", f"@{folder}/src/mytool"]
    assert texts("@~/src/ma", folder) == ["@~/src/main.py"]
    assert texts("@../m", folder / "src") == []
    assert texts("@../pl", folder / "src") == ["@../plain"]
    assert texts("@./src/ma", folder) == ["@./src/main.py"]


def test_programs_and_paths_of_a_shell_line(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{folder / 'src'}:/nonexistent")
    monkeypatch.setenv("HOME", str(folder))
    for line in ("!my", "! my", "!ls | my", "!a && my", "!(my"):
        assert texts(line, folder) == ["mytool"], line
    assert texts("!main", folder) == [], "cannot be executed"
    assert texts("!cat src/ma", folder) == ["src/main.py"]
    assert texts("!cat <src/ma", folder) == ["src/main.py"]
    assert texts("!cat ~/src/ma", folder) == ["~/src/main.py"]
    assert texts("!cat src/de", folder) == ["'src/deep dir/'"]
    assert texts("!cat ", folder) == texts("!", folder) == texts("!cat 'src/ma", folder) == []
    assert texts("!my", folder, first=False) == []


def test_a_file_that_git_ignores_is_found_by_its_path(folder: Path) -> None:
    import subprocess

    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    (folder / ".gitignore").write_text("plain\n")
    assert texts("@ain", folder) == ["@src/main.py"]
    assert texts("@pl", folder) == ["@plain"]
