from __future__ import annotations

from pathlib import Path

from agentclip.line.completion import candidates
from agentclip.line.slash import WORDS


def words(before: str, cwd: Path, path: str = "/nonexistent") -> list[str]:
    return [word for _, word in candidates(before, str(cwd), WORDS, path)]


def test_slash_words_programs_and_files(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "main.py").touch()
    (tmp_path / ".hidden").touch()
    (tmp_path / "sad\x1b]0;x\x07").touch()
    tool = tmp_path / "src" / "mytool"
    tool.touch(0o755)
    assert words("/lay", tmp_path) == ["/layer1", "/layer2"]
    assert words("look at @s", tmp_path) == ["src/"]
    assert words("@src/m", tmp_path) == ["src/main.py", "src/mytool"]
    assert words("@.", tmp_path) == [".hidden"]
    assert words("!my", tmp_path, str(tmp_path / "src")) == ["mytool"]
    assert words("!cat src/ma", tmp_path) == ["src/main.py"]
    assert words("mail a@b", tmp_path) == []
    assert words("/usr/b", tmp_path) == []
