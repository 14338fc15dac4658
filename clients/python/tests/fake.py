"""A daemon that says what its test wants."""

from __future__ import annotations

import asyncio
import json
import unittest
from typing import Any

from support import PATIENCE
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from acpd_client import Backoff, Client, connect
from acpd_client.protocol import PROTOCOL_VERSION

Message = dict[str, Any]


class FakeDaemon:
    """Accepts connections, and answers ``initialize``. Everything else is for the test to read and answer."""

    def __init__(self) -> None:
        self.version = PROTOCOL_VERSION
        self.limits: Message = {"messageBytes": 1 << 20}
        self._server: Server | None = None
        self._connection: ServerConnection | None = None
        self._received: asyncio.Queue[Message] = asyncio.Queue(1000)

    async def start(self) -> None:
        self._server = await serve(self._accept, "127.0.0.1", 0)

    @property
    def url(self) -> str:
        assert self._server is not None
        return f"http://127.0.0.1:{next(iter(self._server.sockets)).getsockname()[1]}"

    async def close(self) -> None:
        assert self._server is not None
        self._server.close()
        await self._server.wait_closed()

    async def cut(self) -> None:
        """Breaks the connection."""
        assert self._connection is not None
        self._connection.transport.abort()
        await self._connection.wait_closed()

    async def _accept(self, connection: ServerConnection) -> None:
        self._connection = connection
        try:
            async for text in connection:
                message = json.loads(text)
                if message.get("method") == "initialize":
                    server: Message = {"protocolVersion": self.version, "limits": self.limits, "capabilities": {}}
                    server |= {"serverInfo": {"name": "fake", "version": "1"}, "identity": {"role": "owner"}}
                    await self.say({"id": message["id"], "result": server})
                elif message.get("method") != "initialized":
                    await self._received.put(message)
        except ConnectionClosed:
            pass

    async def say(self, message: Message) -> None:
        await self.say_text(json.dumps({"jsonrpc": "2.0", **message}))

    async def say_text(self, text: str) -> None:
        assert self._connection is not None
        await self._connection.send(text)

    async def event(self, seq: int, method: str = "thread/notice", **more: Any) -> None:
        """Sends an event of the thread ``t``."""
        await self.say({"method": method, "params": {"threadId": "t", "seq": seq, "ts": 0, **more}})

    async def ask(self, seq: int, request_id: str) -> None:
        params = {"threadId": "t", "seq": seq, "ts": 0, "requestId": request_id, "title": "May I?", "options": []}
        await self.say({"id": request_id, "method": "item/permissions/requestApproval", "params": params})

    async def next(self, method: str | None = None) -> Message:
        """Returns the next message of the client, which must be a request of this method, or an answer."""
        message = await asyncio.wait_for(self._received.get(), PATIENCE)
        assert message.get("method") == method, message
        return message

    async def resumed(self, latest: int, pending: tuple[str, ...] = ()) -> Message:
        """Answers the next request, which must be ``thread/resume``; returns its params."""
        request = await self.next("thread/resume")
        thread = {"id": "t", "latestSeq": latest, "pendingRequestIds": list(pending)}
        await self.say({"id": request["id"], "result": {"latestSeq": latest, "thread": thread}})
        params: Message = request["params"]
        return params

    def is_silent(self) -> bool:
        """Whether the client has sent nothing that the test has not read."""
        return self._received.empty()


class FakeTest(unittest.IsolatedAsyncioTestCase):
    """A test with a fake daemon."""

    async def asyncSetUp(self) -> None:
        self.daemon = FakeDaemon()
        await self.daemon.start()
        self.addAsyncCleanup(self.daemon.close)
        self.errors: list[Exception] = []

    def new_client(self, **options: Any) -> Client:
        client = connect(
            self.daemon.url,
            name="test",
            capabilities={"approvals": True},
            backoff=Backoff(0.01, 0.1),
            on_error=self.errors.append,
            ready_timeout=PATIENCE,
            **options,
        )
        self.addAsyncCleanup(client.close)
        return client

    async def client(self, **options: Any) -> Client:
        return await self.new_client(**options).__aenter__()
