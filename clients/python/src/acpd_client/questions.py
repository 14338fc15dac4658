"""Open questions and their handlers.

In: questions (repeated after a reconnect), and their resolutions. Out: answers. A handler receives each question once. Its
answer is stored until the daemon has resolved the question, so that a lost answer is sent again.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

from .errors import RequestFailed
from .protocol import Answer, QuestionAnswered, Rejected, Resolved, Thread

Handler = Callable[[Any], Answer]


class _Open:
    """An open question."""

    def __init__(self, method: str, params: dict[str, Any]) -> None:
        self.method = method
        self.params = params
        # The handler's task, once a handler has received the question.
        self.task: asyncio.Task[None] | None = None
        self.answer: QuestionAnswered | None = None


class Questions:
    """The open questions of a client."""

    def __init__(self, send: Callable[[str, QuestionAnswered], None], on_error: Callable[[Exception], None]) -> None:
        self._send = send
        self._on_error = on_error
        self._open: dict[str, _Open] = {}
        self._handlers: dict[str, Handler] = {}

    def handle(self, method: str, handler: Handler) -> Callable[[], None]:
        """Sets the handler of a method, also for questions that are already open. Returns a function that removes it."""
        self._handlers[method] = handler
        for request_id, question in list(self._open.items()):
            if question.method == method:
                self._put(request_id, question)

        def remove() -> None:
            if self._handlers.get(method) is handler:
                del self._handlers[method]

        return remove

    def asked(self, method: str, params: dict[str, Any]) -> None:
        """Handles a question, which may be a repetition."""
        request_id = params["requestId"]
        known = self._open.get(request_id)
        if known is None:
            question = self._open[request_id] = _Open(method, params)
            self._put(request_id, question)
        elif known.answer is not None:
            self._send(request_id, known.answer)

    def resolved(self, resolved: Resolved) -> None:
        """Handles the resolution of a question."""
        self._end(resolved["requestId"])

    def rejected(self, rejected: Rejected) -> None:
        """Handles the rejection of this client's answer."""
        failure = RequestFailed(rejected["error"])
        if failure.code in ("already_resolved", "not_found"):
            # Another client answered first. The accepted answer arrives as an event.
            self._end(rejected["requestId"])
            return
        # The question is still open, and another answer is possible.
        question = self._open.get(rejected["requestId"])
        if question is not None:
            question.answer = None
        self._on_error(failure)

    def reconcile(self, thread: Thread) -> None:
        """Ends the questions of a thread that its description no longer lists as pending."""
        for request_id, question in list(self._open.items()):
            params = question.params
            is_known = params["threadId"] == thread["id"] and params["seq"] <= thread["latestSeq"]
            if is_known and request_id not in thread["pendingRequestIds"]:
                self._end(request_id)

    def keep(self, is_followed: Callable[[str], bool]) -> None:
        """Drops questions of unsubscribed threads: their resolutions would not arrive."""
        for request_id, question in list(self._open.items()):
            if not is_followed(question.params["threadId"]):
                self._end(request_id)

    def _put(self, request_id: str, question: _Open) -> None:
        handler = self._handlers.get(question.method)
        if handler is not None and question.task is None:
            question.task = asyncio.create_task(self._handle(request_id, question, handler))

    async def _handle(self, request_id: str, question: _Open, handler: Handler) -> None:
        try:
            answer = handler(question.params)
            if inspect.isawaitable(answer):
                answer = await answer
            if answer is not None and self._open.get(request_id) is question:
                self._send(request_id, answer)
                question.answer = answer
        except Exception as error:
            # A failed handler has decided nothing: the question stays open.
            self._on_error(error)

    def _end(self, request_id: str) -> None:
        question = self._open.pop(request_id, None)
        if question is not None and question.task is not None:
            question.task.cancel()
