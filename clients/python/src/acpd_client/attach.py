"""Files for which a message has no room: the daemon stores them, and a prompt links to them.

In: an endpoint and a file. Out: the content block that links to the file, or an error of this package. It blocks, so it
runs in a thread of its own.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import mimetypes
import os
from pathlib import Path
from typing import Any
from urllib.parse import quote

from .address import Endpoint
from .errors import AcpdError, ConnectionLost, MessageTooLarge, RequestFailed, Unauthenticated
from .protocol import AcpObject

#: The largest file that the daemon stores, in bytes.
LARGEST = 50 << 20
#: The daemon's codes, and the statuses without one, after which the same request may succeed.
_PASSING_CODES = ("overloaded", "rate_limited", "agent_failed", "storage")
_PASSING_STATUSES = (408, 429, 503)


def send(
    endpoint: Endpoint, thread_id: str, file: str | os.PathLike[str] | bytes, name: str | None, media_type: str | None
) -> AcpObject:
    """Has the daemon store a file for a thread, and returns the block that links to it."""
    if isinstance(file, bytes):
        name, content = name or "file", file
        _check(name, len(content))
    else:
        path = Path(file)
        name = name or path.name or "file"
        # A file that is too large is not even read.
        _check(name, path.stat().st_size)
        content = path.read_bytes()
    # What is no Unicode has no escape.
    escaped = quote(name, safe="", errors="replace")
    kind = media_type or mimetypes.guess_type(name)[0] or "application/octet-stream"
    path_of_file = f"/api/threads/{quote(thread_id, safe='')}/attachments/{escaped}"
    with endpoint.http() as (connection, headers):
        connection.connect()
        try:
            # What refuses a file may end the connection before it has all of it. Its answer can be there nevertheless.
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                connection.request("PUT", path_of_file, content, {**headers, "Content-Type": kind})
            response = connection.getresponse()
            body = response.read()
        except (http.client.HTTPException, ConnectionError) as error:
            raise ConnectionLost(f"the connection ended before the daemon had {name}: attach it again") from error
    said = _parsed(body)
    block = said.get("block")
    if response.status == 200 and isinstance(block, dict):
        return block
    raise _refusal(response.status, said.get("error"), name)


def _check(name: str, size: int) -> None:
    if size > LARGEST:
        raise MessageTooLarge(f"{name} has {size} bytes, and at most {LARGEST >> 20} MiB can be attached")


def _parsed(body: bytes) -> dict[str, Any]:
    """Returns the daemon's answer; a proxy may have answered in another way."""
    try:
        said = json.loads(body)
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}


def _refusal(status: int, error: object, name: str) -> AcpdError:
    said = error if isinstance(error, dict) else {}
    words = said.get("message")
    message = words if isinstance(words, str) else f"the daemon did not take {name} ({status})"
    if status == 401:
        return Unauthenticated(message)
    if status == 413:
        return MessageTooLarge(message)
    code = said.get("code")
    if not isinstance(code, str):
        code = "forbidden" if status == 403 else "internal"
    may_pass = status in _PASSING_STATUSES or code in _PASSING_CODES
    failed = RequestFailed({"code": status, "message": message, "data": {"code": code, "retryable": may_pass}})
    # It is no error of JSON-RPC.
    failed.rpc_code = None
    return failed
