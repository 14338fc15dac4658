"""One reader of one thread: passes events on, each once and in order.

In: events as received, in any order, possibly repeated. Out: the next events in order. Owns: a bounded buffer. A full
buffer accepts no more events. Once it is read, the stream requests the missing ones from the daemon.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from types import TracebackType

from .errors import ClientClosed
from .protocol import ThreadEvent, ThreadResumed


@dataclass(frozen=True)
class FollowOptions:
    """The start of a subscription, and the bounds of its buffer."""

    after: int | None
    limit: int | None
    start_agent: bool
    buffered_events: int
    buffered_bytes: int


@dataclass(frozen=True)
class Feed:
    """The callbacks from a subscription to its stream."""

    #: The buffer is full.
    paused: Callable[[], None]
    #: Most of the buffer has been read.
    unpaused: Callable[[], None]
    #: The subscription has ended.
    left: Callable[[Subscription], None]


class Taken(Enum):
    """The outcome of an offered event."""

    TAKEN = auto()
    #: The reader has seen it before.
    KNOWN = auto()
    #: An earlier event is missing.
    GAP = auto()
    #: The reader has no room, no position yet, or has ended.
    REFUSED = auto()


@dataclass(frozen=True)
class _Waiting:
    event: ThreadEvent
    seq: int | None
    size: int


class Subscription:
    """The events of a thread from some position on, to be read by ``async for``. Created by ``Client.follow``.

    Lasts until it is closed: by the end of its ``async with``, or by ``close``. A loop that is left by ``break`` closes
    nothing, so another loop can continue.
    """

    def __init__(self, thread_id: str, options: FollowOptions, feed: Feed) -> None:
        self.thread_id = thread_id
        self.options = options
        #: For the stream only: whether the next event on the connection is the next one for this reader.
        self.synced = False
        #: For the stream only: whether the daemon has responded for this reader.
        self.begun = False
        #: For the stream only: the last accepted event.
        self.taken = options.after
        #: For the stream only: whether the buffer is full.
        self.paused = False
        self._feed = feed
        self._cursor = options.after
        # The last event that arrived before the start position was known.
        self._early = 0
        self._ended = False
        self._error: Exception | None = None
        self._buffer: deque[_Waiting] = deque()
        self._bytes = 0
        self._changed = asyncio.Event()
        self._resumed: asyncio.Future[ThreadResumed] = asyncio.get_running_loop().create_future()
        # A caller that does not ask for it learns of the end in another way.
        self._resumed.add_done_callback(asyncio.Future.exception)

    @property
    def cursor(self) -> int | None:
        """The number of the last event that was read: the position from which to resume. ``None`` until it is known."""
        return self._cursor

    @property
    def ended(self) -> bool:
        """Whether no further event will arrive, except the buffered ones."""
        return self._ended

    async def resumed(self) -> ThreadResumed:
        """Waits for the daemon's first response: the thread, and without ``after`` its latest turns."""
        return await asyncio.shield(self._resumed)

    def close(self) -> None:
        """Closes the subscription and drops buffered events."""
        self._buffer.clear()
        self.end(None)

    async def __aenter__(self) -> Subscription:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __aiter__(self) -> Subscription:
        return self

    async def __anext__(self) -> ThreadEvent:
        while not self._buffer:
            if self._error is not None:
                error, self._error = self._error, None
                raise error
            if self._ended:
                raise StopAsyncIteration
            self._changed.clear()
            await self._changed.wait()
        return self._shift()

    def end(self, error: Exception | None) -> None:
        """For the stream only: ends the subscription."""
        if self._ended:
            return
        self._ended = True
        self._error = error
        self._feed.left(self)
        if not self._resumed.done():
            self._resumed.set_exception(error or ClientClosed("the subscription was closed"))
        self._changed.set()

    def begin(self, resumed: ThreadResumed) -> bool:
        """For the stream only: handles the daemon's response.

        Returns whether the connection continues at this reader's position.
        """
        self.begun = True
        if not self._resumed.done():
            self._resumed.set_result(resumed)
        if self.taken is None:
            self.taken = self._cursor = resumed["latestSeq"]
            return self._early <= resumed["latestSeq"]
        return True

    def take(self, event: ThreadEvent, seq: int | None, size: int, hidden: bool) -> Taken:
        """For the stream only: offers an event. A ``hidden`` event advances the position and is not delivered."""
        if self._ended or self.paused:
            return Taken.REFUSED
        if seq is not None:
            if self.taken is None:
                self._early = max(self._early, seq)
                return Taken.REFUSED
            if seq <= self.taken:
                return Taken.KNOWN
            # The notice about lost events takes the place of all of them.
            first = event["params"]["firstSeq"] if event["method"] == "thread/log/damaged" else seq
            if first > self.taken + 1:
                return Taken.GAP
        if not hidden and self._is_full(size):
            self.paused = True
            self.synced = False
            self._feed.paused()
            return Taken.REFUSED
        self.taken = self.taken if seq is None else seq
        if not hidden:
            self._buffer.append(_Waiting(event, seq, size))
            self._bytes += size
            self._changed.set()
        elif not self._buffer:
            # No buffered event precedes it, so it counts as delivered.
            self._cursor = self.taken
        return Taken.TAKEN

    def _is_full(self, more: int) -> bool:
        if not self._buffer:
            return False
        return len(self._buffer) >= self.options.buffered_events or self._bytes + more > self.options.buffered_bytes

    def _shift(self) -> ThreadEvent:
        waiting = self._buffer.popleft()
        self._bytes -= waiting.size
        if waiting.seq is not None:
            self._cursor = waiting.seq
        if (
            self.paused
            and len(self._buffer) * 2 <= self.options.buffered_events
            and self._bytes * 2 <= self.options.buffered_bytes
        ):
            self.paused = False
            self._feed.unpaused()
        return waiting.event
