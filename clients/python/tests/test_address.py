"""Addresses of daemons."""

from __future__ import annotations

from typing import Any
from unittest import IsolatedAsyncioTestCase
from unittest.mock import patch

from acpd_client import ConnectionLost
from acpd_client.address import Remote


class Addresses(IsolatedAsyncioTestCase):
    async def test_localhost_is_one_address(self) -> None:
        """Another user may listen on the other address of that name, and would receive the token."""
        for url, host in (
            ("ws://localhost:4127/ws", "127.0.0.1"),
            ("ws://LocalHost:4127/ws", "127.0.0.1"),
            ("wss://localhost:4127/ws", "127.0.0.1"),
            ("ws://[::1]:4127/ws", None),
            ("wss://box.example/ws", None),
        ):
            seen: list[Any] = []

            async def connect(url: str, seen: list[Any] = seen, **options: Any) -> None:
                seen.append(options.get("host"))
                raise OSError("refused")

            with patch("acpd_client.address.connect", connect), self.assertRaises(ConnectionLost):
                await Remote(url, "a token", None).open()
            self.assertEqual(seen, [host], url)
