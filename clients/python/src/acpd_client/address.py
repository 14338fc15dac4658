"""Where the daemon is, and how a WebSocket to it is opened.

In: a URL with a token, or a data directory. Out: an open socket, or an error that says what to do.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import ssl
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.client import HTTPConnection
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import SplitResult, urlsplit, urlunsplit

from websockets.asyncio.client import ClientConnection, connect, unix_connect
from websockets.exceptions import InvalidStatus, WebSocketException

from .errors import AcpdError, ConnectionLost, Unauthenticated

#: Longer paths do not fit into a socket's address on all systems, in bytes.
_SOCKET_PATH_BYTES = 100
#: Seconds in which a daemon must accept or send the next bytes of a file.
_SILENCE = 60.0


class Endpoint(Protocol):
    """A daemon that can be connected to."""

    async def open(self, **options: Any) -> ClientConnection:
        """Opens a WebSocket. Fails with ``Unauthenticated``, or with ``ConnectionLost`` if a retry may succeed."""

    def http(self) -> contextlib.AbstractContextManager[tuple[HTTPConnection, dict[str, str]]]:
        """Yields a connection for an HTTP request, and the headers that authenticate it. It fails as ``open`` does."""


@dataclass(frozen=True)
class Remote:
    """A daemon at a URL."""

    url: str
    token: str | None
    ssl: ssl.SSLContext | None

    async def open(self, **options: Any) -> ClientConnection:
        headers = {} if self.token is None else {"Authorization": f"Bearer {self.token}"}
        if _is_loopback(self.url):
            # A proxy would receive the token, and could not reach this host's daemon.
            options["proxy"] = None
        if (urlsplit(self.url).hostname or "") == "localhost":
            # The name has two addresses, and another user may listen on the other one, which would receive the token.
            options["host"] = "127.0.0.1"
        if self.ssl is not None:
            options["ssl"] = self.ssl
        with _explained(f"the daemon at {self.url}", "is it running, and is the address right?"):
            return await connect(self.url, additional_headers=headers, **options)

    @contextlib.contextmanager
    def http(self) -> Iterator[tuple[HTTPConnection, dict[str, str]]]:
        parts = urlsplit(self.url)
        host = parts.hostname or ""
        is_secure = parts.scheme == "wss"
        port = parts.port or (443 if is_secure else 80)

        def dial() -> socket.socket:
            # As for the WebSocket, the name has one address.
            plain = socket.create_connection(("127.0.0.1" if host == "localhost" else host, port), _SILENCE)
            if not is_secure:
                return plain
            try:
                return (self.ssl or ssl.create_default_context()).wrap_socket(plain, server_hostname=host)
            except BaseException:
                plain.close()
                raise

        headers = {} if self.token is None else {"Authorization": f"Bearer {self.token}"}
        with _explained(f"the daemon at {self.url}", "is it running, and is the address right?"):
            yield from _connected(host, port, dial, headers)


@dataclass(frozen=True)
class Local:
    """The daemon of a data directory of this user, which needs no token."""

    data_dir: Path

    async def open(self, **options: Any) -> ClientConnection:
        path = self.data_dir / "acpd.sock"
        advice = 'start it with "acpd serve"'
        with _explained(f"the daemon of {self.data_dir}", advice), _short(path) as short:
            return await unix_connect(short, "ws://localhost/ws", **options)

    @contextlib.contextmanager
    def http(self) -> Iterator[tuple[HTTPConnection, dict[str, str]]]:
        def dial() -> socket.socket:
            local = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                local.settimeout(_SILENCE)
                with _short(self.data_dir / "acpd.sock") as short:
                    local.connect(short)
            except BaseException:
                local.close()
                raise
            return local

        with _explained(f"the daemon of {self.data_dir}", 'start it with "acpd serve"'):
            yield from _connected("localhost", 80, dial, {})


class _Connection(HTTPConnection):
    """An HTTP connection over a socket that the endpoint opens."""

    def __init__(self, host: str, port: int, dial: Callable[[], socket.socket]) -> None:
        super().__init__(host, port)
        self._dial = dial

    def connect(self) -> None:
        self.sock = self._dial()


def _connected(
    host: str, port: int, dial: Callable[[], socket.socket], headers: dict[str, str]
) -> Iterator[tuple[HTTPConnection, dict[str, str]]]:
    connection = _Connection(host, port, dial)
    try:
        yield connection, headers
    finally:
        connection.close()


def default_data_dir() -> Path:
    """Returns the data directory that ``acpd`` uses without configuration."""
    if data_dir := os.environ.get("ACPD_DATA_DIR"):
        return Path(data_dir)
    state = os.environ.get("XDG_STATE_HOME")
    return (Path(state) if state else Path.home() / ".local" / "state") / "acpd"


def socket_url(url: str) -> str:
    """Returns the address of the daemon's WebSocket: replaces ``http`` by ``ws``, and adds ``/ws`` if it is missing."""
    parts = urlsplit(url)
    scheme = {"http": "ws", "https": "wss"}.get(parts.scheme, parts.scheme)
    if scheme not in ("ws", "wss") or not parts.hostname or not _has_port_or_none(parts):
        raise ValueError(
            f"invalid daemon URL {url!r}: use one such as http://127.0.0.1:4127 or https://box.example:4127"
        )
    path = "/ws" if parts.path in ("", "/") else parts.path
    return urlunsplit((scheme, parts.netloc, path, parts.query, ""))


