"""HTTP as the direct provider uses it: the client, its headers, and one clear line for each way a connection fails."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from urllib.parse import urlsplit
from urllib.request import getproxies

from agentclip import __version__
from agentclip.errors import ErrorCode, ModelError
from agentclip.model.failures import one_line
from agentclip.model.httpx_alone import httpx
from agentclip.model.protocol import ProviderSettings


def make_client(settings: ProviderSettings) -> httpx.AsyncClient:
    """A client for one endpoint: proxies by the environment but never to this machine, certificates by SSL_CERT_FILE.

    Raises:
        ModelError: the environment names a proxy that cannot be used.
    """
    # Loading the system's certificates takes 20 ms or more; an endpoint without TLS needs none. This context trusts nobody.
    plain = settings.api_base.startswith("http://")
    try:
        return httpx.AsyncClient(
            verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if plain else httpx.create_ssl_context(),
            timeout=httpx.Timeout(settings.stall_timeout_s, connect=settings.connect_timeout_s),
            limits=httpx.Limits(keepalive_expiry=30),
            trust_env=not is_this_machine(settings.api_base),
        )
    except (ImportError, ValueError, httpx.InvalidURL) as error:
        said = one_line(str(error), settings.key)
        hint = "Check HTTPS_PROXY, HTTP_PROXY and ALL_PROXY"
        raise ModelError(f"the proxy of the environment cannot be used: {said}", hint=hint, code=ErrorCode.CONFIG) from error
    except OSError as error:  # SSL_CERT_FILE, or the system's certificates
        message = f"the certificates cannot be read: {error.strerror or error}"
        raise ModelError(message, hint="Check SSL_CERT_FILE and SSL_CERT_DIR", code=ErrorCode.CONFIG) from error


def is_this_machine(api_base: str) -> bool:
    """Whether an address is on this machine, by its name alone."""
    try:
        host = urlsplit(api_base).hostname or ""
    except ValueError:
        return False
    return host in {"localhost", "::1"} or host.startswith("127.") or host.endswith(".localhost")


def headers(settings: ProviderSettings) -> dict[str, str]:
    """The headers of a request.

    Raises:
        ModelError: the key cannot be written into a header.
    """
    fields = {"Content-Type": "application/json", "User-Agent": f"agentclip/{__version__}"}
    if settings.key:
        if not (settings.key.isascii() and settings.key.isprintable()):
            raise ModelError(
                "the key holds characters that no key has", hint=f"Check {settings.key_variable}", code=ErrorCode.BAD_KEY
            )
        fields["Authorization"] = f"Bearer {settings.key}"
    return fields


def connection_lost() -> ModelError:
    """The connection ended before the answer did."""
    return ModelError("connection lost before the answer was complete", hint="Send it again", code=ErrorCode.NETWORK)


def transport_error(error: httpx.HTTPError | httpx.InvalidURL, settings: ProviderSettings) -> ModelError:
    """One clear line for what httpx says."""
    where, said = settings.api_base, one_line(str(error), settings.key)
    code, hint = ErrorCode.NETWORK, ""
    match error:
        case httpx.ConnectError():
            return _connect_error(error, where)
        case httpx.ConnectTimeout():
            message = f"{where} did not answer within {settings.connect_timeout_s:g} s"
            hint = "Check the address and the network"
        case httpx.TimeoutException():
            message = f"the server sent nothing for {settings.stall_timeout_s:g} s"
        case httpx.ProxyError():
            message, hint = f"the proxy does not let us through: {said}", "Check HTTPS_PROXY and HTTP_PROXY"
        case httpx.UnsupportedProtocol() | httpx.LocalProtocolError() | httpx.InvalidURL():
            message, hint = f"{where} is not an address we can use: {said}", "Set --api-base to http(s)://HOST/v1"
            code = ErrorCode.CONFIG
        case httpx.DecodingError():
            message, code = f"the server's answer cannot be decoded: {said}", ErrorCode.SERVER_ERROR
        case _:
            return connection_lost()
    return ModelError(message, hint=hint, code=code)


def _connect_error(error: BaseException, where: str) -> ModelError:
    causes = list(causes_of(error))
    if {"http", "https", "all"} & getproxies().keys() and not is_this_machine(where):
        where += " through the proxy of the environment"
    if any(isinstance(cause, socket.gaierror) for cause in causes):
        message, hint = f"the host of {where} is not known", "Check --api-base and the network"
    elif any(isinstance(cause, ssl.SSLError) for cause in causes):
        message, hint = f"no secure connection to {where}: {one_line(str(error))}", "Check the address, or set SSL_CERT_FILE"
    elif any(isinstance(cause, ConnectionRefusedError) for cause in causes):
        message, hint = f"{where} refuses the connection", "Start the server, or check --api-base"
    else:
        message, hint = f"no connection to {where}: {one_line(str(error))}", "Check --api-base and the network"
    return ModelError(message, hint=hint, code=ErrorCode.UNAVAILABLE)


def causes_of(error: BaseException | None) -> Iterator[BaseException]:
    """The error and what it came from, exception groups included."""
    while error is not None:
        yield error
        if isinstance(error, BaseExceptionGroup):
            for member in error.exceptions:
                yield from causes_of(member)
        error = error.__cause__ or error.__context__
