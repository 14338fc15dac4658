"""A sequence of connections: connects, waits, and connects again, until it is closed or a retry is pointless.

It knows no threads: the callback for an open connection resumes them.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Callable
from dataclasses import dataclass

from .address import Endpoint
from .connection import Callbacks, Connection, Frame
from .errors import AcpdError, ClientClosed, ConnectionLost, may_pass
from .protocol import Initialized, InitializeParams
from .state import Closed, Connecting, Open, State, Waiting

#: After a connection that lasted this many seconds, the next attempt follows soon.
_STABLE = 5.0


@dataclass(frozen=True)
class Backoff:
    """Exponential delays between attempts, with an upper limit and random jitter of up to a half."""

    #: Delay before the first attempt, in seconds.
    first: float = 0.25
    #: Maximum delay before any attempt, in seconds.
    longest: float = 30.0

    def delay(self, attempt: int) -> float:
        """Returns the delay before an attempt, which is counted from 0."""
        full = min(self.longest, self.first * 2.0 ** min(attempt, 30))
        return full / 2 + random.random() * full / 2


@dataclass(frozen=True)
class LinkOptions:
    """The parameters of connections."""

    endpoint: Endpoint
    hello: InitializeParams
    backoff: Backoff
    #: Seconds that an attempt may take, including its handshake.
    connect_timeout: float
    #: Seconds of silence after which a connection counts as broken.
    silence_timeout: float
    #: Maximum size of a message of the daemon, in bytes.
    max_message_bytes: int


@dataclass(frozen=True)
class LinkCallbacks:
    """The callbacks of a link."""

    state: Callable[[State], None]
    opened: Callable[[], None]
    lost: Callable[[], None]
    frame: Callable[[Frame], None]
    odd: Callable[[Exception], None]


class Link:
    """Keeps a client connected."""

    def __init__(self, options: LinkOptions, on: LinkCallbacks) -> None:
        self._options = options
        self._on = on
        self._state: State = Connecting()
        self._current: Connection | None = None
        self._is_open = False
        #: Seconds that the last connection was open; negative if it never was.
        self._lasted = 0.0
        self._hurried = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @property
    def state(self) -> State:
        """The current state."""
        return self._state

    @property
    def connection(self) -> Connection | None:
        """The connection, if it is open."""
        return self._current if self._is_open else None

    def start(self) -> None:
        """Starts connecting."""
        if self._task is None and not isinstance(self._state, Closed):
            self._task = asyncio.create_task(self._run())

    def hurry(self) -> None:
        """Connects immediately if it is waiting for the next attempt."""
        self._hurried.set()

    async def close(self) -> None:
        """Closes the link for good."""
        self._become_closed(None)
        task, self._task = self._task, None
        if task is not None and task is not asyncio.current_task():
            task.cancel()
            await asyncio.wait([task])

    async def _run(self) -> None:
        attempt = 0
        try:
            while True:
                self._become(Connecting())
                error = await self._connection()
                if not may_pass(error):
                    self._become_closed(error)
                    return
                if self._lasted >= _STABLE:
                    attempt = 0
                await self._pause(self._options.backoff.delay(attempt), error)
                attempt += 1
        except Exception as error:
            # A mistake of this package, which must not leave callers waiting.
            self._become_closed(error)
            raise

    async def _pause(self, seconds: float, error: Exception) -> None:
        self._hurried.clear()
        self._become(Waiting(seconds, error))
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._hurried.wait(), seconds)

    async def _connection(self) -> AcpdError:
        """Connects once, and returns why the connection ended or was not made."""
        self._lasted = 0.0
        options = self._options
        late = ConnectionLost(f"the daemon did not answer within {options.connect_timeout:g} s")
        loop = asyncio.get_running_loop()
        deadline = loop.time() + options.connect_timeout
        try:
            socket = await options.endpoint.open(
                compression=None,
                max_size=options.max_message_bytes,
                open_timeout=options.connect_timeout,
                # A ping at half of the time, and as much time again for its answer.
                ping_interval=options.silence_timeout / 2,
                ping_timeout=options.silence_timeout / 2,
                close_timeout=2,
            )
        except AcpdError as error:
            return error
        opened_at = deadline
        handshake: asyncio.TimerHandle

        def opened(server: Initialized) -> None:
            nonlocal opened_at
            handshake.cancel()
            opened_at = loop.time()
            self._opened(server)

        connection = self._current = Connection(socket, Callbacks(opened, self._on.frame, self._left, self._on.odd))
        handshake = loop.call_at(deadline, connection.drop, late)
        try:
            return await connection.run(options.hello)
        finally:
            handshake.cancel()
            self._lasted = loop.time() - opened_at

    def _opened(self, server: Initialized) -> None:
        self._is_open = True
        self._become(Open(server))
        if self.connection is not None:
            self._on.opened()

    def _left(self) -> None:
        """Detaches the current connection."""
        self._current = None
        if self._is_open:
            self._is_open = False
            self._on.lost()

    def _become_closed(self, error: Exception | None) -> None:
        if not isinstance(self._state, Closed):
            self._left()
            self._become(Closed(error))

    def _become(self, state: State) -> None:
        self._state = state
        self._on.state(state)


def closed(state: State) -> ClientClosed:
    """Returns the error for a client that is closed, with its reason."""
    reason = state.error if isinstance(state, Closed) else None
    error = ClientClosed("the client is closed" if reason is None else f"the client is closed: {reason}")
    error.__cause__ = reason
    return error
