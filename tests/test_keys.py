"""The key never enters a process that starts commands, however the program was started."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import agentclip
from agentclip.keys import HANDED_OVER, Keys, config_files, key_variables, own_command_line, take
from agentclip.paths import config_file

SECRET = "ac-secret-222"
SCRIPT = "import sys; sys.argv[0] = 'agentclip'; from agentclip.__main__ import main; sys.exit(main())"
LOOK = "cat /proc/$PPID/environ /proc/$PPID/cmdline | tr '\\0' '\\n'; env; echo looked"
STARTS = {
    "as a module": [sys.executable, "-m", "agentclip"],
    "as a console script": [os.path.join(os.path.dirname(sys.executable), "agentclip")],
    "as code": [sys.executable, "-c", SCRIPT],
}
linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def output_of(*argv: str, **env: str) -> str:
    """What comes of `agentclip exec LOOK` or another command line; stderr must be empty."""
    done = subprocess.run(argv, env={**os.environ, **env}, capture_output=True, timeout=60, check=False)
    assert done.stderr == b""
    return done.stdout.decode("utf-8", "replace")


@linux
@pytest.mark.parametrize("start", STARTS.values(), ids=STARTS.keys())
def test_a_command_finds_no_key_in_the_process_that_started_it(start: list[str]) -> None:
    shown = output_of(*start, "exec", LOOK, OPENAI_API_KEY=SECRET, LANG="C.UTF-8", MY_OTHER_API_KEY="ac-secret-111")
    assert "looked" in shown
    assert "LANG=C.UTF-8" in shown
    assert "ac-secret" not in shown


@linux
def test_a_key_variable_of_ones_own_leaves_too() -> None:
    folder = Path(os.environ["XDG_CONFIG_HOME"]) / "agentclip"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text('[model]\napi_key_env = "CORP_TOKEN"\n')
    assert SECRET not in output_of(*STARTS["as a module"], "exec", "tr '\\0' '\\n' < /proc/$PPID/environ", CORP_TOKEN=SECRET)


@linux
def test_a_variable_that_commands_shall_see_stays() -> None:
    shown = output_of(
        *STARTS["as a module"], "exec", "printenv HF_API_KEY", HF_API_KEY="hf", AGENTCLIP_PASS_ENV="HF_API_KEY, X"
    )
    assert shown.startswith("hf\n")


def test_the_same_process_goes_on_with_its_arguments_and_its_stdin() -> None:
    command = [*STARTS["as a module"], "exec", "--file", "-"]
    process = subprocess.Popen(
        command, env={**os.environ, "GROQ_API_KEY": SECRET}, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    shown, _ = process.communicate(b"echo 'a  b' $PPID", timeout=60)
    assert shown.decode().splitlines()[0] == f"a  b {process.pid}"


@pytest.mark.parametrize("descriptor", ["", "1", "99", "-3", "x", "0x3"])
def test_the_private_variable_set_by_somebody_else_replaces_nothing(descriptor: str) -> None:
    environ = {HANDED_OVER: descriptor, "OPENAI_API_KEY": SECRET, "LANG": "C"}
    keys = take(environ, ["/bin/false"])
    assert dict(keys) == {"OPENAI_API_KEY": SECRET}
    assert environ == {"LANG": "C"}


def test_a_python_that_cannot_be_started_again_still_takes_the_keys_out() -> None:
    environ = {"OPENAI_API_KEY": SECRET, "XAI_API_KEY": " ", "LANG": "C"}
    assert dict(take(environ, ["/no/such/python"])) == {"OPENAI_API_KEY": SECRET}
    assert environ == {"XAI_API_KEY": " ", "LANG": "C"}


def test_a_program_that_is_not_ours_is_never_started_again() -> None:
    assert own_command_line(None) is None
    assert own_command_line("agentclip.__main__") == [sys.executable, *sys.orig_argv[1:]]


def test_the_configuration_is_looked_for_where_it_is() -> None:
    assert str(config_file()) in config_files(os.environ)


def test_taking_the_keys_loads_almost_nothing() -> None:
    code = "import sys; before = set(sys.modules); import agentclip.keys; print(*(set(sys.modules) - before))"
    place = Path(agentclip.__file__).parent.parent
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True, cwd=place)
    assert set(done.stdout.split()) & {"re", "json", "typing", "pathlib", "ctypes", "tomllib", "click", "contextlib"} == set()


def test_without_keys_nothing_is_taken() -> None:
    environ = {"LANG": "C", "OPENAI_API_KEY": ""}
    assert key_variables(environ) == ()
    assert not take(environ, ["/bin/false"])


def test_keys_are_neither_shown_nor_pickled() -> None:
    keys = Keys({"OPENAI_API_KEY": SECRET})
    assert SECRET not in f"{keys!r} {keys}"
    with pytest.raises(TypeError):
        pickle.dumps(keys)
