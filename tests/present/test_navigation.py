"""The next step after a failure: real programs say what went wrong, and what a hint advises exists as written."""

from __future__ import annotations

import re
import shlex
import sqlite3
import stat
import subprocess
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from agentclip.present.binary import Kind
from agentclip.present.formats import READERS, reading
from agentclip.present.machine import MAX_NAMES, Machine
from agentclip.present.navigation import MAX_HINTS, hints
from agentclip.present.packages import SAME_ARGUMENTS, installing, other_name
from tests.cases.lines import Lines, lines, linked_programs, program_folder
from tests.present.runs import Ran, Run

COREUTILS = ("bash", "sh", "cat", "ls", "head", "grep", "mkdir", "touch", "chmod", "env", "timeout", "wc", "true", "base64")
ADVICE = re.compile(r"\[hint\] [^\n]*\. Use: ([^\n]+)")


def files(work: Path) -> None:
    """What the lines below find in their directory."""
    work.mkdir()
    for name in ("config.yaml", "README.md", "my notes.txt", "a.txt", "-dash.txt"):
        (work / name).write_text("text\n")
    (work / "src" / "pkg").mkdir(parents=True)
    (work / "src" / "main.py").write_text("print('hi')\n")
    (work / "src" / "-odd name").mkdir()
    (work / "asks.sh").write_text("cat confg.yaml\n")
    (work / "run.sh").write_text("#!/bin/sh\necho ran\n")


def hints_in(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("[hint] ")]


@pytest.fixture
def at(tmp_path: Path) -> Path:
    files(tmp_path / "work")
    return tmp_path


MISSING = "No such file or directory"


@pytest.mark.parametrize(
    ("line", "said", "hint"),
    [
        ("cat confg.yaml", MISSING, "did you mean config.yaml?"),
        ("cat readme.md", MISSING, "did you mean README.md?"),
        ("cat './my note.txt'", MISSING, "did you mean './my notes.txt'?"),
        ("head -n 5 confg.yaml | grep x", MISSING, "did you mean config.yaml?"),
        ("cat confg.yaml || echo fallback", MISSING, "did you mean config.yaml?"),
        ("cat confg.yaml 2>&1 | head -n 3", MISSING, "did you mean config.yaml?"),
        ("cat < conf.yaml", MISSING, "did you mean config.yaml?"),
        ("for f in confg.yaml; do cat $f; done", MISSING, "did you mean config.yaml?"),
        ("python3 src/mian.py", MISSING, "did you mean src/main.py?"),
        ("python3 -c \"open('confg.yaml')\"", MISSING, "did you mean config.yaml?"),
        ("ls srcc/pkg", MISSING, "did you mean src/pkg/?"),
        ("ls srcc/nothing/at/all", MISSING, "did you mean src/?"),
        ("cd scr && ls", MISSING, "did you mean src/?"),
        ("cd src && cat mian.py", MISSING, "did you mean main.py?"),
        ("grep x src", "Is a directory", "src is a directory. Use: grep -r x src"),
        ("cat src", "Is a directory", "src is a directory. Use: ls src"),
        ("cat 'src/-odd name'", "Is a directory", "'src/-odd name' is a directory. Use: ls 'src/-odd name'"),
        ("echo x > src", "Is a directory", "src is a directory. Use: ls src"),
        ("./src", "Is a directory", "./src is a directory. Use: ls ./src or cd ./src"),
        ("./run.sh", "Permission denied", "./run.sh is not executable. Use: chmod +x ./run.sh"),
        ("for i in 1; do ./run.sh; done", "Permission denied", "./run.sh is not executable. Use: chmod +x ./run.sh"),
        ("echo x > out/deep/x.txt", MISSING, "the folder for it is missing. Use: mkdir -p out/deep"),
        ("mkdir out/deep", MISSING, "the folder for it is missing. Use: mkdir -p out/deep"),
        ("touch out/x", MISSING, "the folder for it is missing. Use: mkdir -p out"),
    ],
)
def test_one_line_says_the_next_step_beside_the_programs_own_text(line: str, said: str, hint: str, at: Path) -> None:
    with lines(at) as session:
        text = session.read(line)
    assert said in text
    assert hints_in(text) == [f"[hint] {hint}"]
    assert text.splitlines()[-2] == f"[hint] {hint}"


@pytest.mark.parametrize(
    "line",
    [
        "cat nothing-like-it",
        "cat b.txt",
        "ls *.nope",
        "false",
        "grep zzz config.yaml",
        "rm src",
        "(cd src && cat confg.yaml)",
        "cat mian.py; cd src",
        "sh asks.sh",
        "python3 -c \"open('/nowhere/' + 'confg' + '.yaml')\"",
        "cat config.yaml",
        "sh -c 'echo \"tool: config.yml: No such file or directory\" >&2'",
        "echo 'cat: confg.yaml: No such file or directory'",
        "cat src/main.py | head -n 1",
    ],
)
def test_nothing_is_said_where_nothing_is_known(line: str, at: Path) -> None:
    with lines(at) as session:
        assert hints_in(session.read(line)) == []


