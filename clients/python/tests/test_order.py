"""Events that are missing, repeated or damaged, lost answers, and what violates the protocol: with a fake daemon."""

from __future__ import annotations

import asyncio

from fake import FakeTest
from support import PATIENCE, become

from acpd_client import (
    Closed,
    ConnectionLost,
    Malformed,
    Open,
    ProtocolMismatch,
    RequestFailed,
    Subscription,
    Waiting,
)
from acpd_client.protocol import Approval, QuestionAnswered


async def read(subscription: Subscription, count: int) -> list[int | None]:
    """Reads so many events; returns their numbers."""
    return [(await asyncio.wait_for(anext(subscription), PATIENCE))["params"].get("seq") for _ in range(count)]


class Order(FakeTest):
    async def test_repeated_events_come_once_and_a_gap_is_read_from_the_log(self) -> None:
        client = await self.client()
        events = client.follow("t", after=2)
        self.assertEqual(await self.daemon.resumed(4), {"threadId": "t", "after": 2})
        for seq in (2, 3, 3, 4, 7):
            await self.daemon.event(seq)
        self.assertEqual(await read(events, 2), [3, 4])
        self.assertEqual(await self.daemon.resumed(7), {"threadId": "t", "after": 4})
        for seq in (5, 6, 7):
            await self.daemon.event(seq)
        self.assertEqual(await read(events, 3), [5, 6, 7])

    async def test_a_notice_of_damage_takes_the_place_of_the_lost_events(self) -> None:
        client = await self.client()
        events = client.follow("t", after=0)
        await self.daemon.resumed(9)
        await self.daemon.event(8, "thread/log/damaged", firstSeq=1, reason="it cannot be read")
        await self.daemon.event(9)
        self.assertEqual(await read(events, 2), [8, 9])
        self.assertTrue(self.daemon.is_silent())

    async def test_a_reset_is_resumed_and_so_is_a_new_connection(self) -> None:
        client = await self.client()
        events = client.follow("t", after=0, start_agent=False)
        self.assertEqual(await self.daemon.resumed(1), {"threadId": "t", "after": 0, "startAgent": False})
        await self.daemon.event(1)
        await self.daemon.say({"method": "stream/reset", "params": {"threadId": "t"}})
        self.assertEqual((await self.daemon.resumed(1))["after"], 1)
        waiting = asyncio.create_task(become(client, Waiting))
        await asyncio.sleep(0)
        await self.daemon.cut()
        await waiting
        self.assertEqual((await self.daemon.resumed(2))["after"], 1)
        await self.daemon.event(2)
        self.assertEqual(await read(events, 2), [1, 2])

    async def test_readers_of_one_thread_share_a_subscription(self) -> None:
        client = await self.client()
        far = client.follow("t", after=3)
        await self.daemon.resumed(4)
        await self.daemon.event(4)
        self.assertEqual(await read(far, 1), [4])
        # The one behind moves the subscription back; the other one ignores what it knows.
        near = client.follow("t", after=0)
        self.assertEqual((await self.daemon.resumed(4))["after"], 0)
        for seq in range(1, 6):
            await self.daemon.event(seq)
        self.assertEqual(await read(near, 5), [1, 2, 3, 4, 5])
        self.assertEqual(await read(far, 1), [5])
        heard: list[int] = []
        client.on("thread/notice", lambda notice: heard.append(notice["seq"]))
        await self.daemon.event(6)
        self.assertEqual(await read(near, 1) + await read(far, 1), [6, 6])
        self.assertEqual(heard, [6])
        near.close()
        self.assertTrue(self.daemon.is_silent())
        far.close()
        await self.daemon.next("thread/unsubscribe")

    async def test_a_full_buffer_is_filled_again_once_it_was_read(self) -> None:
        client = await self.client()
        events = client.follow("t", after=0, buffered_events=2)
        await self.daemon.resumed(5)
        for seq in range(1, 6):
            await self.daemon.event(seq)
        # The last one has arrived when the daemon's answer behind it has.
        asked = asyncio.create_task(client.call("agent/list"))
        await self.daemon.say({"id": (await self.daemon.next("agent/list"))["id"], "result": {"data": []}})
        await asked
        self.assertTrue(events.paused)
        self.assertEqual(await read(events, 2), [1, 2])
        self.assertEqual((await self.daemon.resumed(5))["after"], 2)
        for seq in range(3, 6):
            await self.daemon.event(seq)
        self.assertEqual(await read(events, 2), [3, 4])

    async def refuse(self, retryable: bool) -> None:
        request = await self.daemon.next("thread/resume")
        data = {"code": "storage", "retryable": retryable}
        error = {"code": -32009, "message": "the log cannot be read", "data": data}
        await self.daemon.say({"id": request["id"], "error": error})

    async def test_the_first_refusal_is_final_and_a_later_one_only_if_no_retry_helps(self) -> None:
        client = await self.client()
        for retryable in (True, False):
            events = client.follow("t", after=0)
            await self.refuse(retryable)
            with self.assertRaisesRegex(RequestFailed, "the log cannot be read") as refused:
                await asyncio.wait_for(anext(events), PATIENCE)
            self.assertEqual(refused.exception.retryable, retryable)
            with self.assertRaises(StopAsyncIteration):
                await anext(events)
            with self.assertRaises(RequestFailed):
                await events.resumed()
            await self.daemon.next("thread/unsubscribe")
        events = client.follow("t", after=0)
        await self.daemon.resumed(0)
        await self.daemon.say({"method": "stream/reset", "params": {"threadId": "t"}})
        for retryable in (True, True, False):
            await self.refuse(retryable)
        with self.assertRaisesRegex(RequestFailed, "the log cannot be read"):
            await asyncio.wait_for(anext(events), PATIENCE)

    async def test_a_reader_that_is_refused_for_now_leaves_the_earlier_one(self) -> None:
        client = await self.client()
        early = client.follow("t", after=4)
        await self.daemon.resumed(4)
        late = client.follow("t", after=0)
        await self.refuse(True)
        with self.assertRaises(RequestFailed):
            await asyncio.wait_for(anext(late), PATIENCE)
        await self.daemon.event(5)
        self.assertEqual(await read(early, 1), [5])


