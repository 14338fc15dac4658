"""A wire to the daemon that breaks after so many bytes, in the middle of whatever is on it, or goes silent."""

from __future__ import annotations

import asyncio
import contextlib
import re


class FlakyWire:
    def __init__(self, target: str, limit: int) -> None:
        self._host, port = target.split(":")
        self._port = int(port)
        self._limit = limit
        self._server: asyncio.Server | None = None
        #: Connections that were broken.
        self.cuts = 0
        self._carries = asyncio.Event()
        self._carries.set()

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._carry, "127.0.0.1", 0)

    @property
    def url(self) -> str:
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    def hold(self) -> None:
        """Carries nothing any more in either direction, without closing anything."""
        self._carries.clear()

    def release(self) -> None:
        """Carries again."""
        self._carries.set()

    async def close(self) -> None:
        assert self._server is not None
        self._server.close()
        self.release()

    async def _carry(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        daemon, to_daemon = await asyncio.open_connection(self._host, self._port)
        # The daemon accepts only requests for its own address.
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            head = await client.readuntil(b"\r\n\r\n")
            to_daemon.write(re.sub(rb"(?im)^host: .*$", f"Host: {self._host}:{self._port}\r".encode(), head))
        forth = asyncio.create_task(self._copy(client, to_daemon))
        # Each one lasts a little longer, so that it is not always the same frame that is cut.
        left = self._limit + 37 * self.cuts
        with contextlib.suppress(OSError):
            while left > 0 and (data := await daemon.read(65536)):
                await self._carries.wait()
                to_client.write(data[:left])
                await to_client.drain()
                left -= len(data)
        if left <= 0:
            self.cuts += 1
        forth.cancel()
        to_daemon.transport.abort()
        to_client.close()

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                await self._carries.wait()
                writer.write(data)
                await writer.drain()
            writer.close()