def missing_program(at: Path, line: str, *programs: str) -> str:
    path = linked_programs(at / "real", *COREUTILS)
    fake = program_folder(at / "fake", *programs)
    with lines(at, env={"PATH": f"{path}:{fake}"}) as session:
        return session.read(line)


@pytest.mark.parametrize(
    ("line", "programs", "hint"),
    [
        ("for i in 1; do gti; done", ("git",), "did you mean git?"),
        ("sh -c 'gti status'", ("git",), "did you mean git?"),
        ("for i in 1; do topics list; done", (), "did you mean topic?"),
        ("env gti", ("git",), "did you mean git?"),
        ("timeout 5 gti", ("git",), "did you mean git?"),
        ("for i in 1; do python x.py; done", ("python3",), "python is not here, python3 is. Use: python3"),
        ("for i in 1; do pip list; done", ("pip3",), "pip is not here, pip3 is. Use: pip3"),
        ("for i in 1; do node -v; done", ("nodejs",), "node is not here, nodejs is. Use: nodejs"),
        ("docker ps", ("podman",), "docker is not here, podman is. Use: podman"),
        ("for i in 1; do docker ps; done", ("podman", "brew"), "docker is not here, podman is. Use: podman"),
        ("for i in 1; do ruff .; done", ("pip",), "ruff is not installed. Use: pip install ruff"),
        ("for i in 1; do eslint .; done", ("npm", "brew"), "eslint is not installed. Use: npm install -g eslint"),
        ("for i in 1; do pip list; done", ("brew", "zip"), "pip is not installed. Use: brew install python"),
        ("cowsay hi", ("brew",), "cowsay is not installed (the package's name is a guess). Use: brew install cowsay"),
    ],
)
def test_a_missing_program_is_told_by_what_is_here(line: str, programs: tuple[str, ...], hint: str, at: Path) -> None:
    text = missing_program(at, line, *programs)
    assert re.search(r"not found|No such file|unknown command", text)
    assert hints_in(text) == [f"[hint] {hint}"]


@pytest.mark.parametrize(
    ("line", "programs"),
    [
        ("for i in 1; do zzqqxx; done", ()),
        ("zzqqxx", ()),
        ("python x.py", ("python3",)),  # our own line names it already
        ("toipc", ()),
        ("for i in 1; do ruff .; done", ("npm",)),
    ],
)
def test_no_installer_and_no_other_name_is_invented(line: str, programs: tuple[str, ...], at: Path) -> None:
    assert hints_in(missing_program(at, line, *programs)) == []


def test_a_near_name_is_one_that_runs(at: Path) -> None:
    broken = at / "fake"
    program_folder(broken, "git")
    (broken / "git").chmod(0o644)
    assert hints_in(missing_program(at, "sh -c gti")) == []
    program_folder(broken, "git")
    assert hints_in(missing_program(at, "sh -c gti")) == ["[hint] did you mean git?"]


