"""One connection: the handshake, requests and their responses, and the daemon's notifications and requests.

It knows no threads, stores no events, and is never reopened: ``Link`` creates the next one.

It calls back instead of waking tasks. Several messages may have arrived already, and the effects of a response must be
complete before the next message is handled.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed

from .errors import (
    AcpdError,
    ClientClosed,
    ConnectionLost,
    Malformed,
    MessageTooLarge,
    ProtocolMismatch,
    RequestFailed,
    Unauthenticated,
)
from .protocol import PROTOCOL_VERSION, Initialized, InitializeParams
from .read_json import read_json, write_json

#: Receives the outcome of a request: its error, or its result.
Done = Callable[["AcpdError | None", Any], None]

#: Requests wait while this many bytes are queued for the daemon.
_OUTBOX_BYTES = 1 << 20

#: The daemon's code for a connection whose token was revoked or has expired.
_ACCESS_ENDED = 1008


@dataclass(frozen=True)
class Frame:
    """A notification or request of the daemon."""

    method: str
    params: dict[str, Any]
    #: For a question: the id of the response.
    id: str | int | None
    #: Length of its text, in bytes.
    size: int


@dataclass(frozen=True)
class Callbacks:
    """The callbacks of a connection."""

    opened: Callable[[Initialized], None]
    frame: Callable[[Frame], None]
    #: The connection has ended with pending requests; their callbacks follow.
    closed: Callable[[], None]
    #: The daemon sent something unexpected; the connection stays open.
    odd: Callable[[AcpdError], None]


class Connection:
    """One connection, from its start to its end."""

    def __init__(self, socket: ClientConnection, on: Callbacks) -> None:
        self._socket = socket
        self._on = on
        self._waiting: dict[int, Done] = {}
        self._next_id = 1
        self._server: Initialized | None = None
        self._error: AcpdError | None = None
        self._ended = False
        self._outbox: deque[bytes] = deque()
        self._outbox_bytes = 0
        self._changed = asyncio.Event()
        self._has_room = asyncio.Event()
        self._has_room.set()

    async def run(self, hello: InitializeParams) -> AcpdError:
        """Carries the connection until it ends; returns why it did."""
        writer = asyncio.create_task(self._write())
        self.request("initialize", hello, self._greeted)
        error: AcpdError = ConnectionLost("the connection was given up")
        try:
            while self._error is None:
                self._message(await self._socket.recv(decode=False))
            error = self._error
        except ConnectionClosed as closed:
            error = self._error or _why(closed)
        except asyncio.CancelledError:
            error = ClientClosed("the client was closed")
            raise
        finally:
            writer.cancel()
            self._end(error)
            await self._socket.close()
        return error

    def drop(self, error: AcpdError) -> None:
        """Ends the connection without waiting for the daemon."""
        self._error = self._error or error
        self._socket.transport.abort()

    def request(self, method: str, params: Any, done: Done) -> int:
        """Sends a request, and returns its id. Calls ``done`` once, and never before this method returns."""
        request_id = self._next_id
        self._next_id += 1
        text = write_json({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})
        limit = self._server["limits"]["messageBytes"] if self._server else None
        if self._ended:
            _soon(done, ConnectionLost("the connection is closed"))
        elif limit is not None and len(text) > limit:
            message = f"{method} has {len(text)} bytes, and the daemon accepts at most {limit} (client_message_bytes)"
            _soon(done, MessageTooLarge(message))
        else:
            self._waiting[request_id] = done
            self._post(text)
        return request_id

    def forget(self, request_id: int) -> None:
        """Discards the response to a request."""
        self._waiting.pop(request_id, None)

    def respond(self, request_id: str | int, result: Any) -> None:
        """Responds to a question."""
        self._post(write_json({"jsonrpc": "2.0", "id": request_id, "result": result}))

    async def room(self) -> None:
        """Waits until the daemon has read most of what is queued for it."""
        await self._has_room.wait()

    def _post(self, text: bytes) -> None:
        if self._ended:
            return
        self._outbox.append(text)
        self._outbox_bytes += len(text)
        if self._outbox_bytes > _OUTBOX_BYTES:
            self._has_room.clear()
        self._changed.set()

    async def _write(self) -> None:
        # The reader sees the end of the connection as well, and knows more about it.
        with contextlib.suppress(ConnectionClosed):
            while True:
                await self._changed.wait()
                self._changed.clear()
                while self._outbox:
                    text = self._outbox.popleft()
                    await self._socket.send(text, text=True)
                    self._outbox_bytes -= len(text)
                    if self._outbox_bytes <= _OUTBOX_BYTES:
                        self._has_room.set()

    def _greeted(self, error: AcpdError | None, result: Any) -> None:
        if error is not None:
            self._error = self._error or error
            return
        server = cast(Initialized, result)
        if server["protocolVersion"] != PROTOCOL_VERSION:
            self._error = ProtocolMismatch(
                f"the daemon uses version {server['protocolVersion']} of the protocol, and this client version"
                f" {PROTOCOL_VERSION}: install the client of the daemon's version"
            )
            return
        self._post(write_json({"jsonrpc": "2.0", "method": "initialized"}))
        self._server = server
        self._on.opened(server)

    def _message(self, data: bytes | str) -> None:
        message = _decode(data)
        if message is None:
            self._on.odd(Malformed("the daemon sent an invalid message"))
        elif isinstance(method := message.get("method"), str):
            params = message.get("params")
            frame = Frame(method, params if isinstance(params, dict) else {}, message.get("id"), len(data))
            try:
                self._on.frame(frame)
            except (LookupError, TypeError) as error:
                self._on.odd(Malformed(f"the daemon sent {method} without a member that it needs: {error!r}"))
        else:
            self._answered(message.get("id"), message.get("result"), message.get("error"))

    def _answered(self, request_id: Any, result: Any, error: Any) -> None:
        done = self._waiting.pop(request_id, None) if isinstance(request_id, int) else None
        if done is not None:
            done(RequestFailed(error) if error else None, result)
        elif error and request_id is None:
            self._on.odd(RequestFailed(error))

    def _end(self, error: AcpdError) -> None:
        self._ended = True
        self._has_room.set()
        self._on.closed()
        waiting = list(self._waiting.values())
        self._waiting.clear()
        # The daemon may have executed the requests, so only the caller can decide about a retry.
        lost = error if error.code == "closed" else ConnectionLost(str(error))
        for done in waiting:
            done(lost, None)


def _soon(done: Done, error: AcpdError) -> None:
    asyncio.get_running_loop().call_soon(done, error, None)


def _decode(data: bytes | str) -> dict[str, Any] | None:
    try:
        message = read_json(data)
    except ValueError:
        return None
    return message if isinstance(message, dict) else None


def _why(closed: ConnectionClosed) -> AcpdError:
    if closed.sent is not None and not closed.rcvd_then_sent and closed.sent.code == 1009:
        return MessageTooLarge("the daemon sent a message that is larger than max_message_bytes of this client")
    if closed.rcvd is None:
        return ConnectionLost(
            f"the connection to the daemon broke: {closed.sent.reason if closed.sent else 'no response'}"
        )
    if closed.rcvd.code == _ACCESS_ENDED and closed.rcvd.reason == "access has ended":
        return Unauthenticated("access has ended: the token was revoked or has expired")
    return ConnectionLost(f"the daemon closed the connection: {closed.rcvd.reason or f'code {closed.rcvd.code}'}")
