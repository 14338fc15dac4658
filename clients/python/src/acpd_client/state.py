"""The states of a client's connection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from .protocol import Initialized


@dataclass(frozen=True)
class Connecting:
    """A connection attempt is running."""


@dataclass(frozen=True)
class Open:
    """There is a connection."""

    #: The daemon's version, its limits, and this client's identity and role.
    server: Initialized


@dataclass(frozen=True)
class Waiting:
    """The last attempt or connection ended."""

    #: Seconds until the next attempt.
    retry_after: float
    #: Why it ended.
    error: Exception


@dataclass(frozen=True)
class Closed:
    """There will be no further connection."""

    #: Why a retry cannot succeed; ``None`` if the client was closed on purpose.
    error: Exception | None = None


State: TypeAlias = "Connecting | Open | Waiting | Closed"