def _has_port_or_none(parts: SplitResult) -> bool:
    try:
        return parts.port != 0
    except ValueError:
        return False


def _is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@contextlib.contextmanager
def _short(path: Path) -> Iterator[str]:
    """Yields a path that fits into a socket's address. A path that is too long goes through its open directory."""
    if len(os.fsencode(path)) <= _SOCKET_PATH_BYTES:
        yield str(path)
        return
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)


@contextlib.contextmanager
def _explained(daemon: str, advice: str) -> Iterator[None]:
    """Turns errors of the network into errors of this package."""
    try:
        yield
    except InvalidStatus as error:
        raise _refused(daemon, error) from error
    except (TimeoutError, asyncio.TimeoutError) as error:
        raise ConnectionLost(f"{daemon} did not answer in time: {advice}") from error
    except ssl.SSLCertVerificationError as error:
        trust = "pass an ssl.SSLContext that trusts its certificate"
        raise ConnectionLost(f"{daemon} cannot be trusted ({error.verify_message}): {trust}") from error
    except ssl.SSLError as error:
        raise ConnectionLost(f"{daemon} does not use TLS ({error.reason or error}): is it http or ws?") from error
    except OSError as error:
        raise ConnectionLost(f"{daemon} cannot be reached ({_reason(error)}): {advice}") from error
    except (WebSocketException, EOFError) as error:
        raise ConnectionLost(f"{daemon} does not answer as acpd does ({error}): {advice}") from error


def _reason(error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return "there is no acpd.sock"
    if isinstance(error, socket.gaierror) or not error.errno:
        # A name without an address has a number of another kind, and the failures of several addresses have none.
        return (error.strerror or str(error) or type(error).__name__).lower()
    return os.strerror(error.errno).lower()


def _refused(daemon: str, error: InvalidStatus) -> AcpdError:
    status = error.response.status_code
    said = _sentence(error.response.body or b"")
    if status in (401, 403):
        return Unauthenticated(f"{daemon} does not let this client in ({status}): {said or 'check the token'}")
    if said is None or status == 404:
        said = "is this the address of acpd?"
    return ConnectionLost(f"{daemon} refused the connection with status {status}: {said}")


def _sentence(body: bytes | bytearray) -> str | None:
    """Returns the message of the daemon's error, which it sends as JSON."""
    try:
        message = json.loads(body)["error"]["message"]
    except (ValueError, LookupError, TypeError):
        return None
    return message if isinstance(message, str) else None
