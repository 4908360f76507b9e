"""The provider's process: started, asked, dead, hanging, ended; and what it never does."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import aclosing
from pathlib import Path

import pytest

from agentclip.errors import ErrorCode, ModelError
from agentclip.messages import Conversation, UserMessage
from agentclip.model.base import Part, Reply, TextPart
from agentclip.model.protocol import ProviderSettings
from agentclip.model.remote import WorkerModel
from agentclip.model.worker_process import LITELLM_SETTINGS, Patience, WorkerProcess, worker_environment
from tests.fake_model.server import FakeModel, run, text

HELLO = Conversation("Be brief.", (UserMessage("hello"),), ())
KEY = "sk-very-secret-key"
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@pytest.fixture
def server() -> Iterator[FakeModel]:
    with FakeModel() as fake:
        yield fake


@pytest.fixture
async def start(server: FakeModel, tmp_path: Path) -> AsyncIterator[Callable[..., WorkerModel]]:
    models: list[WorkerModel] = []

    def start_model(patience: Patience | None = None, python: str = sys.executable) -> WorkerModel:
        settings = ProviderSettings("fake-model", server.url, key=KEY, key_variable="FAKE_API_KEY")
        models.append(WorkerModel("m", settings, tmp_path / "logs" / "worker.log", patience=patience, python=python))
        return models[-1]

    yield start_model
    for model in models:
        await model.aclose()


async def reply_of(model: WorkerModel) -> Reply:
    async with asyncio.timeout(60), aclosing(model.reply(HELLO)) as stream:
        parts: list[Part] = [part async for part in stream]
    assert isinstance(parts[-1], Reply)
    return parts[-1]


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not condition():  # noqa: ASYNC110  what is waited for happens in another process
            await asyncio.sleep(0.01)


def alive(pid: int) -> bool:
    """Whether the process runs; a zombie does not."""
    shown = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return bool(shown.strip()) and not shown.startswith("Z")


def pid_of(model: WorkerModel) -> int:
    assert model.worker_pid is not None
    return model.worker_pid


async def test_the_process_starts_without_a_loop_and_once(start: Callable[..., WorkerModel], server: FakeModel) -> None:
    model = start()
    await asyncio.to_thread(model.start)
    pid = pid_of(model)
    model.start()
    server.script += [text("a"), text("b")]
    await reply_of(model)
    await reply_of(model)
    assert model.worker_pid == pid


async def test_a_process_killed_while_idle_is_replaced_unseen(start: Callable[..., WorkerModel], server: FakeModel) -> None:
    model = start()
    server.script += [text("a"), text("b")]
    await reply_of(model)
    os.kill(pid_of(model), signal.SIGKILL)
    await until(lambda: model.worker_pid is None)
    assert (await reply_of(model)).message.text == "b"


async def test_a_process_that_dies_before_the_first_part_is_asked_again_once(
    start: Callable[..., WorkerModel], server: FakeModel
) -> None:
    model = start()
    server.script += [text("x", hang="start"), text("b")]
    task = asyncio.ensure_future(reply_of(model))
    await asyncio.to_thread(server.wait_for_requests, 1)
    os.kill(pid_of(model), signal.SIGKILL)
    assert (await task).message.text == "b"
    assert len(server.requests) == 2


async def test_a_process_that_dies_twice_is_one_clear_failure(start: Callable[..., WorkerModel], server: FakeModel) -> None:
    model = start()
    server.script.append(text("x", hang="start", repeat=True))
    task = asyncio.ensure_future(reply_of(model))
    for count in (1, 2):
        await asyncio.to_thread(server.wait_for_requests, count)
        os.kill(pid_of(model), signal.SIGKILL)
    with pytest.raises(
        ModelError, match=r"process ended \(killed by SIGKILL\); the next request starts another.*worker.log"
    ) as caught:
        await task
    assert caught.value.retryable
    assert len(server.requests) == 2


async def test_a_process_that_dies_in_the_middle_is_not_asked_again(
    start: Callable[..., WorkerModel], server: FakeModel
) -> None:
    model = start()
    server.script += [text("half", hang=True), text("b")]
    stream = model.reply(HELLO)
    assert isinstance(await anext(stream), TextPart)
    os.kill(pid_of(model), signal.SIGKILL)
    with pytest.raises(ModelError, match="killed by SIGKILL"):
        await anext(stream)
    assert len(server.requests) == 1
    assert (await reply_of(model)).message.text == "b"


async def test_a_process_that_cannot_start_says_where_its_log_is(start: Callable[..., WorkerModel], tmp_path: Path) -> None:
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\necho no module named agentclip >&2\nexit 3\n")
    broken.chmod(0o755)
    model = start(python=str(broken))
    with pytest.raises(ModelError, match=r"does not start \(exit status 3\)") as caught:
        await reply_of(model)
    assert caught.value.code is ErrorCode.INTERNAL
    assert not caught.value.retryable
    assert (tmp_path / "logs" / "worker.log").read_text() == "no module named agentclip\n" * 2


async def test_a_program_that_is_missing_is_one_clear_failure(start: Callable[..., WorkerModel], tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="does not start: No such file") as caught:
        await reply_of(start(python=str(tmp_path / "missing")))
    assert caught.value.code is ErrorCode.INTERNAL


async def test_a_process_that_hangs_is_killed_and_replaced(start: Callable[..., WorkerModel], server: FakeModel) -> None:
    model = start(Patience(silence_s=1.5))
    server.script += [text("a"), text("half", hang=True), text("b")]
    await reply_of(model)
    stream = model.reply(HELLO)
    await anext(stream)
    pid = pid_of(model)
    os.kill(pid, signal.SIGSTOP)
    with pytest.raises(ModelError, match="hangs and was ended"):
        await anext(stream)
    await until(lambda: not alive(pid))
    assert (await reply_of(model)).message.text == "b"


async def test_an_endpoint_that_thinks_for_long_is_no_hang(start: Callable[..., WorkerModel], server: FakeModel) -> None:
    model = start(Patience(silence_s=1.5))
    server.script += [text("a"), text("thought", delay_s=2.5)]
    await reply_of(model)
    assert (await reply_of(model)).message.text == "thought"


async def test_a_process_that_does_not_obey_a_cancel_is_killed(start: Callable[..., WorkerModel], server: FakeModel) -> None:
    model = start(Patience(stop_s=0.2))
    server.script.append(text("half", hang=True))
    stream = model.reply(HELLO)
    await anext(stream)
    pid = pid_of(model)
    os.kill(pid, signal.SIGSTOP)
    await stream.aclose()
    await until(lambda: not alive(pid))


async def test_a_cancel_closes_the_socket_at_once(start: Callable[..., WorkerModel], server: FakeModel) -> None:
    model = start(Patience(stop_s=0.5))
    for answer in (text("one two", hang=True), run("sleep 5", hang=True), text("never", hang="start")):
        count = len(server.requests) + 1
        server.script.append(answer)
        task = asyncio.ensure_future(reply_of(model))
        await asyncio.to_thread(server.wait_for_requests, count)
        task.cancel()
        cancelled_at = time.monotonic()
        assert await asyncio.to_thread(server.last.closed.wait, 10)
        assert server.last.closed_at is not None
        assert server.last.closed_at - cancelled_at < 5
    pid = pid_of(model)
    await asyncio.sleep(0.7)  # longer than stop_s: the process said Stopped each time, so nobody kills it
    assert model.worker_pid == pid


async def test_a_cancel_before_the_process_is_ready_is_obeyed(start: Callable[..., WorkerModel], server: FakeModel) -> None:
    model = start()
    server.script.append(text("b", repeat=True))
    stream = model.reply(HELLO)
    task = asyncio.ensure_future(anext(stream))
    await until(lambda: model.worker_pid is not None)
    task.cancel()
    await asyncio.wait([task])
    await stream.aclose()
    assert (await reply_of(model)).message.text == "b"


async def test_requests_side_by_side_do_not_mix(start: Callable[..., WorkerModel], server: FakeModel) -> None:
    model = start()
    server.script.append(lambda body: text(body["messages"][-1]["content"] * 5, chunk_delay_s=0.005, repeat=True))

    async def ask(number: int) -> str:
        conversation = Conversation("", (UserMessage(f"question {number};"),), ())
        parts = [part async for part in model.reply(conversation)]
        assert isinstance(parts[-1], Reply)
        return parts[-1].message.text

    assert await asyncio.gather(*map(ask, range(6))) == [f"question {n};" * 5 for n in range(6)]


Ending = Callable[[WorkerModel], Awaitable[object]]


async def ask_and_hang(model: WorkerModel) -> None:
    await anext(model.reply(HELLO))


async def stop_it(model: WorkerModel) -> None:
    await ask_and_hang(model)
    os.kill(pid_of(model), signal.SIGSTOP)


async def only_start(model: WorkerModel) -> None:
    model.start()


@pytest.mark.parametrize("before", [ask_and_hang, stop_it, only_start], ids=lambda ending: ending.__name__)
async def test_closing_ends_the_process_soon(start: Callable[..., WorkerModel], server: FakeModel, before: Ending) -> None:
    server.script.append(text("half", hang=True))
    model = start()
    await before(model)
    pid = pid_of(model)
    began = time.monotonic()
    await model.aclose()
    assert time.monotonic() - began < 10
    assert not alive(pid)
    with pytest.raises(ModelError, match="closed"):
        await reply_of(model)


async def test_a_reply_that_is_open_when_the_model_closes_fails_and_starts_nothing(
    start: Callable[..., WorkerModel], server: FakeModel
) -> None:
    server.script.append(text("x", hang="start"))
    model = start()
    task = asyncio.ensure_future(reply_of(model))
    await asyncio.to_thread(server.wait_for_requests, 1)
    await model.aclose()
    with pytest.raises(ModelError) as caught:
        await task
    assert caught.value.code is ErrorCode.CANCELLED
    assert model.worker_pid is None


PARENT = """
import asyncio, os, sys
from pathlib import Path
from agentclip.messages import Conversation, UserMessage
from agentclip.model.catalog import ModelChoice, make_model
async def main():
    model = make_model(ModelChoice("m", sys.argv[1]), {}, Path(sys.argv[2]))
    stream = model.reply(Conversation("", (UserMessage("hello"),), ()))
    await anext(stream)
    if sys.argv[3] == "idle":
        async for _ in stream: pass
    print(model.worker_pid, flush=True)
    if sys.argv[3] != "ends":
        os.kill(os.getpid(), 9)
    async for _ in stream: pass
    await model.aclose()
