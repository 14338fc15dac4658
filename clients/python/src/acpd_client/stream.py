"""A client's subscription to one thread: passes the daemon's events to every reader, and requests missed events again.

In: messages, and connections that open and break. Out: ``thread/resume``. It stores no events: the daemon's log has those
that a reader has missed.

All readers share one subscription. It is at the position of the reader that is furthest behind; the others ignore events
that they have already seen.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .connection import Done
from .errors import AcpdError
from .link import Backoff
from .protocol import ThreadEvent, ThreadResumed
from .subscription import Feed, FollowOptions, Subscription, Taken

#: Seconds between two catch-up requests for slow readers; each counts against the daemon's request limit.
_CATCH_UP = 1.0

#: Below this number of outstanding events for a slow reader, it is cheaper to receive them.
_PARK_EVENTS = 10_000


@dataclass(frozen=True)
class Wire:
    """A stream's interface to its client."""

    #: Sends a request; returns ``False`` if there is no connection.
    send: Callable[[str, Any, Done], bool]
    #: Receives the daemon's description of the thread.
    resumed: Callable[[ThreadResumed], None]
    #: The last reader has left.
    empty: Callable[[ThreadStream], None]
    backoff: Backoff


class ThreadStream:
    """All readers of one thread."""

    def __init__(self, thread_id: str, wire: Wire) -> None:
        self.thread_id = thread_id
        self._wire = wire
        self._readers: list[Subscription] = []
        self._feed = Feed(self._park, self._unpaused, self._left)
        self._busy = False
        # Whether the current connection is subscribed.
        self._subscribed = False
        # Whether the daemon reset the subscription during a request.
        self._again = False
        self._timer: asyncio.TimerHandle | None = None
        # Number of failed attempts in a row.
        self._failures = 0
        self._caught_up_at = float("-inf")
        # The last event known to exist.
        self._latest = 0
        # The last event that was passed to the client's own handlers.
        self._heard = 0

    def follow(self, options: FollowOptions) -> Subscription:
        """Adds a reader."""
        reader = Subscription(self.thread_id, options, self._feed)
        self._readers.append(reader)
        self._pump()
        return reader

    def event(self, event: ThreadEvent, seq: int | None, size: int, hidden: bool) -> bool:
        """Handles an event; returns whether any reader had not seen it."""
        taken = gap = False
        for reader in list(self._readers):
            outcome = reader.take(event, seq, size, hidden)
            if outcome is Taken.TAKEN:
                taken = True
            elif outcome is Taken.GAP:
                gap = gap or reader.synced
                reader.synced = False
        if taken:
            self._failures = 0
        if seq is None:
            return taken
        self._latest = max(self._latest, seq)
        news = taken and seq > self._heard
        if news:
            self._heard = seq
        if gap and not self._busy:
            # If the daemon keeps omitting events, the client retries less and less often.
            self._later(0 if self._failures == 0 else self._wire.backoff.delay(self._failures))
            self._failures += 1
        return news

    def reset(self) -> None:
        """Handles a reset of the subscription by the daemon."""
        if self._busy:
            self._again = True
            return
        self.lost()
        self._pump()

    def opened(self) -> None:
        """Handles a new connection."""
        self._failures = 0
        self._wake()

    def lost(self) -> None:
        """Handles the loss of the subscription."""
        for reader in self._readers:
            reader.synced = False
        self._subscribed = False
        self._cancel_timer()

    def end(self, error: Exception | None) -> None:
        """Ends all readers."""
        for reader in list(self._readers):
            reader.end(error)

    def _left(self, reader: Subscription) -> None:
        if reader in self._readers:
            self._readers.remove(reader)
            if not self._readers:
                self.lost()
                self._wire.empty(self)

    def _unpaused(self) -> None:
        self._later(_CATCH_UP - (asyncio.get_running_loop().time() - self._caught_up_at))

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _wake(self) -> None:
        self._cancel_timer()
        self._pump()

    def _later(self, seconds: float) -> None:
        if seconds <= 0:
            self._pump()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(seconds, self._wake)

    def _pump(self) -> None:
        """Requests events that a reader is missing, unless a request is in progress."""
        if self._busy or self._timer is not None:
            return
        awake = [reader for reader in self._readers if not reader.paused]
        behind = [reader for reader in awake if not reader.synced]
        fresh = next((reader for reader in behind if reader.taken is None), None)
        if fresh is not None:
            # This moves the subscription to the latest event; readers that are behind follow in the next request.
            self._resume({"limit": fresh.options.limit}, [fresh])
        elif behind:
            placed = {reader: reader.taken for reader in awake if reader.taken is not None}
            self._caught_up_at = asyncio.get_running_loop().time()
            self._resume({"after": min(placed.values())}, list(placed))
        elif not awake and self._readers and not self._subscribed:
            self._resume({"after": self._latest}, [])

    def _park(self) -> None:
        """Moves the subscription to the latest event if all readers are paused and far behind.

        Questions then still arrive.
        """
        behind = self._latest - max(reader.taken or 0 for reader in self._readers)
        if not self._busy and behind > _PARK_EVENTS and all(reader.paused for reader in self._readers):
            self._resume({"after": self._latest}, [])

    def _resume(self, position: dict[str, Any], readers: list[Subscription]) -> None:
        params = {"threadId": self.thread_id, **position}
        # The agent stays stopped only if every reader wants that.
        if self._readers and not any(reader.options.start_agent for reader in self._readers):
            params["startAgent"] = False

        def done(error: AcpdError | None, result: Any) -> None:
            self._busy = False
            if error is not None:
                self._refused(error, readers)
            else:
                self._resumed(result, readers, moved="after" not in position)

        if self._wire.send("thread/resume", params, done):
            self._busy = True

    def _resumed(self, resumed: ThreadResumed, readers: list[Subscription], moved: bool) -> None:
        self._latest = max(self._latest, resumed["latestSeq"])
        self._subscribed = True
        if moved:
            for reader in self._readers:
                reader.synced = reader.synced and (reader.taken or 0) >= resumed["latestSeq"]
        for reader in readers:
            reader.synced = reader.begin(resumed) and not reader.paused and not self._again
        self._again = False
        self._wire.resumed(resumed)
        self._pump()

    def _refused(self, error: AcpdError, readers: list[Subscription]) -> None:
        self._again = False
        if error.code in ("disconnected", "closed"):
            return
        if error.retryable:
            self._later(self._wire.backoff.delay(self._failures))
            self._failures += 1
        for reader in readers or ([] if error.retryable else list(self._readers)):
            # The caller of a new one learns why, and decides about a retry.
            if not error.retryable or not reader.begun:
                reader.end(error)
        self._pump()
