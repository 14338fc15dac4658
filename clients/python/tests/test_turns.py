"""Turns, questions, errors and closing, with the real daemon."""

from __future__ import annotations

import asyncio
import signal
import socket
import ssl

from support import PATIENCE, DaemonTest, become

from acpd_client import (
    APPROVALS,
    Backoff,
    ClientClosed,
    Closed,
    ConnectionLost,
    MessageTooLarge,
    Open,
    RequestFailed,
    RequestTimeout,
    Unauthenticated,
    Waiting,
    connect,
)
from acpd_client.protocol import Approval, InputWanted, QuestionAnswered, Resolved, StartThread


class Turns(DaemonTest):
    async def test_a_whole_turn(self) -> None:
        client = await self.client()
        assert isinstance(client.state, Open)
        server = client.state.server
        self.assertEqual((server["serverInfo"]["name"], server["identity"]["role"]), ("acpd", "owner"))
        thread_id = await self.thread(client)
        seen = self.follow(client, thread_id)
        started = await client.call("turn/start", {"threadId": thread_id, "text": "think n=2; stream n=5 ms=1; plan"})
        turn = await seen.turn(started["turn"]["id"])
        self.assertEqual(turn["status"], "completed")
        self.assertTrue(seen.said(turn["id"]).startswith(" word 1 word 2 word 3 word 4 word 5"))
        self.assertEqual(seen.events[0]["method"], "thread/started")
        seen.assert_whole()
        read = await client.call("thread/read", {"threadId": thread_id, "includeTurns": True})
        self.assertEqual(len(read["thread"].get("turns") or []), 1)

    async def test_a_client_with_a_token_is_the_owner_as_well(self) -> None:
        client = await self.client(url=self.daemon.url, token=self.daemon.token())
        assert isinstance(client.state, Open)
        self.assertEqual(client.state.server["identity"]["role"], "owner")

    async def test_a_file_is_attached_and_a_prompt_links_to_it(self) -> None:
        path = self.daemon.root / "large fil\u00e9.txt"
        path.write_bytes(b"x" * (2 << 20))
        local = await self.client()
        remote = await self.client(url=self.daemon.url, token=self.daemon.token())
        for client in (local, remote):
            thread_id = await self.thread(client)
            block = await client.attach(thread_id, path)
            said = [block[member] for member in ("type", "name", "mimeType", "size")]
            self.assertEqual(said, ["resource_link", path.name, "text/plain", 2 << 20])
            named = await client.attach(thread_id, b"x", name="a/b?#.pdf")
            self.assertEqual((named["name"], named["mimeType"]), ("b?#.pdf", "application/pdf"))
            seen = self.follow(client, thread_id)
            started = await client.call("turn/start", {"threadId": thread_id, "text": "say done", "input": [block]})
            self.assertEqual((await seen.turn(started["turn"]["id"]))["status"], "completed")
        with self.assertRaises(RequestFailed) as failed:
            await remote.attach("0192f0c1-c5d7-7c0a-a5e5-f8d9a1b2c3d4", b"x")
        self.assertEqual((failed.exception.code, failed.exception.rpc_code), ("not_found", None))
        with self.assertRaises(MessageTooLarge):
            await remote.attach(thread_id, bytes((50 << 20) + 1))
        await self.daemon.kill(signal.SIGTERM)
        for client in (local, remote):
            with self.assertRaises(ConnectionLost):
                await client.attach(thread_id, b"x")

    async def test_a_slow_reader_receives_from_the_log_what_did_not_fit(self) -> None:
        client = await self.client()
        thread_id = await self.thread(client)
        for events, size in ((2_000, 1 << 30), (1_000_000, 100_000)):
            slow = client.follow(thread_id, after=0, buffered_events=events, buffered_bytes=size)
            seen = self.follow(client, thread_id)
            started = await client.call(
                "turn/start", {"threadId": thread_id, "text": "flood n=5000 kind=chunkmeta; say end"}
            )
            turn_id = started["turn"]["id"]
            await seen.turn(turn_id)
            seen.assert_whole()
            self.assertTrue(slow.paused, "it is more than fits")
            read = []
            async with slow:
                async for event in slow:
                    read.append(event)
                    if event["method"] == "turn/completed" and event["params"]["turn"]["id"] == turn_id:
                        break
            self.assertGreater(len(read), 4_000)
            self.assertEqual(read, seen.events[: len(read)])

    async def test_without_a_position_only_new_events_come(self) -> None:
        client = await self.client()
        thread_id = await self.thread(client)
        first = self.follow(client, thread_id)
        started = await client.call("turn/start", {"threadId": thread_id, "text": "say one"})
        await first.turn(started["turn"]["id"])
        late = await self.client("late")
        async with late.follow(thread_id, limit=5) as subscription:
            resumed = await subscription.resumed()
            self.assertEqual(len(resumed["thread"].get("turns") or []), 1)
            self.assertEqual(subscription.cursor, resumed["latestSeq"])
            await client.call("turn/start", {"threadId": thread_id, "text": "say two"})
            event = await subscription.__anext__()
            self.assertEqual(event["params"].get("seq"), resumed["latestSeq"] + 1)

    async def test_notifications_that_are_opted_out_of_leave_no_gap(self) -> None:
        client = await self.client()
        thread_id = await self.thread(client)
        quiet = connect(
            name="quiet",
            data_dir=self.daemon.data_dir,
            capabilities={"optOutNotificationMethods": ["item/agentMessage/delta"]},
            on_error=self.errors.append,
        )
        await self.enterAsync(quiet)
        seen = self.follow(quiet, thread_id)
        started = await client.call("turn/start", {"threadId": thread_id, "text": "stream n=5 ms=1"})
        await seen.turn(started["turn"]["id"])
        self.assertEqual(seen.said(started["turn"]["id"]), "")
        self.assertEqual(seen.numbers(), sorted(set(seen.numbers())))
        self.assertEqual(seen.subscription.cursor, seen.numbers()[-1])

    async def test_the_list_of_threads_can_be_watched(self) -> None:
        client = await self.client()
        changed: asyncio.Queue[str] = asyncio.Queue()
        client.on("thread/list/changed", lambda change: changed.put_nowait(change["threadId"]))
        await client.call("thread/list/watch")
        other = await self.client("other")
        thread_id = await self.thread(other)
        self.assertEqual(await asyncio.wait_for(changed.get(), PATIENCE), thread_id)


