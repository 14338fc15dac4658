"""Connections that break and daemons that end: no event is lost or delivered twice."""

from __future__ import annotations

import asyncio
import signal

from flaky import FlakyWire
from support import ACPD, PATIENCE, DaemonTest, become

from acpd_client import APPROVALS, Client, Connecting, ConnectionLost, Unauthenticated, Waiting
from acpd_client.protocol import Approval, QuestionAnswered


class Restarts(DaemonTest):
    async def test_kill_in_mid_turn(self) -> None:
        client = await self.client()
        thread_id = await self.thread(client)
        seen = self.follow(client, thread_id)
        for script, moment in (("stream n=8 ms=12; permission", 10), ("flood n=60000 bytes=300; permission", 700)):
            started = await client.call("turn/start", {"threadId": thread_id, "text": script})
            before = len(seen.events)
            await seen.until("some of it", lambda event, least=before + moment: len(seen.events) > least)  # type: ignore[misc]
            waiting = asyncio.create_task(become(client, Waiting))
            await self.daemon.kill(signal.SIGKILL)
            await waiting
            with self.assertRaises(ConnectionLost) as lost:
                await client.call("turn/start", {"threadId": thread_id, "text": "say never"})
            self.assertTrue(lost.exception.retryable)
            await self.daemon.launch()
            ended = await seen.turn(started["turn"]["id"])
            self.assertEqual(ended["status"], "interrupted", script)
            await client.ready(PATIENCE)
            after = await client.call("turn/start", {"threadId": thread_id, "text": "say back"})
            self.assertEqual((await seen.turn(after["turn"]["id"]))["status"], "completed")
            self.assertEqual(seen.said(after["turn"]["id"]), "back")
        seen.assert_whole()
        # What is in the log is what was seen.
        late = self.follow(await self.client("late"), thread_id)
        latest = (await client.call("thread/read", {"threadId": thread_id}))["thread"]["latestSeq"]
        for reader in (seen, late):
            await reader.until("the present", lambda event: event["params"].get("seq") == latest)
        self.assertEqual(seen.events, late.events)

    async def test_a_client_that_comes_back_with_its_cursor_continues_behind_it(self) -> None:
        client = await self.client()
        thread_id = await self.thread(client)
        async with client.follow(thread_id, after=0) as subscription:
            await client.call("turn/start", {"threadId": thread_id, "text": "stream n=50 ms=1; say end"})
            read = 0
            async for event in subscription:
                read += 1
                self.assertEqual(event["params"].get("seq"), read)
                if read == 12:
                    break
        self.assertEqual(subscription.cursor, 12)
        await client.close()
        await self.daemon.kill(signal.SIGKILL)
        await self.daemon.launch()
        again = self.follow(await self.client("again"), thread_id, after=12)
        await again.turn("turn_1")
        again.assert_whole(13)

    async def test_a_question_is_asked_once_however_often_the_daemon_asks(self) -> None:
        client = await self.client()
        thread_id = await self.thread(client)
        seen = self.follow(client, thread_id)
        # A daemon that is stopping may refuse a reader that has not begun.
        await seen.subscription.resumed()
        waiting = asyncio.create_task(become(client, Waiting))
        await self.daemon.kill(signal.SIGTERM)
        await waiting
        await self.daemon.launch()
        await client.ready(PATIENCE)
        asked = 0
        question = asyncio.Event()
        decided = asyncio.Event()

        async def decide(approval: Approval) -> QuestionAnswered:
            nonlocal asked
            asked += 1
            question.set()
            await decided.wait()
            return {"decision": "accept"}

        for method in APPROVALS:
            client.answer(method, decide)
        started = await client.call("turn/start", {"threadId": thread_id, "text": "permission; say two"})
        await asyncio.wait_for(question.wait(), PATIENCE)
        # Asked again by a subscription of its own, it is the same question.
        other = client.follow(thread_id, after=0)
        await other.resumed()
        decided.set()
        self.assertEqual((await seen.turn(started["turn"]["id"]))["status"], "completed")
        self.assertEqual(asked, 1)
        seen.assert_whole()

    async def test_a_turn_that_is_started_again_with_its_own_id_is_one_turn(self) -> None:
        client = await self.client()
        thread_id = await self.thread(client)
        seen = self.follow(client, thread_id)
        first = await client.call("turn/start", {"threadId": thread_id, "text": "say once", "clientTurnId": "mine"})
        await seen.turn(first["turn"]["id"])
        waiting = asyncio.create_task(become(client, Waiting))
        await self.daemon.kill(signal.SIGKILL)
        await waiting
        await self.daemon.launch()
        await client.ready(PATIENCE)
        again = await client.call("turn/start", {"threadId": thread_id, "text": "say once", "clientTurnId": "mine"})
        self.assertEqual(again["turn"]["id"], first["turn"]["id"])
        self.assertEqual(sum(event["method"] == "turn/started" for event in seen.events), 1)

    async def test_a_connection_that_breaks_again_and_again_anywhere(self) -> None:
        near = await self.client("near")
        thread_id = await self.thread(near)
        # The second one has to read all of it, over connections of a few ten thousand bytes each.
        wire = FlakyWire(self.daemon.address, 40_000)
        await wire.start()
        self.addAsyncCleanup(wire.close)
        far = await self.client("far", url=wire.url, token=self.daemon.token())
        seen_near, seen_far = self.follow(near, thread_id), self.follow(far, thread_id)
        script = "stream n=50 ms=1; flood n=4000; say end"
        started = await near.call("turn/start", {"threadId": thread_id, "text": script})
        await asyncio.gather(seen_near.turn(started["turn"]["id"]), seen_far.turn(started["turn"]["id"]))
        seen_far.assert_whole()
        self.assertEqual(seen_far.events, seen_near.events)
        self.assertGreater(wire.cuts, 10)

    async def test_a_wire_that_goes_silent_is_given_up(self) -> None:
        wire = FlakyWire(self.daemon.address, 1 << 30)
        await wire.start()
        self.addAsyncCleanup(wire.close)
        client = await self.client(url=wire.url, token=self.daemon.token(), silence_timeout=0.4, connect_timeout=0.4)
        pending = asyncio.create_task(client.call("thread/start", {"agentType": "stuck", "cwd": str(self.daemon.work)}))
        wire.hold()
        await become(client, Waiting)
        with self.assertRaises(ConnectionLost):
            await pending
        # Attempts that nothing answers are given up as well.
        await become(client, Connecting)
        await become(client, Waiting)
        self.assertRegex(str(self.reason(client)), "did not answer in time")
        wire.release()
        await client.ready(PATIENCE)

    @staticmethod
    def reason(client: Client) -> Exception:
        assert isinstance(client.state, Waiting)
        return client.state.error

    async def test_a_revoked_token_closes_the_client(self) -> None:
        create = await asyncio.create_subprocess_exec(
            ACPD, "token", "create", "--name", "phone", "--role", "observer",
            env=self.daemon.environment(), stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        token = (await create.communicate())[0].decode().split()[-1]
        phone = await self.client("phone", url=self.daemon.url, token=token, approvals=False)
        seen = self.follow(phone, await self.thread(await self.client()))
        await seen.subscription.resumed()
        revoke = await asyncio.create_subprocess_exec(
            ACPD, "token", "revoke", "phone",
            env=self.daemon.environment(), stdout=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        self.assertEqual(await revoke.wait(), 0)
        with self.assertRaisesRegex(Unauthenticated, "access has ended"):
            await seen.until("nothing", lambda event: False)
