"""The errors of this package. All are an ``AcpdError``."""

from __future__ import annotations

from . import protocol


class AcpdError(Exception):
    """An error of this package or the daemon. ``code`` is stable and identifies it; the text is a sentence for users."""

    #: The daemon's ``data.code``, or the ``code`` of one of the classes below.
    code: str = "internal"
    #: The JSON-RPC error code; ``None`` if the error is not a response of the daemon.
    rpc_code: int | None = None
    #: Whether the same request may succeed later.
    retryable: bool = False
    #: Additional details.
    detail: str | None = None

    @property
    def message(self) -> str:
        """The sentence."""
        return str(self)


class RequestFailed(AcpdError):
    """The daemon's error response. ``code`` is the daemon's, such as ``not_found``."""

    def __init__(self, error: protocol.Error) -> None:
        super().__init__(error["message"])
        data = error.get("data")
        self.rpc_code = error["code"]
        if data is not None:
            self.code = data["code"]
            self.retryable = data["retryable"]
            self.detail = data.get("detail")


class ConnectionLost(AcpdError):
    """There is no connection, or it broke. It is unknown whether the daemon executed the request."""

    code = "disconnected"
    retryable = True


class RequestTimeout(AcpdError):
    """The response did not arrive in time. The daemon may still execute the request."""

    code = "timeout"
    retryable = True


class ClientClosed(AcpdError):
    """The client was closed."""

    code = "closed"


class Unauthenticated(AcpdError):
    """The daemon rejected this client's credentials."""

    code = "unauthenticated"


class MessageTooLarge(AcpdError):
    """The request exceeds the daemon's size limit, or a message of the daemon exceeds this client's."""

    code = "too_large"


class ProtocolMismatch(AcpdError):
    """The daemon uses another version of the protocol."""

    code = "protocol_version"


class Malformed(AcpdError):
    """A received message violates the protocol."""

    code = "malformed"


def may_pass(error: Exception) -> bool:
    """Returns whether a retry may succeed: true for every failure that is not known to be final."""
    return not isinstance(error, AcpdError) or error.retryable