class Questions(DaemonTest):
    async def test_an_approval_is_answered_by_its_handler(self) -> None:
        client = await self.client()
        asked: list[str] = []

        async def allow(approval: Approval) -> QuestionAnswered:
            asked.append(approval["title"])
            once = next(option for option in approval["options"] if option["kind"] == "allow_once")
            return {"decision": "accept", "optionId": once["optionId"]}

        for method in APPROVALS:
            client.answer(method, allow)
        thread_id = await self.thread(client)
        seen = self.follow(client, thread_id)
        for kind in ("execute", "edit", "read"):
            started = await client.call("turn/start", {"threadId": thread_id, "text": f"permission kind={kind}"})
            await seen.turn(started["turn"]["id"])
            self.assertEqual(seen.said(started["turn"]["id"]), "allowed (allow_once)")
        self.assertEqual(len(asked), 3)
        seen.assert_whole()

    async def test_a_form_is_answered_by_a_plain_function(self) -> None:
        client = await self.client()
        wanted: list[InputWanted] = []

        def dismiss(question: InputWanted) -> QuestionAnswered:
            wanted.append(question)
            return {"dismissed": True}

        client.answer("item/tool/requestUserInput", dismiss)
        thread_id = await self.thread(client)
        seen = self.follow(client, thread_id)
        started = await client.call("turn/start", {"threadId": thread_id, "text": "elicit"})
        self.assertEqual((await seen.turn(started["turn"]["id"]))["status"], "completed")
        self.assertEqual(wanted[0].get("mode"), "form")

    async def test_nothing_is_answered_by_default(self) -> None:
        client = await self.client()
        failed: asyncio.Queue[str] = asyncio.Queue()

        def broken(approval: Approval) -> QuestionAnswered:
            failed.put_nowait(approval["requestId"])
            raise RuntimeError("the handler is broken")

        # One handler has no answer, one fails, and one kind of question has no handler.
        client.answer("item/permissions/requestApproval", lambda approval: None)
        client.answer("item/commandExecution/requestApproval", broken)
        thread_id = await self.thread(client)
        seen = self.follow(client, thread_id)
        for kind in ("read", "execute", "edit"):
            started = await client.call("turn/start", {"threadId": thread_id, "text": f"permission kind={kind}"})
            turn_id = started["turn"]["id"]
            await seen.until(
                "the question",
                lambda event, turn_id=turn_id: (
                    event["method"] in APPROVALS  # type: ignore[misc]
                    and event["params"].get("turnId") == turn_id
                ),
            )
            thread = (await client.call("thread/read", {"threadId": thread_id}))["thread"]
            self.assertEqual((thread["status"], len(thread["pendingRequestIds"])), ("waiting", 1))
            # Another way to answer is still open.
            await client.call("item/approve", {"requestId": thread["pendingRequestIds"][0], "approved": False})
            await seen.turn(turn_id)
        await asyncio.wait_for(failed.get(), PATIENCE)
        self.assertEqual([str(error) for error in self.errors], ["the handler is broken"])
        self.errors.clear()

    async def test_a_handler_is_cancelled_when_another_client_answers(self) -> None:
        one = await self.client("one")
        two = await self.client("two")
        thread_id = await self.thread(one)
        seen_by_one, seen_by_two = self.follow(one, thread_id), self.follow(two, thread_id)
        asked: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        cancelled = asyncio.Event()
        resolutions: list[Resolved] = []

        async def never(approval: Approval) -> QuestionAnswered:
            asked.set_result(approval["requestId"])
            try:
                await asyncio.Event().wait()
            finally:
                cancelled.set()
            return {"decision": "accept"}

        async def first(approval: Approval) -> QuestionAnswered:
            await asyncio.shield(asked)
            return {"decision": "accept"}

        for method in APPROVALS:
            one.answer(method, first)
            two.answer(method, never)
        two.on("serverRequest/resolved", resolutions.append)
        started = await one.call("turn/start", {"threadId": thread_id, "text": "permission"})
        await asyncio.wait_for(cancelled.wait(), PATIENCE)
        self.assertEqual(resolutions[0]["outcome"], "accepted")
        by = resolutions[0]["by"]
        self.assertEqual(by["kind"] == "client" and by["client"], "one")
        with self.assertRaises(RequestFailed) as refused:
            await two.call("item/approve", {"requestId": await asked, "approved": False})
        self.assertEqual((refused.exception.code, refused.exception.rpc_code), ("already_resolved", -32004))
        await asyncio.gather(seen_by_one.turn(started["turn"]["id"]), seen_by_two.turn(started["turn"]["id"]))
        self.assertEqual(seen_by_one.events, seen_by_two.events)
        seen_by_two.assert_whole()

    async def test_an_observer_sees_questions_and_is_not_asked(self) -> None:
        client = await self.client()
        observer = await self.client("observer", approvals=False)
        thread_id = await self.thread(client)
        seen = self.follow(observer, thread_id)
        heard: list[str] = []
        for method in APPROVALS:
            observer.answer(method, lambda approval: self.fail("it must not be asked"))
            observer.on(method, lambda approval: heard.append(approval["requestId"]))
            client.answer(method, lambda approval: {"decision": "decline"})
        started = await client.call("turn/start", {"threadId": thread_id, "text": "permission"})
        await seen.turn(started["turn"]["id"])
        self.assertEqual(seen.said(started["turn"]["id"]), "rejected (reject_once)")
        self.assertEqual(len(heard), 1)


