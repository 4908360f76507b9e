"""Thirty outputs as commands really print them, made by small generators: the same bytes every time."""

from __future__ import annotations

import json
import random
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Output:
    """What one command printed."""

    command: str
    stdout: bytes
    stderr: bytes = b""
    status: int = 0


def outputs() -> Iterator[tuple[str, Output]]:
    """Name and output, in a fixed order."""
    for name, make in _GENERATORS.items():
        yield name, make(random.Random(name))


_WORDS = (
    "cache", "parser", "socket", "thread", "index", "buffer", "signal", "handle", "query", "token", "reader", "writer",
    "config", "stream", "kernel",
)  # fmt: skip
_CJK = "日本語の文字列を含む長い出力ですから一行ごとに数えます中文输出也很常见하지만한국어도있습니다"


def _lines(count: int, line: Callable[[int], str]) -> bytes:
    return "".join(f"{line(number)}\n" for number in range(1, count + 1)).encode()


def _path(dice: random.Random) -> str:
    return "/".join(dice.choice(_WORDS) for _ in range(dice.randint(1, 4))) + dice.choice((".py", ".c", ".md", ".json"))


def _passing_tests(dice: random.Random) -> Output:
    body = _lines(400, lambda n: f"tests/test_{dice.choice(_WORDS)}.py::test_{dice.choice(_WORDS)}_{n} PASSED [{n // 4:3}%]")
    return Output("pytest -v", b"===== test session starts =====\n" + body + b"===== 400 passed in 12.31s =====\n")


def _failing_tests(dice: random.Random) -> Output:
    dots = _lines(20, lambda n: "." * 72 + f" [{n * 5:3}%]")
    trace = _lines(60, lambda n: f"tests/test_{dice.choice(_WORDS)}.py:{n}: AssertionError: {n} != {n + 1}")
    return Output("pytest -q", dots + trace + b"3 failed, 1437 passed in 61.20s\n", status=1)


def _compiler(dice: random.Random) -> Output:
    errors = _lines(
        90, lambda n: f"src/{_path(dice)}:{n}:9: warning: unused variable '{dice.choice(_WORDS)}' [-Wunused]\n    9 |   int x;"
    )
    return Output("make -j8", _lines(300, lambda n: f"cc -O2 -c -o build/{n}.o src/{_path(dice)}"), errors, 2)


def _cargo(dice: random.Random) -> Output:
    said = _lines(180, lambda n: f"   Compiling {dice.choice(_WORDS)}-{dice.choice(_WORDS)} v0.{n}.{n % 7}")
    return Output("cargo build", b"", said + b"    Finished `dev` profile in 48.02s\n")


def _npm(dice: random.Random) -> Output:
    warnings = _lines(40, lambda n: f"npm warn deprecated {dice.choice(_WORDS)}@{n}.0.1: no longer supported")
    return Output("npm ci", b"\nadded 812 packages in 21s\n", warnings)


