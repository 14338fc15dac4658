"""The real daemon with the fake agent, in a directory of its own, and what tests read from it."""

from __future__ import annotations

import asyncio
import faulthandler
import json
import os
import re
import shutil
import signal
import tempfile
import unittest
from collections.abc import Callable
from pathlib import Path
from typing import Any

from acpd_client import Backoff, Client, Subscription, ThreadEvent, connect
from acpd_client.protocol import ClientCapabilities, Turn

#: How many seconds anything may take. Only failures do.
PATIENCE = 60

PACKAGE = Path(__file__).parents[1]
_BUILT = PACKAGE.parents[1] / "target" / "debug"
ACPD = os.environ.get("ACPD_BIN", str(_BUILT / "acpd"))
FAKE_AGENT = os.environ.get("ACPD_FAKE_AGENT", str(_BUILT / "acpd-fake-agent"))


class Daemon:
    """A daemon that runs until its test is over."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.work = root / "work"
        self.data_dir = root / "data"
        self.address = "127.0.0.1:0"
        self._child: asyncio.subprocess.Process | None = None

    @property
    def url(self) -> str:
        return f"http://{self.address}"

    def token(self) -> str:
        return (self.data_dir / "token").read_text().strip()

    def environment(self) -> dict[str, str]:
        """The environment in which a command finds this daemon, and nothing of the user's."""
        foreign = ("ACPD_TOKEN", "ACPD_LOG", "ACPD_CONNECT", "XDG_CONFIG_HOME", "XDG_STATE_HOME")
        own = {name: value for name, value in os.environ.items() if name not in foreign}
        return own | {
            "HOME": str(self.root),
            "ACPD_CONFIG": str(self.root / "acpd.toml"),
            "ACPD_DATA_DIR": str(self.data_dir),
            "ACPD_LISTEN": self.address,
        }

    def prepare(self) -> None:
        self.work.mkdir()
        # Next to the data directory, an agent's sandbox makes nothing new.
        sessions = self.root / "sessions"
        sessions.mkdir()
        lines = [f"command = {json.dumps(FAKE_AGENT)}", 'args = ["--pace", "0"]']
        lines.append(f"env = {{ FAKE_AGENT_STATE = {json.dumps(str(sessions))} }}")
        # The examples name the demo agent. This one is the same without pauses.
        stuck = ["[agents.stuck]", 'command = "sleep"', 'args = ["600"]']
        text = "\n".join(["[agents.fake]", *lines, "[agents.demo]", *lines, *stuck])
        (self.root / "acpd.toml").write_text(text + "\n")

    async def launch(self) -> None:
        """Starts it, where it was before if it was."""
        with (self.root / "stderr").open("ab") as log:
            self._child = await asyncio.create_subprocess_exec(
                ACPD, "serve", cwd=self.work, env=self.environment(), stdout=asyncio.subprocess.PIPE, stderr=log
            )
        assert self._child.stdout is not None
        line = (await asyncio.wait_for(self._child.stdout.readline(), PATIENCE)).decode()
        listens = re.search(r"https?://(\S+)", line)
        if listens is None:
            raise AssertionError(f"{ACPD} does not listen: {line!r}\n{self.log()}")
        self.address = listens[1]

    async def kill(self, number: signal.Signals) -> None:
        """Ends it, and waits until it is gone."""
        child, self._child = self._child, None
        if child is not None:
            child.send_signal(number)
            await asyncio.wait_for(child.wait(), PATIENCE)

    def log(self) -> str:
        return (self.root / "stderr").read_text()


