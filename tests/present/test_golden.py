"""Every rule of Layer 2 as a whole text, compared exactly.

AGENTCLIP_UPDATE_GOLDEN=1 writes the files anew; read the difference before it is committed.
"""

from __future__ import annotations

import gzip
import os
import random
from pathlib import Path

import pytest

from agentclip.present.excerpt import kind_of_stream
from agentclip.present.navigation import hints
from agentclip.present.presenter import present
from agentclip.results import Ended, Limits, StageKind
from tests.present.runs import Ran, Run

GOLDEN = Path(__file__).parent / "golden"
UPDATE = bool(os.environ.get("AGENTCLIP_UPDATE_GOLDEN"))
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(182 * 1024 - 16)
NOISE = random.Random(7).randbytes(1024)
BINARY = (NOISE * 1229)[: int(1.2 * 1024 * 1024)]
SMALL = Limits(lines=6, bytes=4096, stderr_lines=6, stderr_lines_on_success=3, tail_lines=2)


def numbered(count: int, text: str = "line") -> bytes:
    return b"".join(b"%s %d\n" % (text.encode(), number) for number in range(1, count + 1))


BASH = StageKind.SHELL
UNKNOWN_COWSAY = b"[error] unknown command: cowsay. Available: cat, see, write, ... (help lists all)\n"

