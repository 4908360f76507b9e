"""The small folder in which every line of the corpus runs, and the state in which a line left it."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from pathlib import Path

_FILES: dict[str, str | bytes] = {
    "README.md": "# Fixture\n\nA small project with a few files.\n\nIt is read by many lines.\n",
    "log.txt": "".join(
        f"{('INFO', 'WARN', 'ERROR', 'INFO', 'INFO')[n % 5]} 2024-01-{n % 28 + 1:02d} request {n} took {n * 37 % 900}ms\n"
        for n in range(210)
    ),
    "data.csv": "name,team,score\nann,red,91\nbob,blue,45\ncyd,red,67\ndan,green,12\neve,blue,88\n山田,green,73\n",
    "numbers.txt": "".join(f"{n * 7 % 23}\n" for n in range(20)),
    "words.txt": "alpha\nbeta\ngamma\nfoo\nfoo bar\nzeta\n",
    "config.ini": "# settings\n[main]\nname = demo\n\n[paths]\nroot = .\n",
    "config.json": '{"name": "demo", "items": [{"name": "a", "price": 4}, {"name": "b", "price": 9}]}\n',
    "empty.txt": "",
    "crlf.txt": b"one\r\ntwo\r\n",
    "latin1.txt": "café\n".encode("latin-1"),
    "binary.bin": bytes(range(256)) + b"strings inside\0",
    "file with spaces.txt": "spaces inside\n",
    "it's.txt": "it's quoted\n",
    "a&b.txt": "ampersand\n",
    "semi;colon.txt": "semicolon\n",
    "-dash.txt": "dash\n",
    "[x].txt": "brackets\n",
    "*star.txt": "star\n",
    "文档.txt": "你好世界\n",
    "한국어.txt": "안녕하세요\n",
    "日本語/メモ.txt": "日本語のメモ\n検索できます\n",
    "日本語/計画 2024.md": "# 計画\n検索\n",
    "src/app.py": '"""App."""\nimport sys\n\n\ndef main():\n    # TODO: greet\n    print("args", sys.argv[1:])\n\n\nmain()\n',
    "src/util.py": '"""Util."""\nimport os  # TODO: drop\n\n\ndef add(a, b):\n    return a + b\n',
    "src/main.c": '#include <stdio.h>\nint main(void) { puts("from c"); return 0; }\n',
    "src/lib/helper.js": "module.exports = 1 // TODO\n",
    "tests/__init__.py": "",
    "tests/test_app.py": "import unittest\n\n\nclass T(unittest.TestCase):\n    def test_it(self):\n        pass\n",
    "Makefile": "hello:\n\t@echo hello from make\nworld:\n\t@echo world\nfail:\n\t@exit 3\n",
    "script.sh": '#!/bin/bash\necho "script $1 $2 ($#)"\n',
    "noshebang.sh": 'echo "no shebang $0"\necho "its stderr" >&2\n',
    "notexec.sh": "#!/bin/sh\necho notexec\n",
    "badinterp.sh": "#!/no/such/interpreter\n",
    "setvars.sh": "FROM_FILE=sourced\n",
    "bin/mytool": '#!/bin/sh\necho "mytool $1"\n',
    "repo/a.txt": "alpha\n",
}
_EXECUTABLE = ("script.sh", "noshebang.sh", "badinterp.sh", "bin/mytool")


def build(folder: Path) -> None:
    """Make the folder, with a git repository of two commits and a few changes inside."""
    for name, content in _FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    for name in _EXECUTABLE:
        (folder / name).chmod(0o755)
    (folder / "linkdir").symlink_to("src/lib")
    _build_repository(folder / "repo", environ(folder))


def _build_repository(folder: Path, environment: dict[str, str]) -> None:
    def git(*arguments: str) -> None:
        subprocess.run(["git", "-C", str(folder), *arguments], env=environment, check=True)

    git("init", "-q", "-b", "main", "--template=")  # no sample hooks
    git("config", "user.name", "t")
    git("config", "user.email", "t@example.org")
    git("add", ".")
    git("commit", "-qm", "first")
    (folder / "a.txt").write_text("alpha\nbeta\n")
    git("commit", "-qam", "add beta")
    (folder / "a.txt").write_text("alpha\nbeta changed\n")
    (folder / "new.txt").write_text("untracked\n")


def environ(folder: Path) -> dict[str, str]:
    """What every line starts with: small, the same for bash and for us, nothing of the person who runs the tests."""
    return {
        "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
        "HOME": str(folder.parent / "home"),
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "GREETING": "hello world",
        "PWD": str(folder),
        "SHLVL": "1",
        "_": "/usr/bin/env",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_SYSTEM": "/dev/null",
        "GIT_AUTHOR_DATE": "2024-01-01T00:00:00Z",
        "GIT_COMMITTER_DATE": "2024-01-01T00:00:00Z",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def renew(template: Path, folder: Path) -> None:
    """Make `folder` a fresh copy of `template`, times included, and the home beside it empty."""
    for stale in (folder, folder.parent / "home"):
        shutil.rmtree(stale, ignore_errors=True)
    (folder.parent / "home").mkdir(parents=True)
    shutil.copytree(template, folder, symlinks=True)


def state(folder: Path) -> dict[str, object]:
    """Every file below `folder` but git's own: mode and content."""
    found: dict[str, object] = {}
    for root, directories, files in os.walk(folder):
        directories[:] = [name for name in directories if name != ".git"]
        for name in [*directories, *files]:
            path = Path(root, name)
            mode = path.lstat().st_mode
            content: object = path.readlink() if path.is_symlink() else path.read_bytes() if stat.S_ISREG(mode) else None
            found[str(path.relative_to(folder))] = (stat.filemode(mode), content)
    return found