def _progress(dice: random.Random) -> Output:
    del dice
    bars = b"".join(b"\r%3d%% |%-50s| %d/5000" % (n // 50, b"#" * (n // 100), n) for n in range(0, 5001, 5))
    return Output("python train.py", bars + b"\ndone\n")


def _download(dice: random.Random) -> Output:
    bars = b"".join(
        b"\r %3d 48.2M  %3d %5.1fM    0     0  %d.0M      0  0:00:12" % (n, n, n * 0.48, dice.randint(2, 9)) for n in range(101)
    )
    return Output("curl -O http://127.0.0.1/a.iso", b"", bars + b"\n")


def _colours(dice: random.Random) -> Output:
    return Output(
        "ls --color=always -R",
        _lines(250, lambda _: f"\x1b[01;34m{dice.choice(_WORDS)}\x1b[0m  \x1b[01;32m{dice.choice(_WORDS)}.sh\x1b[0m\x1b[K"),
    )


def _ls(dice: random.Random) -> Output:
    return Output(
        "ls -R",
        b"".join(
            b"./%s:\n" % _path(dice).encode() + _lines(20, lambda _: _path(dice).replace("/", "_")) + b"\n" for _ in range(200)
        ),
    )


def _ls_long(dice: random.Random) -> Output:
    return Output(
        "ls -l", _lines(30, lambda n: f"-rw-r--r-- 1 dev dev {dice.randint(10, 99999):8} May {n:2} 12:{n:02} {_path(dice)}")
    )


def _git_log(dice: random.Random) -> Output:
    def commit(number: int) -> str:
        head = f"commit {dice.getrandbits(160):040x}\nAuthor: Dev <dev@example.org>\nDate:   Mon May {number % 28 + 1}\n"
        return f"{head}\n    {' '.join(dice.choices(_WORDS, k=8))}\n"

    return Output("git log", _lines(500, commit))


def _git_diff(dice: random.Random) -> Output:
    return Output(
        "git diff", _lines(350, lambda n: f"{dice.choice(' +-')}    {dice.choice(_WORDS)} = {dice.choice(_WORDS)}({n})")
    )


def _git_status(dice: random.Random) -> Output:
    return Output("git status --short", _lines(25, lambda _: f" M {_path(dice)}"))


def _json_line(dice: random.Random) -> Output:
    rows = [{"id": n, "name": dice.choice(_WORDS), "value": dice.random()} for n in range(2000)]
    return Output("curl -s http://127.0.0.1/api", json.dumps(rows).encode())


def _json_pretty(dice: random.Random) -> Output:
    rows = [{"id": n, "name": dice.choice(_WORDS), "tags": dice.choices(_WORDS, k=3)} for n in range(300)]
    return Output("jq . data.json", json.dumps(rows, indent=2).encode() + b"\n")


def _json_small(dice: random.Random) -> Output:
    return Output("cat package.json", json.dumps({word: dice.randint(1, 9) for word in _WORDS}, indent=2).encode() + b"\n")


def _csv(dice: random.Random) -> Output:
    return Output("cat data.csv", _lines(5000, lambda n: f"{n},{dice.choice(_WORDS)},{dice.random():.6f},{dice.random():.6f}"))


def _sql(dice: random.Random) -> Output:
    return Output(
        "sqlite3 a.db .dump", _lines(800, lambda n: f"INSERT INTO t VALUES({n},'{' '.join(dice.choices(_WORDS, k=12))}');")
    )


def _log(dice: random.Random) -> Output:
    def line(number: int) -> str:
        level = dice.choices(("INFO", "WARN", "ERROR"), (90, 8, 2))[0]
        when = f"2026-05-01T12:{number // 60 % 60:02}:{number % 60:02}Z"
        return f"{when} {level} {dice.choice(_WORDS)} took {dice.randint(1, 900)} ms"

    return Output("cat app.log", _lines(5000, line))


def _grep(dice: random.Random) -> Output:
    return Output("grep -rn TODO", _lines(120, lambda n: f"{_path(dice)}:{n}:    # TODO {' '.join(dice.choices(_WORDS, k=6))}"))


def _minified(dice: random.Random) -> Output:
    return Output("cat app.min.js", ";".join(f"var {dice.choice(_WORDS)}{n}={n}" for n in range(20_000)).encode())


def _cjk(dice: random.Random) -> Output:
    return Output("cat notes.txt", _lines(400, lambda n: f"{n} {''.join(dice.choices(_CJK, k=60))}"))


def _gb18030(dice: random.Random) -> Output:
    text = "\n".join("".join(dice.choices("中文输出也很常见价格数量", k=40)) for _ in range(100))
    return Output("type notes.txt", text.encode("gb18030") + b"\n")


def _picture(dice: random.Random) -> Output:
    return Output("cat photo.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + dice.randbytes(180_000))


def _archive(dice: random.Random) -> Output:
    return Output("cat a.gz", b"\x1f\x8b\x08\0" + zlib.compress(dice.randbytes(50_000)))


def _traceback(dice: random.Random) -> Output:
    frames = _lines(
        40, lambda n: f'  File "/srv/{_path(dice)}", line {n}, in {dice.choice(_WORDS)}\n    {dice.choice(_WORDS)}()'
    )
    return Output("python app.py", b"started\n", b"Traceback (most recent call last):\n" + frames + b"ValueError: no\n", 1)


def _not_found(dice: random.Random) -> Output:
    del dice
    return Output("pip install x", b"", b"bash: line 1: pip: command not found\n", 127)


def _nothing(dice: random.Random) -> Output:
    del dice
    return Output("mkdir -p build", b"")


def _count(dice: random.Random) -> Output:
    return Output("wc -l app.log", b"%d app.log\n" % dice.randint(1000, 9999))


def _help(dice: random.Random) -> Output:
    return Output(
        "tool --help", _lines(120, lambda n: f"  --{dice.choice(_WORDS)}-{n:<4} {' '.join(dice.choices(_WORDS, k=9))}")
    )


def _emoji(dice: random.Random) -> Output:
    return Output("yarn", _lines(150, lambda n: f"➤ YN{n:04}: ✅ 👩\u200d💻 {dice.choice(_WORDS)} 🚀 done"))


_GENERATORS: dict[str, Callable[[random.Random], Output]] = {
    "tests that pass": _passing_tests, "tests that fail": _failing_tests, "compiler warnings": _compiler, "cargo build": _cargo,
    "npm ci": _npm, "progress bar": _progress, "download": _download, "colours": _colours, "ls -R": _ls, "ls -l": _ls_long,
    "git log": _git_log, "git diff": _git_diff, "git status": _git_status, "JSON in one line": _json_line,
    "JSON, pretty": _json_pretty, "JSON, small": _json_small, "CSV": _csv, "SQL dump": _sql, "log": _log, "grep -rn": _grep,
    "minified code": _minified, "CJK text": _cjk, "GB18030 text": _gb18030, "picture": _picture, "archive": _archive,
    "traceback": _traceback, "not found": _not_found, "nothing": _nothing, "a count": _count, "help text": _help,
    "emoji": _emoji,
}  # fmt: skip
