"""Client of acpd's app protocol. Start with ``connect``."""

from .address import default_data_dir
from .client import MAX_MESSAGE_BYTES, Client, connect
from .errors import (
    AcpdError,
    ClientClosed,
    ConnectionLost,
    Malformed,
    MessageTooLarge,
    ProtocolMismatch,
    RequestFailed,
    RequestTimeout,
    Unauthenticated,
)
from .link import Backoff
from .protocol import APPROVALS, PROTOCOL_VERSION, Answer, ThreadEvent
from .state import Closed, Connecting, Open, State, Waiting
from .subscription import Subscription

__all__ = [
    "APPROVALS",
    "MAX_MESSAGE_BYTES",
    "PROTOCOL_VERSION",
    "AcpdError",
    "Answer",
    "Backoff",
    "Client",
    "ClientClosed",
    "Closed",
    "Connecting",
    "ConnectionLost",
    "Malformed",
    "MessageTooLarge",
    "Open",
    "ProtocolMismatch",
    "RequestFailed",
    "RequestTimeout",
    "State",
    "Subscription",
    "ThreadEvent",
    "Unauthenticated",
    "Waiting",
    "connect",
    "default_data_dir",
]