class Answers(FakeTest):
    async def test_a_lost_answer_is_sent_again(self) -> None:
        client = await self.client()
        asked: list[str] = []

        async def allow(approval: Approval) -> QuestionAnswered:
            asked.append(approval["requestId"])
            return {"decision": "accept"}

        client.answer("item/permissions/requestApproval", allow)
        client.follow("t", after=0)
        await self.daemon.resumed(0)
        await self.daemon.ask(1, "r")
        self.assertEqual((await self.daemon.next())["result"], {"decision": "accept"})
        waiting = asyncio.create_task(become(client, Waiting))
        await asyncio.sleep(0)
        await self.daemon.cut()
        await waiting
        await self.daemon.resumed(1, ("r",))
        await self.daemon.ask(1, "r")
        answer = await self.daemon.next()
        self.assertEqual((answer["id"], answer["result"]), ("r", {"decision": "accept"}))
        self.assertEqual(asked, ["r"])

    async def test_a_question_that_is_over_when_the_client_returns_cancels_its_handler(self) -> None:
        client = await self.client()
        asked, cancelled = asyncio.Event(), asyncio.Event()

        async def ask_a_user(approval: Approval) -> QuestionAnswered:
            asked.set()
            try:
                await asyncio.Event().wait()
            finally:
                cancelled.set()
            return {"decision": "accept"}

        client.answer("item/permissions/requestApproval", ask_a_user)
        client.follow("t", after=0)
        await self.daemon.resumed(0)
        await self.daemon.ask(1, "r")
        await asyncio.wait_for(asked.wait(), PATIENCE)
        await self.daemon.cut()
        await self.daemon.resumed(2)
        await asyncio.wait_for(cancelled.wait(), PATIENCE)
        self.assertEqual(self.errors, [])

    async def test_a_rejected_answer_is_reported_and_not_sent_again(self) -> None:
        client = await self.client()
        client.answer("item/permissions/requestApproval", lambda approval: {"decision": "acceptt"})
        client.follow("t", after=0)
        await self.daemon.resumed(0)
        await self.daemon.ask(1, "r")
        await self.daemon.next()
        heard = asyncio.Event()
        client.on("serverRequest/rejected", lambda rejected: heard.set())
        error = {"code": -32602, "message": "no such decision", "data": {"code": "invalid_params", "retryable": False}}
        await self.daemon.say({"method": "serverRequest/rejected", "params": {"requestId": "r", "error": error}})
        await asyncio.wait_for(heard.wait(), PATIENCE)
        self.assertEqual([str(error) for error in self.errors], ["no such decision"])
        await self.daemon.cut()
        await self.daemon.resumed(1, ("r",))
        await self.daemon.ask(1, "r")
        asked = asyncio.create_task(client.call("agent/list"))
        # The next thing that the client sends is this request, and no answer.
        request = await self.daemon.next("agent/list")
        await self.daemon.say({"id": request["id"], "result": {"data": []}})
        await asked


class Violations(FakeTest):
    async def test_another_version_of_the_protocol_closes_the_client(self) -> None:
        self.daemon.version = 99
        client = self.new_client()
        with self.assertRaisesRegex(ProtocolMismatch, "the daemon uses version 99 of the protocol, and this client"):
            await client.__aenter__()
        self.assertIsInstance(client.state, Closed)

    async def test_messages_that_violate_the_protocol_are_reported(self) -> None:
        client = await self.client()
        for text in ("{", "[]", '{"id": 99, "result": 1}', '{"id": 7, "method": "item/fileChange/requestApproval"}'):
            await self.daemon.say_text(text)
        error = {"code": -32700, "message": "unreadable", "data": None}
        await self.daemon.say({"id": None, "error": error})
        asked = asyncio.create_task(client.call("agent/list"))
        await self.daemon.say({"id": (await self.daemon.next("agent/list"))["id"], "result": {"data": []}})
        await asked
        self.assertEqual([type(error) for error in self.errors], [Malformed, Malformed, Malformed, RequestFailed])
        self.assertIsInstance(client.state, Open)

    async def test_a_request_is_not_sent_twice(self) -> None:
        client = await self.client()
        asked = asyncio.create_task(client.call("turn/start", {"threadId": "t", "text": "hello"}))
        await self.daemon.next("turn/start")
        await self.daemon.cut()
        with self.assertRaises(ConnectionLost):
            await asked
        await client.ready(PATIENCE)
        self.assertTrue(self.daemon.is_silent())

    async def test_errors_of_handlers_are_reported_and_change_nothing(self) -> None:
        client = await self.client()
        events = client.follow("t", after=0)
        await self.daemon.resumed(0)

        def broken(value: object) -> None:
            raise RuntimeError("the handler is broken")

        client.on("thread/notice", broken)
        client.on_state(broken)
        await self.daemon.event(1)
        self.assertEqual(await read(events, 1), [1])
        await self.daemon.cut()
        await self.daemon.resumed(1)
        self.assertEqual({str(error) for error in self.errors}, {"the handler is broken"})
        self.assertEqual(len(self.errors), 4)