def sample(kind: str, folder: Path) -> str:
    """A small file of that kind, made by real programs."""
    work = folder / "work"
    match kind:
        case "sqlite":
            with sqlite3.connect(work / "data.db") as base:
                base.execute("create table t(a)")
            return "data.db"
        case "zip":
            with zipfile.ZipFile(work / "x.zip", "w") as file:
                file.write(work / "a.txt", "a.txt")
            return "x.zip"
        case "pdf":
            (work / "x.pdf").write_bytes(b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n" + bytes(range(128, 256)) * 9)
            return "x.pdf"
        case "elf":
            return "/bin/ls"
        case _:
            line = {"tar.gz": "tar -czf x.tar.gz src", "tar": "tar -cf x.tar src", "gz": "gzip -k a.txt", "xz": "xz -k a.txt"}
            subprocess.run(["bash", "-c", line[kind]], cwd=work, check=True)
            return {"gz": "a.txt.gz", "xz": "a.txt.xz"}.get(kind, f"x.{kind}")


@pytest.mark.parametrize(
    ("kind", "programs", "advice"),
    [
        ("tar.gz", ("tar", "gzip"), "tar -tf {}"),
        ("tar", ("tar",), "tar -tf {}"),
        ("gz", ("gzip",), "gzip -dc {}"),
        ("xz", ("xz",), "xz -dc {}"),
        ("zip", ("unzip",), "unzip -l {}"),
        ("zip", ("python3",), "python3 -m zipfile -l {}"),
        ("sqlite", ("sqlite3",), "sqlite3 {} .schema"),
        ("pdf", ("pdftotext",), "pdftotext {} -"),
        ("elf", ("readelf",), "readelf -h {}"),
        ("sqlite", (), None),
        ("pdf", ("tar", "unzip"), None),
    ],
)
def test_cat_of_a_binary_names_the_command_that_reads_it_here(
    kind: str, programs: tuple[str, ...], advice: str | None, at: Path
) -> None:
    name = sample(kind, at)
    path = linked_programs(at / "real", *COREUTILS)
    with lines(at, env={"PATH": f"{path}:{program_folder(at / 'fake', *programs)}"}) as session:
        text = session.read(f"cat {name}")
    assert f"Use: cat -b {name}\n" in text
    assert [line.partition(". Use: ")[2] for line in hints_in(text)] == ([advice.format(name)] if advice else [])


ADVISING = [
    "cat src",
    "grep x src",
    "./src",
    "./run.sh",
    "echo x > out/deep/x.txt",
    "mkdir out/deep",
    "cat data.db",
    "cat x.tar.gz",
    "cat x.zip",
    "gzip -c a.txt",
    "for i in 1; do zzqqxx; done",
    "for i in 1; do docker2 ps; done",
    "ruff .",
]


@pytest.mark.parametrize("line", ADVISING)
def test_every_command_of_a_hint_exists_as_written(line: str, at: Path) -> None:
    for kind in ("sqlite", "tar.gz", "zip"):
        sample(kind, at)
    with lines(at) as session:
        for command in advised(session.read(line)):
            assert_runs(command, session, at / "work")


def advised(text: str) -> list[str]:
    return [command for advice in ADVICE.findall(text) for command in advice.split(" or ")]


def assert_runs(command: str, session: Lines, work: Path) -> None:
    """A harmless one works; of an installer the program is there."""
    words = shlex.split(command)
    if "install" in words or words[:2] == ["apk", "add"]:
        assert subprocess.run(["bash", "-c", f"command -v {words[0]}"], check=False).returncode == 0
        return
    result, shown = session.run(command)
    assert result.status in {0, 1}, shown.text
    assert hints_in(shown.text) == [], shown.text
    if words[0] == "chmod":
        assert (work / words[2]).stat().st_mode & stat.S_IXUSR


def test_every_table_names_programs_by_one_word(tmp_path: Path) -> None:
    everything = Machine(
        (), str(program_folder(tmp_path / "bin", *{line.split()[0] for r in READERS.values() for line in r})), "/"
    )
    for extension, readers in READERS.items():
        assert all(line.count("{}") == 1 for line in readers)
        assert reading(Kind(extension, image=False), "x", everything) == readers[0].format("x")
        assert reading(Kind(extension, image=False), "x", Machine((), "/nowhere", "/")) is None
    for word, others in SAME_ARGUMENTS.items():
        assert word not in others
        machine = Machine((), str(program_folder(tmp_path / word, *others)), "/")
        assert other_name(word, machine) == others[0]


@pytest.mark.parametrize(
    ("installer", "line"),
    [("brew", "brew install cowsay"), ("apt-get", "apt-get install -y cowsay"), ("apk", "apk add cowsay"), ("pip", None)],
)
def test_installers_are_named_only_where_they_are(installer: str, line: str | None, tmp_path: Path) -> None:
    machine = Machine((), str(program_folder(tmp_path / "bin", installer, "sudo")), "/")
    found = installing("cowsay", machine)
    assert found in {line, f"sudo -n {line}"}
    assert installing("cowsay", Machine((), "/nowhere", "/")) is None


def test_a_large_folder_is_looked_at_in_part(tmp_path: Path) -> None:
    for number in range(MAX_NAMES + 500):
        (tmp_path / f"file{number:05}.log").touch()
    near = Machine((), "", str(tmp_path)).near_files("file0001.log")
    assert 1 <= len(near) <= 3


@given(
    names=st.lists(st.text(st.characters(exclude_characters="/\0", codec="utf-8"), min_size=1, max_size=30), max_size=8),
    said=st.binary(max_size=300),
    source=st.text(max_size=60),
    status=st.sampled_from([0, 1, 2, 126, 127]),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
def test_whatever_is_said_hints_are_few_clean_lines(
    tmp_path: Path, names: list[str], said: bytes, source: str, status: int
) -> None:
    stderr = b"".join(f"cat: {name}x: {MISSING}\n".encode() for name in names) + said
    run = Run(b"", [[Ran("cat", status, stderr)]], source=source + " ".join(f"{name}x" for name in names))
    machine = run.machine(tmp_path)
    for name in names:
        if name not in {".", ".."}:
            (tmp_path / "work").mkdir(exist_ok=True)
            (tmp_path / "work" / name).touch()
    found = hints(run.result(tmp_path), None, machine)
    assert len(found) <= MAX_HINTS
    assert all(hint.isprintable() and hint.startswith("[hint] ") and len(hint) <= 400 for hint in found)


def test_a_name_that_would_break_its_line_is_not_advised(tmp_path: Path) -> None:
    said = "touch: cannot touch 'a\u2028b/c': No such file or directory\n".encode()
    run = Run(b"", [[Ran("touch x", 1, said)]], source="touch a\u2028b/c")
    assert hints(run.result(tmp_path), None, run.machine(tmp_path)) == ()


def test_a_spool_or_folder_that_is_gone_gives_no_hint(tmp_path: Path) -> None:
    run = Run(b"", [[Ran("cat confg.yaml", 1, b"cat: confg.yaml: No such file or directory\n")]], source="cat confg.yaml")
    result = run.result(tmp_path)
    assert hints(result, None, Machine((), "", "/nowhere")) == ()
    (tmp_path / "cmd-3.0.err").unlink()
    assert hints(result, None, run.machine(tmp_path)) == ()
    assert hints(replace(result, stages=()), None, run.machine(tmp_path)) == ()