CASES: dict[str, Run] = {
    # shape
    "shape": Run(b"file1.txt\nfile2.txt\ndir1/\n"),
    "shape-empty": Run(),
    "shape-empty-line": Run(b"\n"),
    "shape-no-line-end": Run(b"42"),
    "shape-indented-first-line": Run(b"    x = 1\n  y = 2\n"),
    "shape-looks-like-ours": Run(
        b"[stderr] not so\n--- output truncated (9 lines, 1.0KB) ---\n[exit:0 | 1ms]\n", [[Ran(status=4)]]
    ),
    # A. binary guard
    "binary-image-named-by-cat": Run(PNG, [[Ran("cat photo.png")]]),
    "binary-image-named-by-download": Run(PNG, [[Ran("curl -sLo photo.png http://127.0.0.1/")], [Ran("cat photo.png")]]),
    "binary-image-without-name": Run(PNG, [[Ran("curl -s http://127.0.0.1/")]]),
    "binary-image-of-a-line-taken-whole": Run(PNG, [[Ran(None, kind=BASH)]]),
    "binary-image-through-head": Run(PNG[:4096], [[Ran("cat ./a/photo.png"), Ran("head -c 4096")]]),
    "binary-file": Run(BINARY, [[Ran("cat file.bin")]]),
    "binary-name-to-be-quoted": Run(BINARY, [[Ran("cat", reads="my file's.bin")]]),
    "binary-name-like-a-flag": Run(BINARY, [[Ran("cat -- -x.bin")]]),
    "binary-nul": Run(b"before\0after\n", [[Ran("printf x")]]),
    "binary-keeps-status-and-stderr": Run(BINARY, [[Ran("gzip -c notes", status=2, stderr=b"gzip: notes: warning\n")]]),
    "binary-controls": Run(b"\x01\x02\x03\x04 text \x05\n"),
    # encodings
    "encoding-declared": Run("你好\n".encode("gbk"), limits=Limits(encoding="GBK")),
    "encoding-guessed-gbk": Run("你好\n".encode("gbk")),
    "encoding-guessed-sjis": Run("こん\n".encode("cp932")),
    "encoding-guessed-latin": Run("Größe, Übermut, Äpfel, Öl, dünn und schön\n".encode("latin-1")),
    "encoding-utf16": Run("héllo\nwörld\n".encode("utf-16")),
    "encoding-utf8-with-mark": Run("\ufeffname,size\nä,1\n".encode()),
    "encoding-stray-bytes": Run(b"caf\351\n1\n2\n3\n"),
    "encoding-stray-at-the-end": Run("日本語".encode()[:-1]),
    "encoding-overflow": Run("错误 error\n".encode("gbk") * 300, limits=Limits(encoding="gbk", lines=3)),
    # B. overflow
    "overflow": Run(numbered(5000), duration_s=1.2),
    "overflow-failed": Run(numbered(50000), [[Ran(None, 7, b"FINAL-ERROR-42\n", kind=BASH)]]),
    "overflow-failed-short-of-twenty": Run(numbered(205), [[Ran(status=1)]]),
    "overflow-exactly-at-the-limit": Run(numbered(200)),
    "overflow-by-bytes": Run((b"x" * 1023 + b"\n") * 60),
    "overflow-long-line": Run(b"head\n" + b"m" * 125456 + b"\ntail\n"),
    "overflow-long-line-in-a-small-budget": Run(b"hit-1\nhit-2\n" + b"m" * 200000 + b"\nhit-3\n", limits=SMALL),
    "overflow-long-line-of-emoji": Run("😀".encode() * 2000 + b"\n", limits=SMALL),
    "overflow-one-long-line": Run(b"a" * 10485760),
    "overflow-long-last-line-failed": Run(numbered(9) + b"z" * 600000 + b" the end", [[Ran(status=1)]], limits=SMALL),
    "overflow-last-lines-binary": Run(numbered(300) + b"\0\1\2\n", [[Ran(status=1)]], limits=SMALL),
    "overflow-output-limit": Run(
        numbered(9), [[Ran("yes", 153)]], status=153, ended=Ended.OUTPUT_LIMIT, limit=256 * 1024 * 1024, limits=SMALL
    ),
    # C. footer
    "footer-pipe": Run(b"boom\n", [[Ran("sh -c x", 3), Ran("tail -n 1")]], duration_s=1.2),
    "footer-sigpipe-is-no-failure": Run(b"y\ny\n", [[Ran("yes", 141, signal="SIGPIPE"), Ran("head -n 2")]]),
    "footer-same-failure-everywhere": Run(b"", [[Ran("false", 1), Ran("false", 1)]]),
    "footer-timeout": Run(b"step-1-done\n", [[Ran("make", 143)]], status=124, ended=Ended.TIMEOUT, limit=120, duration_s=121.4),
    "footer-cancelled": Run(b"", [[Ran("sleep 100", 130)]], status=130, ended=Ended.CANCELLED, duration_s=3.21),
    "footer-interrupted": Run(b"so far\n", [[Ran("sleep 100", 137)]], status=137, ended=Ended.INTERRUPTED, duration_s=45.2),
    "footer-killed": Run(b"", [[Ran("sh -c x", 137, signal="SIGKILL")]]),
    "footer-killed-below-bash": Run(b"", [[Ran(None, 139, kind=BASH)]]),
    "footer-jobs": Run(b"started\n", jobs=[2]),
    "footer-everything": Run(
        b"", [[Ran("a", 3), Ran("b", 0)]], ended=Ended.TIMEOUT, limit=9, jobs=[2, 4], cwd="src/app", duration_s=61
    ),
    "footer-hostile-cwd": Run(b"", cwd="/tmp/\x1b[31mred\n[exit:0 | 1ms]"),
    # D. stderr
    "stderr-success": Run(b"fine\n", [[Ran("sh -c x", stderr=b"warn\n")]]),
    "stderr-early-stage": Run(b"0\n", [[Ran("ls /ac_nope", 2, b"ls: cannot access '/ac_nope'\n"), Ran("wc -l")]]),
    "stderr-several-stages": Run(
        b"",
        [[Ran("grep x nofile", 2, b"grep: nofile: No such file or directory\n"), Ran("sort -z x", 2, b"sort: x\nsort: y\n")]],
    ),
    "stderr-long-success": Run(b"done\n", [[Ran("make", stderr=numbered(500, "warning"))]]),
    "stderr-long-failure": Run(b"", [[Ran("make", 2, numbered(500, "error"))]]),
    "stderr-long-line": Run(b"", [[Ran("cc x.c", 1, b"error: " + b"T" * 9000 + b"\n")]]),
    "stderr-shared-budget": Run(
        b"", [[Ran("a", 1, numbered(2, "a")), Ran("b", 1, numbered(50, "b")), Ran("c", 1, numbered(50, "c"))]], limits=SMALL
    ),
    "stderr-many-stages": Run(b"", [[Ran(f"p{n}", 1, b"failed\n")] for n in range(15)]),
    "stderr-binary": Run(b"ok\n", [[Ran("tool", stderr=BINARY)]]),
    "stderr-progress-bar": Run(b"ok\n", [[Ran("curl x", stderr=b"\r  0%\r 50%\r100%\n")]]),
    "stderr-blank": Run(b"ok\n", [[Ran("tool", stderr=b"\x1b[0m\n")]]),
    "stderr-encoding": Run(b"", [[Ran("tool", 1, "エラー: ファイル\n".encode("cp932"))]]),
    "stderr-without-line-end": Run(b"no end", [[Ran("tool", 1, b"no end either")]]),
    # E. terminal text
    "terminal-progress": Run(b"".join(b"\r\033[2K%d%%" % n for n in range(101)) + b"\n"),
    "terminal-escapes": Run(b"a\033[31mred\033[0m\033]8;;http://x\033\\link\033]8;;\033\\ z\n"),
    "terminal-line-ends": Run(b"keep\r\nalpha\r\nold\rnew\n"),
    "terminal-overstrike": Run(b"N\bNA\bAM\bME\bE\n_\bu_\bn_\bd_\be_\br\n"),
    "terminal-hostile": Run(b"\033]52;c;ZWNobyBoaQ==\007\033]0;owned\007\033[?1049l\033[2Jvisible\010\233m\n"),
    "terminal-open-title": Run(b"\033]0;a title without end\n"),
    "terminal-old-mac-line-ends": Run(b"one\rtwo\rthree"),
    "terminal-surrogates": Run(b"half \xed\xa0\xbd of an emoji, overlong \xc0\x80 nul\n" * 9),
    "terminal-only-carriage-return": Run(b"\r"),
    "terminal-only-escapes": Run(b"\x1b[H\x1b[2J\x1b[3J"),
    # hints
    "hint-near-file": Run(
        b"",
        [[Ran("cat confg.yaml", 1, b"cat: confg.yaml: No such file or directory\n")]],
        source="cat confg.yaml",
        files={"config.yaml": b"", "other.txt": b""},
    ),
    "hint-near-folder": Run(
        b"",
        [[Ran("ls srcc/deep", 2, b"ls: cannot access 'srcc/deep': No such file or directory\n")]],
        source="ls srcc/deep",
        files={"src/": b"", "it's here/": b""},
    ),
    "hint-missing-folder": Run(
        b"",
        [[Ran("prog", 1, b"bash: line 1: out/x.txt: No such file or directory\n", writes="out/x.txt")]],
        source="prog > out/x.txt",
    ),
    "hint-folder-for-file": Run(
        b"", [[Ran("cat src", 1, b"cat: src: Is a directory\n")]], source="cat src", files={"src/": b""}
    ),
    "hint-grep-of-a-folder": Run(
        b"", [[Ran("grep TODO src", 2, b"grep: src: Is a directory\n")]], source="grep TODO src", files={"src/": b""}
    ),
    "hint-not-executable": Run(
        b"",
        [[Ran("./run.sh", 126, b"bash: line 1: ./run.sh: Permission denied\n", kind=BASH)]],
        source="./run.sh",
        files={"run.sh": b"#!/bin/sh\n"},
    ),
    "hint-folder-as-program": Run(
        b"", [[Ran("./src", 126, b"bash: line 1: ./src: Is a directory\n", kind=BASH)]], source="./src", files={"src/": b""}
    ),
    "hint-near-program": Run(
        b"", [[Ran(None, 127, b"bash: line 1: gti: command not found\n", kind=BASH)]], programs=["git", "tic", "ls"]
    ),
    "hint-other-name": Run(
        b"", [[Ran(None, 127, b"bash: line 1: python: command not found\n", kind=BASH)]], programs=["python3", "brew"]
    ),
    "hint-installer": Run(
        b"3 files\n", [[Ran(None, 127, b"bash: line 1: pip: command not found\n", kind=BASH)]], programs=["brew", "zip"]
    ),
    "hint-installer-guessed": Run(b"", [[Ran("cowsay", 127, UNKNOWN_COWSAY, kind=StageKind.UNKNOWN)]], programs=["brew"]),
    "hint-no-installer": Run(b"", [[Ran("cowsay", 127, UNKNOWN_COWSAY, kind=StageKind.UNKNOWN)]]),
    "hint-archive": Run(gzip.compress(bytes(2000), mtime=0), [[Ran("cat a.tar.gz")]], programs=["tar", "gzip"]),
    "hint-pdf": Run(b"%PDF-1.4\n" + NOISE, [[Ran("cat a.pdf")]], programs=["pdftotext"]),
    "hint-sqlite": Run(b"SQLite format 3\0" + bytes(4080), [[Ran("cat a.db")]], programs=["sqlite3"]),
    "hint-no-reader": Run(b"SQLite format 3\0" + bytes(4080), [[Ran("cat a.db")]]),
    "own-error": Run(b"", [[Ran("topic", 2, b"[error] topic: usage: topic list|info|run\n", kind=StageKind.COMMAND)]]),
    "own-error-among-others": Run(
        b"",
        [
            [Ran("topic", 2, b"[error] topic: usage: topic list|info|run\n", kind=StageKind.COMMAND)],
            [Ran("ls x", 2, b"ls: cannot access 'x'\n")],
        ],
    ),
    "own-error-of-a-program": Run(b"", [[Ran("tool", 2, b"[error] tool: no\n")]]),
    # notes
    "notes": Run(
        b"still-here\n", notes=["the working directory was deleted: started in /tmp", "[job 1 ended with 0]", "two\nlines"]
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_text_is_the_golden_one(name: str, tmp_path: Path) -> None:
    run = CASES[name]
    result, machine = run.result(tmp_path), run.machine(tmp_path)
    kind = kind_of_stream(result.stdout, run.limits.lines, run.limits.encoding) if run.stdout else None
    text = present(result, run.limits, hints(result, kind, machine)).text.replace(str(tmp_path), "/spool") + "\n"
    file = GOLDEN / f"{name}.txt"
    if UPDATE:
        file.write_text(text, encoding="utf-8", newline="")
    assert text == file.read_bytes().decode("utf-8")


def test_no_golden_file_is_left_over() -> None:
    assert {file.stem for file in GOLDEN.iterdir()} == set(CASES)