class Failures(DaemonTest):
    async def test_a_wrong_token_closes_the_client(self) -> None:
        client = connect(self.daemon.url, token="0" * 64, name="thief")
        with self.assertRaises(Unauthenticated) as refused:
            await client.__aenter__()
        self.assertIn("does not let this client in (401)", str(refused.exception))
        assert isinstance(client.state, Closed)
        with self.assertRaises(ClientClosed):
            await client.call("agent/list")

    async def test_a_refused_connection_says_what_to_do(self) -> None:
        with socket.socket() as taken:
            # Nothing listens at a port that is only bound.
            taken.bind(("127.0.0.1", 0))
            port = taken.getsockname()[1]
            reason = await self.reason(f"http://127.0.0.1:{port}")
        self.assertEqual(
            reason,
            f"the daemon at ws://127.0.0.1:{port}/ws cannot be reached (connection refused): "
            "is it running, and is the address right?",
        )

    async def test_a_data_directory_without_a_daemon_says_what_to_do(self) -> None:
        await self.daemon.kill(signal.SIGKILL)
        advice = 'start it with "acpd serve"'
        where = f"the daemon of {self.daemon.data_dir} cannot be reached"
        self.assertEqual(await self.reason(), f"{where} (connection refused): {advice}")
        (self.daemon.data_dir / "acpd.sock").unlink()
        self.assertEqual(await self.reason(), f"{where} (there is no acpd.sock): {advice}")

    async def test_a_wrong_path_and_a_wrong_address(self) -> None:
        reason = await self.reason(f"{self.daemon.url}/nosuch", token=self.daemon.token())
        self.assertRegex(reason, r"/nosuch refused the connection with status \d+: is this the address of acpd\?")
        # What a resolver says of a name without an address differs from host to host.
        self.assertRegex(
            await self.reason("http://box.invalid"), r"cannot be reached \((?!unknown error).+\): is it running"
        )
        for url in ("ftp://box.example", "127.0.0.1:4127", "http://box:port", "http://:1", ""):
            with self.assertRaisesRegex(ValueError, "invalid daemon URL"):
                connect(url, name="lost")

    async def test_a_server_of_another_kind(self) -> None:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"SSH-2.0-OpenSSH_9.6\r\n")
            writer.close()

        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        self.addCleanup(server.close)
        port = server.sockets[0].getsockname()[1]
        self.assertIn("does not answer as acpd does", await self.reason(f"http://127.0.0.1:{port}"))
        self.assertIn("does not use TLS", await self.reason(f"https://{self.daemon.address}"))

    async def test_a_certificate_has_to_be_trusted(self) -> None:
        await self.daemon.kill(signal.SIGTERM)
        with (self.daemon.root / "acpd.toml").open("a") as config:
            config.write("[server.tls]\nself_signed = true\n")
        await self.daemon.launch()
        url, token = f"https://{self.daemon.address}", self.daemon.token()
        self.assertRegex(await self.reason(url, token), r"cannot be trusted \(self.signed certificate.*\): pass an ssl")
        trusting = ssl.create_default_context(cafile=self.daemon.data_dir / "tls-cert.pem")
        client = await self.client(url=url, token=token, ssl=trusting)
        self.assertEqual((await client.call("thread/list"))["data"], [])

    async def reason(self, url: str | None = None, token: str | None = None) -> str:
        """Why a client has no connection."""
        data_dir = self.daemon.data_dir if url is None else None
        backoff = Backoff(0.01, 0.1)
        client = connect(url, token=token, data_dir=data_dir, name="early", ready_timeout=0, backoff=backoff)
        client.start()
        await become(client, Waiting)
        with self.assertRaises(ConnectionLost) as unanswered:
            await client.call("agent/list")
        # Entering a client that is not ready in time closes it.
        with self.assertRaises(ConnectionLost) as refused:
            await client.__aenter__()
        self.assertIsInstance(client.state, Closed)
        self.assertEqual(str(unanswered.exception), f"there is no connection to the daemon: {refused.exception}")
        return str(refused.exception)

    async def test_a_client_waits_for_its_daemon(self) -> None:
        await self.daemon.kill(signal.SIGTERM)
        client = connect(
            data_dir=self.daemon.data_dir, name="early", ready_timeout=PATIENCE, backoff=Backoff(0.01, 0.1)
        )
        entering = asyncio.create_task(self.enterAsync(client))
        await become(client, Waiting)
        await self.daemon.launch()
        await entering
        self.assertIsInstance(client.state, Open)

    async def test_a_long_data_directory(self) -> None:
        client = await self.client()
        deep = self.daemon.root / ("x" * 120)
        deep.symlink_to(self.daemon.data_dir)
        far = await self.client("far", data_dir=deep)
        self.assertEqual((await far.call("agent/list"))["data"], (await client.call("agent/list"))["data"])

    async def test_errors_of_the_daemon_are_typed(self) -> None:
        client = await self.client()
        unknown = "01920000-0000-7000-8000-000000000000"
        with self.assertRaises(RequestFailed) as failed:
            await client.call("thread/read", {"threadId": unknown})
        self.assertEqual((failed.exception.code, failed.exception.rpc_code), ("not_found", -32002))
        subscription = client.follow(unknown, after=0)
        with self.assertRaises(RequestFailed):
            await subscription.resumed()
        with self.assertRaises(RequestFailed):
            await subscription.__anext__()
        self.assertTrue(subscription.ended)
        with self.assertRaises(RequestFailed) as failed:
            await client.call("turn/interrupt", {"threadId": await self.thread(client)})
        self.assertEqual(failed.exception.code, "conflict")

    async def test_a_request_that_is_too_large_names_the_limit(self) -> None:
        client = await self.client()
        thread_id = await self.thread(client)
        with self.assertRaisesRegex(MessageTooLarge, r"turn/start has 2000\d\d\d bytes.*at most 1048576"):
            await client.call("turn/start", {"threadId": thread_id, "text": "é" * 1_000_000})

    async def test_a_message_that_is_too_large_for_the_client_closes_it(self) -> None:
        client = await self.client()
        thread_id = await self.thread(client)
        small = await self.client("small", max_message_bytes=100_000)
        seen = self.follow(small, thread_id)
        await client.call("turn/start", {"threadId": thread_id, "text": "longline bytes=1000000"})
        with self.assertRaisesRegex(MessageTooLarge, "max_message_bytes"):
            await seen.until("its end", lambda event: event["method"] == "turn/completed")

    async def test_requests_can_be_cancelled_and_time_out(self) -> None:
        client = await self.client()
        thread_id = await self.thread(client)
        params: StartThread = {"agentType": "stuck", "cwd": str(self.daemon.work)}
        with self.assertRaisesRegex(RequestTimeout, "thread/start was not answered within 0.05 s"):
            await client.call("thread/start", params, timeout=0.05)
        waiting = asyncio.create_task(client.call("thread/start", params))
        await client.call("thread/read", {"threadId": thread_id})
        waiting.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await waiting
        # The client works as before.
        self.assertEqual((await client.call("thread/read", {"threadId": thread_id}))["thread"]["id"], thread_id)

    async def test_closing_ends_what_waits(self) -> None:
        client = await self.client()
        thread_id = await self.thread(client)
        reading = asyncio.create_task(client.follow(thread_id).__anext__())
        subscription = client.follow(thread_id, after=0)
        await subscription.resumed()
        await client.close()
        with self.assertRaises(StopAsyncIteration):
            await reading
        with self.assertRaises(ClientClosed):
            await client.call("thread/list")
        with self.assertRaises(ClientClosed):
            await client.ready()
        await client.close()
