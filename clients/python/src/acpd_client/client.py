"""The public client: requests, notifications, questions and threads. It survives any number of reconnects."""

from __future__ import annotations

import asyncio
import logging
import os
import ssl
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, cast

from . import attach
from .address import Endpoint, Local, Remote, default_data_dir, socket_url
from .connection import Done, Frame
from .errors import AcpdError, ConnectionLost, RequestTimeout
from .link import Backoff, Link, LinkCallbacks, LinkOptions, closed
from .protocol import (
    CONNECTION_NOTIFICATIONS,
    AcpObject,
    Answer,
    ClientCapabilities,
    ClientInfo,
    Initialized,
    QuestionAnswered,
    Rejected,
    Resolved,
    ThreadEvent,
    ThreadResumed,
    TypedClient,
)
from .questions import Questions
from .state import Closed, Open, State, Waiting
from .stream import ThreadStream, Wire
from .subscription import FollowOptions, Subscription

_logger = logging.getLogger("acpd_client")

#: The daemon sends a tool call of up to 32 MiB (`agent_line_bytes`) as one message, and pages of turns contain several.
MAX_MESSAGE_BYTES = 256 << 20


def connect(
    url: str | None = None,
    *,
    token: str | None = None,
    data_dir: str | os.PathLike[str] | None = None,
    ssl: ssl.SSLContext | None = None,
    name: str,
    version: str | None = None,
    capabilities: ClientCapabilities | None = None,
    ready_timeout: float | None = 5.0,
    connect_timeout: float = 10.0,
    silence_timeout: float = 40.0,
    backoff: Backoff | None = None,
    max_message_bytes: int = MAX_MESSAGE_BYTES,
    on_error: Callable[[Exception], None] | None = None,
) -> Client:
    """Returns a client, which connects when its ``async with`` begins, and reconnects whenever necessary.

    :param url: The daemon's address, such as ``http://127.0.0.1:4127``. Without it, the client connects to the daemon of
        this user on this host, which needs no token.
    :param token: The access token, for a daemon at a ``url``.
    :param data_dir: The data directory of this user's daemon, if it is not the default one.
    :param ssl: What to trust if ``url`` begins with ``https``. By default, the certificates of the system.
    :param name: The name of your program. The log records it with every decision of this client.
    :param version: The version of your program.
    :param capabilities: ``{"approvals": True}`` to receive questions. The client itself drops notifications that are
        opted out of, so that it can detect gaps.
    :param ready_timeout: Seconds that ``async with`` waits for the first connection. ``None`` waits without a limit.
    :param connect_timeout: Seconds that a connection attempt may take.
    :param silence_timeout: Seconds of silence after which a connection counts as broken.
    :param backoff: Delays between connection attempts. By default, from 250 ms to 30 s.
    :param max_message_bytes: The largest message to accept from the daemon.
    :param on_error: Receives errors that no caller can receive: those of handlers, and of rejected answers. By default,
        they are logged.
    """
    endpoint: Endpoint
    if url is None:
        if token is not None:
            raise ValueError("a token needs a url: this user's daemon is reached without one")
        endpoint = Local(default_data_dir() if data_dir is None else Path(data_dir))
    else:
        if data_dir is not None:
            raise ValueError("pass either url or data_dir, not both")
        endpoint = Remote(socket_url(url), token, ssl)
    info: ClientInfo = {"name": name}
    if version is not None:
        info["version"] = version
    offered = capabilities.copy() if capabilities is not None else ClientCapabilities()
    opted_out = frozenset(offered.pop("optOutNotificationMethods", []))
    options = LinkOptions(
        endpoint,
        {"clientInfo": info, "capabilities": offered},
        backoff or Backoff(),
        connect_timeout,
        silence_timeout,
        max_message_bytes,
    )
    return Client(options, opted_out, ready_timeout, on_error or _log)