class Seen:
    """What a reader of a thread has seen, and a way to wait for more."""

    def __init__(self, subscription: Subscription) -> None:
        self.subscription = subscription
        self.events: list[ThreadEvent] = []
        self._changed = asyncio.Event()
        self._task = asyncio.create_task(self._read())

    async def _read(self) -> None:
        try:
            async for event in self.subscription:
                self.events.append(event)
                self._changed.set()
        finally:
            self._changed.set()

    async def until(self, what: str, fits: Callable[[ThreadEvent], bool]) -> ThreadEvent:
        """Waits for an event, among those that came already or come yet."""
        position = 0
        deadline = asyncio.get_running_loop().time() + PATIENCE
        while True:
            for event in self.events[position:]:
                position += 1
                if fits(event):
                    return event
            if self._task.done():
                self._task.result()
                raise AssertionError(f"the thread's events ended without {what}")
            self._changed.clear()
            left = deadline - asyncio.get_running_loop().time()
            try:
                await asyncio.wait_for(self._changed.wait(), left)
            except asyncio.TimeoutError:
                raise AssertionError(f"waited in vain for {what} in {len(self.events)} events") from None

    async def turn(self, turn_id: str | None) -> Turn:
        """Waits for the end of a turn."""
        event = await self.until(
            f"the end of {turn_id}",
            lambda event: event["method"] == "turn/completed" and event["params"]["turn"]["id"] == turn_id,
        )
        assert event["method"] == "turn/completed"
        return event["params"]["turn"]

    def said(self, turn_id: str | None) -> str:
        """What the agent said in a turn."""
        return "".join(
            event["params"].get("text") or ""
            for event in self.events
            if event["method"] == "item/agentMessage/delta" and event["params"].get("turnId") == turn_id
        )

    def numbers(self) -> list[int]:
        return [seq for event in self.events if (seq := event["params"].get("seq")) is not None]

    def assert_whole(self, first: int = 1) -> None:
        """Fails unless every event from ``first`` on came once, in order."""
        numbers = self.numbers()
        assert numbers == list(range(first, first + len(numbers))), numbers


class DaemonTest(unittest.IsolatedAsyncioTestCase):
    """A test with a daemon of its own."""

    async def asyncSetUp(self) -> None:
        # A test that hangs ends with the stacks of all threads.
        faulthandler.dump_traceback_later(5 * PATIENCE, exit=True)
        self.addCleanup(faulthandler.cancel_dump_traceback_later)
        # A flood in asyncio's debug mode takes its time.
        asyncio.get_running_loop().slow_callback_duration = 1
        root = Path(tempfile.mkdtemp(prefix="acpd-python-"))
        self.addCleanup(shutil.rmtree, root, ignore_errors=True)
        self.daemon = Daemon(root)
        self.daemon.prepare()
        self.addAsyncCleanup(self._end)
        await self.daemon.launch()
        self.errors: list[Exception] = []

    async def _end(self) -> None:
        await self.daemon.kill(signal.SIGTERM)
        self.assertNotIn("panicked", self.daemon.log())
        self.assertEqual(self.errors, [])

    async def client(self, name: str = "test", *, approvals: bool = True, **options: Any) -> Client:
        """A client with a connection."""
        capabilities: ClientCapabilities = {"approvals": approvals}
        options.setdefault("data_dir", self.daemon.data_dir if "url" not in options else None)
        client = connect(
            name=name,
            version="1",
            capabilities=capabilities,
            backoff=Backoff(0.01, 0.1),
            on_error=self.errors.append,
            ready_timeout=PATIENCE,
            **options,
        )
        return await self.enterAsync(client)

    async def enterAsync(self, client: Client) -> Client:
        """Enters a client until the end of the test. Python 3.10 has no ``enterAsyncContext``."""
        entered = await client.__aenter__()
        self.addAsyncCleanup(client.close)
        return entered

    async def thread(self, client: Client) -> str:
        """Starts a thread with the fake agent; returns its id."""
        started = await client.call("thread/start", {"agentType": "fake", "cwd": str(self.daemon.work)})
        return started["thread"]["id"]

    def follow(self, client: Client, thread_id: str, after: int = 0) -> Seen:
        return Seen(client.follow(thread_id, after=after))


async def become(client: Client, kind: type) -> None:
    """Waits until a client's state is of a kind."""
    reached = asyncio.Event()

    def look(state: object) -> None:
        if isinstance(state, kind):
            reached.set()

    off = client.on_state(look)
    look(client.state)
    try:
        await asyncio.wait_for(reached.wait(), PATIENCE)
    finally:
        off()
