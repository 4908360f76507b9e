"""Local servers that answer now, told from ports where nothing or something else listens."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from agentclip.model.nearby import answering, lists_models
from agentclip.model.providers import Provider
from tests.fake_model.server import FakeModel

PAGE = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 15\r\n\r\n<h1>hello</h1>\n"
REFUSAL = b'HTTP/1.1 404 Not Found\r\nContent-Length: 11\r\n\r\n{"data": 1}'


@pytest.fixture
def listener() -> Iterator[Callable[[bytes | None], str]]:
    """A port that answers whoever connects with these bytes, or with silence for None; its address."""
    sockets: list[socket.socket] = []

    def listen(answer: bytes | None) -> str:
        server = socket.create_server(("127.0.0.1", 0))
        sockets.append(server)

        def serve() -> None:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            sockets.append(connection)
            if answer is not None:
                connection.recv(4096)
                connection.sendall(answer)
                connection.shutdown(socket.SHUT_WR)

        threading.Thread(target=serve, daemon=True).start()
        return f"http://127.0.0.1:{server.getsockname()[1]}/v1"

    yield listen
    for each in sockets:
        each.close()


async def test_a_model_server_answers() -> None:
    with FakeModel(models=["small"]) as server:
        assert await lists_models(server.url)


async def test_only_those_that_answer_are_named(listener: Callable[[bytes | None], str]) -> None:
    with FakeModel(models=["small"]) as server:
        places = (
            Provider("One", "one", server.url),
            Provider("Two", "two", listener(PAGE)),
            Provider("Three", "three", closed()),
        )
        assert await answering(places) == {"one"}


@pytest.mark.parametrize(
    "answer", [PAGE, REFUSAL, b"", b"\xff\x00\r\n", b"SSH-2.0-x\r\n", b"HTTP/1.1 200 OK\r\n" + b"x" * 200_000]
)
async def test_another_program_on_the_port_is_no_model_server(listener: Callable[[bytes | None], str], answer: bytes) -> None:
    assert not await lists_models(listener(answer))


async def test_one_that_says_nothing_is_not_waited_for(listener: Callable[[bytes | None], str]) -> None:
    began = time.monotonic()
    assert not await lists_models(listener(None))
    assert time.monotonic() - began < 20


def closed() -> str:
    """An address where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"http://127.0.0.1:{server.getsockname()[1]}/v1"