class Client(TypedClient):
    """A client of the daemon. Create one with ``connect``, and use it in ``async with``.

    All methods belong to the event loop in which ``async with`` began.
    """

    def __init__(
        self,
        options: LinkOptions,
        opted_out: frozenset[str],
        ready_timeout: float | None,
        on_error: Callable[[Exception], None],
    ) -> None:
        self._opted_out = opted_out
        self._endpoint = options.endpoint
        self._ready_timeout = ready_timeout
        self._on_error = on_error
        # Why the last connection or attempt ended; `None` while there is a connection.
        self._reason: Exception | None = None
        self._streams: dict[str, ThreadStream] = {}
        self._handlers: dict[str, list[Callable[[Any], object]]] = {}
        self._state_handlers: list[Callable[[State], object]] = []
        self._questions = Questions(self._respond, on_error)
        self._wire = Wire(self._send, self._resumed, self._unfollow, options.backoff)
        callbacks = LinkCallbacks(self._became, self._opened, self._lost, self._frame, on_error)
        self._link = Link(options, callbacks)

    async def __aenter__(self) -> Client:
        self.start()
        try:
            await self.ready(self._ready_timeout)
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def start(self) -> None:
        """Starts connecting, without ``async with``. ``close`` ends it."""
        self._link.start()

    async def close(self) -> None:
        """Closes the client. Pending requests fail with ``ClientClosed``, and subscriptions end."""
        await self._link.close()

    @property
    def state(self) -> State:
        """The state of the connection."""
        return self._link.state

    def on_state(self, handler: Callable[[State], object]) -> Callable[[], None]:
        """Calls ``handler`` at every change of state, but not for the current state.

        Returns a function that unsubscribes.
        """
        self._state_handlers.append(handler)
        return lambda: _remove(self._state_handlers, handler)

    async def ready(self, timeout: float | None = None) -> Initialized:
        """Waits for a connection, and returns what the daemon says of itself.

        Fails once the client is closed for good. After ``timeout`` seconds, fails with ``ConnectionLost`` and the reason
        why there is no connection.
        """
        opened: asyncio.Future[Initialized] = asyncio.get_running_loop().create_future()

        def look(state: State) -> None:
            if opened.done():
                return
            if isinstance(state, Open):
                opened.set_result(state.server)
            elif isinstance(state, Closed):
                opened.set_exception(state.error or closed(state))

        off = self.on_state(look)
        look(self.state)
        try:
            return await asyncio.wait_for(opened, timeout)
        except asyncio.TimeoutError:
            raise self._reason or ConnectionLost(f"the daemon did not answer within {timeout:g} s") from None
        finally:
            off()

    async def attach(
        self,
        thread_id: str,
        file: str | os.PathLike[str] | bytes,
        *,
        name: str | None = None,
        media_type: str | None = None,
    ) -> AcpObject:
        """Has the daemon store a file of up to 50 MiB for a thread, because a message has no room for it.

        Returns the block that links to the file, for ``input`` of ``turn/start`` or ``content`` of ``turn/steer``. The same
        file under the same name has the same link, so this can be repeated. It does not use a proxy.

        :param file: The path of a file, or its content.
        :param name: The name that the agent and other clients see. By default, that of the path.
        :param media_type: By default, what the ending of the name says.
        """
        return await asyncio.to_thread(attach.send, self._endpoint, thread_id, file, name, media_type)

    def follow(
        self,
        thread_id: str,
        *,
        after: int | None = None,
        limit: int | None = None,
        start_agent: bool = True,
        buffered_events: int = 16_384,
        buffered_bytes: int = 8 << 20,
    ) -> Subscription:
        """Subscribes to a thread: every event after ``after``, once and in order, until the subscription is closed.

        Ends with the error if the daemon refuses the first request, also with one that is ``retryable``.

        :param after: The number of the last known event; 0 for all events. Without it, the subscription starts with the
            next event.
        :param limit: Without ``after``: the number of latest turns that ``Subscription.resumed`` returns.
        :param start_agent: Whether following starts the agent, so that the next turn begins sooner.
        :param buffered_events: The number of events that are kept for a slow reader. It receives later ones from the
            daemon's log.
        :param buffered_bytes: The total size of these events, in bytes.
        """
        stream = self._streams.get(thread_id)
        if stream is None:
            stream = self._streams[thread_id] = ThreadStream(thread_id, self._wire)
        reader = stream.follow(FollowOptions(after, limit, start_agent, buffered_events, buffered_bytes))
        if isinstance(self.state, Closed):
            reader.end(self.state.error or closed(self.state))
        return reader

    def reconnect(self) -> None:
        """Connects immediately if the client is waiting for the next attempt."""
        self._link.hurry()

    async def _call(self, method: str, params: Any, timeout: float | None) -> Any:
        connection = self._link.connection
        if connection is None:
            raise self._absent()
        answered: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

        def done(error: AcpdError | None, result: Any) -> None:
            if answered.done():
                return
            if error is not None:
                answered.set_exception(error)
            else:
                answered.set_result(result)

        request_id: int | None = None

        async def request() -> Any:
            nonlocal request_id
            await connection.room()
            request_id = connection.request(method, params if params is not None else {}, done)
            return await answered

        try:
            return await asyncio.wait_for(request(), timeout)
        except asyncio.TimeoutError:
            raise RequestTimeout(f"{method} was not answered within {timeout:g} s") from None
        finally:
            if request_id is not None:
                connection.forget(request_id)

    def _on(self, method: str, handler: Callable[[Any], object]) -> Callable[[], None]:
        handlers = self._handlers.setdefault(method, [])
        handlers.append(handler)
        return lambda: _remove(handlers, handler)

    def _answer(self, method: str, handler: Callable[[Any], Answer]) -> Callable[[], None]:
        return self._questions.handle(method, handler)

    def _absent(self) -> AcpdError:
        if isinstance(self.state, Closed):
            return closed(self.state)
        why = f": {self._reason}" if self._reason else ""
        return ConnectionLost(f"there is no connection to the daemon{why}")

    def _send(self, method: str, params: Any, done: Done) -> bool:
        connection = self._link.connection
        if connection is not None:
            connection.request(method, params, done)
        return connection is not None

    def _respond(self, request_id: str, answer: QuestionAnswered) -> None:
        connection = self._link.connection
        if connection is not None:
            connection.respond(request_id, answer)

    def _frame(self, frame: Frame) -> None:
        method, params = frame.method, frame.params
        hidden = method in self._opted_out
        if method == "serverRequest/rejected":
            self._questions.rejected(cast(Rejected, params))
        elif method == "serverRequest/resolved":
            self._questions.resolved(cast(Resolved, params))
        if method in CONNECTION_NOTIFICATIONS:
            if not hidden:
                self._emit(method, params)
            return
        stream = self._streams.get(params.get("threadId", ""))
        if method == "stream/reset":
            if stream is not None:
                stream.reset()
            return
        event = cast(ThreadEvent, {"method": method, "params": params})
        is_news = stream is None or stream.event(event, params.get("seq"), frame.size, hidden)
        if is_news and not hidden:
            self._emit(method, params)
        if frame.id is not None:
            self._questions.asked(method, params)

    def _emit(self, method: str, params: Any) -> None:
        for handler in list(self._handlers.get(method, ())):
            self._guard(handler, params)

    def _became(self, state: State) -> None:
        if isinstance(state, Open):
            self._reason = None
        elif isinstance(state, Waiting):
            self._reason = state.error
        for handler in list(self._state_handlers):
            self._guard(handler, state)
        if isinstance(state, Closed):
            for stream in list(self._streams.values()):
                stream.end(state.error)
            self._questions.keep(lambda _: False)

    def _opened(self) -> None:
        for stream in list(self._streams.values()):
            stream.opened()

    def _lost(self) -> None:
        self._questions.keep(lambda thread_id: thread_id in self._streams)
        for stream in list(self._streams.values()):
            stream.lost()

    def _resumed(self, resumed: ThreadResumed) -> None:
        self._questions.reconcile(resumed["thread"])

    def _unfollow(self, stream: ThreadStream) -> None:
        if self._streams.get(stream.thread_id) is stream:
            del self._streams[stream.thread_id]
            # Otherwise the daemon would send events without a reader. If this fails, the connection and its
            # subscription are gone.
            self._send("thread/unsubscribe", {"threadId": stream.thread_id}, lambda error, result: None)
            # Without a subscription, their resolution would not arrive.
            self._questions.keep(lambda thread_id: thread_id != stream.thread_id)

    def _guard(self, handler: Callable[[Any], object], value: Any) -> None:
        try:
            handler(value)
        except Exception as error:
            self._on_error(error)


def _remove(handlers: list[Any], handler: Any) -> None:
    if handler in handlers:
        handlers.remove(handler)


def _log(error: Exception) -> None:
    _logger.error("%s", error, exc_info=error)