asyncio.run(main())
"""


def run_parent(server: FakeModel, tmp_path: Path, how: str) -> subprocess.CompletedProcess[str]:
    arguments = [sys.executable, "-W", "error", "-X", "dev", "-c", PARENT, server.url, str(tmp_path / "worker.log"), how]
    return subprocess.run(arguments, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("worker", ["streaming", "idle"])
async def test_the_death_of_the_parent_never_leaves_the_process(server: FakeModel, tmp_path: Path, worker: str) -> None:
    server.script.append(text("half", hang=worker == "streaming"))
    done = await asyncio.to_thread(run_parent, server, tmp_path, worker)
    assert done.returncode == -signal.SIGKILL
    await until(lambda: not alive(int(done.stdout)))
    assert await asyncio.to_thread((server.last.closed if worker == "streaming" else server.last.answered).wait, 10)


async def test_nothing_is_written_to_the_parents_stderr(
    server: FakeModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text("import sys\nprint('noise')\nprint('noise', file=sys.stderr)\n")
    monkeypatch.setenv("PYTHONPATH", f"{site}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    server.script.append(text("whole"))
    done = await asyncio.to_thread(run_parent, server, tmp_path, "ends")
    assert (done.returncode, done.stderr) == (0, "noise\n")  # the parent's own start, not the worker's
    assert (tmp_path / "worker.log").read_text() == "noise\n"


@linux_only
async def test_the_key_is_in_neither_arguments_nor_environment_nor_log(
    start: Callable[..., WorkerModel], server: FakeModel, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for variable in ("OPENAI_API_KEY", "FAKE_API_KEY"):
        monkeypatch.setenv(variable, KEY)
    server.key = KEY
    server.script.append(text("in"))
    model = start()
    model.start()
    proc = Path(f"/proc/{pid_of(model)}")
    assert KEY.encode() not in (proc / "cmdline").read_bytes()
    await reply_of(model)
    assert KEY not in (tmp_path / "logs" / "worker.log").read_text()
    environment = worker_environment({"OPENAI_API_KEY": KEY, "FAKE_API_KEY": KEY, "PATH": "/bin"}, "FAKE_API_KEY")
    assert {name for name in environment if name not in LITELLM_SETTINGS} == {"PATH"}


@linux_only
def test_a_process_of_the_same_user_cannot_read_its_memory() -> None:
    is_dumpable = "ctypes.CDLL(None).prctl(3, 0, 0, 0, 0)"
    code = f"import ctypes; from agentclip.model.worker import make_undumpable; make_undumpable(); print({is_dumpable})"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "0\n"


@linux_only
async def test_the_process_has_its_own_session_and_no_descriptor_of_ours(
    start: Callable[..., WorkerModel], server: FakeModel, tmp_path: Path
) -> None:
    server.script.append(text("a"))
    model = start()
    await reply_of(model)
    pid = pid_of(model)
    assert os.getsid(pid) == pid
    targets = []
    for name in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile
            targets.append(os.readlink(f"/proc/{pid}/fd/{name}"))
    assert not [target for target in targets if target.startswith(("/dev/pts", "/dev/tty"))]
    assert os.readlink(f"/proc/{pid}/fd/2") == str(tmp_path / "logs" / "worker.log")
    assert os.readlink(f"/proc/{pid}/cwd") == "/"


async def test_the_log_is_private_and_does_not_grow_for_ever(start: Callable[..., WorkerModel], tmp_path: Path) -> None:
    log = tmp_path / "logs" / "worker.log"
    model = start()
    model.start()
    assert (log.stat().st_mode & 0o777, log.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    await model.aclose()
    log.write_bytes(b"x" * 2_000_000)
    settings = ProviderSettings("m", "http://127.0.0.1:9/v1")
    await WorkerProcess(settings, log, Patience(), sys.executable).close()
    assert log.stat().st_size == 0
