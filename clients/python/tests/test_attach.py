"""Files that are attached: what the daemon, or a proxy, answers."""

from __future__ import annotations

import contextlib
import io
import json
import unittest
from collections.abc import Iterator
from http.client import HTTPConnection
from typing import Any, cast

from acpd_client import AcpdError, ConnectionLost, MessageTooLarge, RequestFailed, Unauthenticated
from acpd_client.address import Endpoint
from acpd_client.attach import send


class _Socket:
    """A socket that takes so many writes and breaks then, and from which an answer can be read."""

    def __init__(self, answer: bytes, writes: int) -> None:
        self._answer = answer
        self._writes = writes

    def sendall(self, _data: bytes) -> None:
        self._writes -= 1
        if self._writes < 0:
            raise BrokenPipeError

    def makefile(self, _mode: str) -> io.BytesIO:
        return io.BytesIO(self._answer)

    def close(self) -> None:
        pass


class _Connection(HTTPConnection):
    def __init__(self, answer: bytes, writes: int) -> None:
        super().__init__("localhost")
        self._socket = _Socket(answer, writes)

    def connect(self) -> None:
        self.sock = cast(Any, self._socket)


class _Answering:
    """A daemon that gives every file this answer. It reads only the first writes of a request."""

    def __init__(self, status: int, body: str, writes: int = 1000) -> None:
        head = f"HTTP/1.1 {status} X\r\nContent-Length: {len(body.encode())}\r\nConnection: close\r\n\r\n"
        self._answer = b"" if status == 0 else head.encode() + body.encode()
        self._writes = writes

    @contextlib.contextmanager
    def http(self) -> Iterator[tuple[HTTPConnection, dict[str, str]]]:
        yield _Connection(self._answer, self._writes), {}


def _error(code: str) -> str:
    return json.dumps({"error": {"code": code, "message": "no"}})


class Attach(unittest.TestCase):
    def refused(self, status: int, body: str, writes: int = 1000) -> AcpdError:
        with self.assertRaises(AcpdError) as failed:
            send(cast(Endpoint, _Answering(status, body, writes)), "t", b"x" * 1000, "a.txt", None)
        return failed.exception

    def test_an_answer_is_read_also_if_the_daemon_has_not_read_the_file(self) -> None:
        error = self.refused(401, _error("unauthenticated"), writes=1)
        self.assertIsInstance(error, Unauthenticated)
        self.assertEqual(str(error), "no")

    def test_a_connection_that_ends_without_an_answer_can_be_tried_again(self) -> None:
        for writes in (0, 1, 1000):
            error = self.refused(0, "", writes)
            self.assertIsInstance(error, ConnectionLost)
            self.assertEqual((error.retryable, "a.txt" in str(error)), (True, True))

    def test_a_refusal_has_the_daemons_code_and_says_whether_it_may_pass(self) -> None:
        for status, body, kind, code, may_pass in (
            (401, "", Unauthenticated, "unauthenticated", False),
            (403, _error("forbidden"), RequestFailed, "forbidden", False),
            (403, "<html>", RequestFailed, "forbidden", False),
            (408, _error("invalid_request"), RequestFailed, "invalid_request", True),
            (409, _error("conflict"), RequestFailed, "conflict", False),
            (413, _error("invalid_params"), MessageTooLarge, "too_large", False),
            (429, _error("rate_limited"), RequestFailed, "rate_limited", True),
            (429, "", RequestFailed, "internal", True),
            (500, _error("storage"), RequestFailed, "storage", True),
            (503, _error("overloaded"), RequestFailed, "overloaded", True),
            (200, "[]", RequestFailed, "internal", False),
        ):
            with self.subTest(status=status, body=body):
                error = self.refused(status, body)
                self.assertEqual((type(error), error.code, error.retryable), (kind, code, may_pass))
