import assert from "node:assert/strict";
import { test } from "node:test";

import type { AcpdError } from "@acpd/client";

import { FlakyWire } from "../support/flaky.js";
import { become, Daemon, Later, Seen } from "../support/daemon.js";

test("kill -9 in mid-turn: nothing is lost, nothing comes twice", async (t) => {
  const daemon = await Daemon.start(t);
  const client = await daemon.client();
  const threadId = await daemon.thread(client);
  const seen = new Seen(client, threadId);
  for (const [script, moment] of [
    ["stream n=8 ms=12; permission", 10],
    ["flood n=60000 bytes=300; permission", 700],
  ] as const) {
    const { turn } = await client.call("turn/start", { threadId, text: script });
    const before = seen.events.length;
    await seen.until("some of it", () => seen.events.length > before + moment);
    const waiting = become(client, "waiting");
    await daemon.kill("SIGKILL");
    await waiting;
    const asked = client.call("turn/start", { threadId, text: "say never" });
    await assert.rejects(asked, (error: AcpdError) => error.code === "disconnected" && error.retryable);
    await daemon.launch();
    const ended = await seen.turn(turn.id);
    assert.equal(ended.status, "interrupted", script);
    assert.match(ended.error ?? "", /restarted/);
    await client.ready();
    const next = await client.call("turn/start", { threadId, text: "say back" });
    assert.equal((await seen.turn(next.turn.id)).status, "completed");
    assert.equal(seen.said(next.turn.id), "back");
  }
  seen.assertWhole();
  // What is in the log is what was seen.
  const late = new Seen(await daemon.client("late"), threadId);
  const { latestSeq } = (await client.call("thread/read", { threadId })).thread;
  await late.until("the present", ({ params }) => params.seq === latestSeq);
  await seen.until("the present", ({ params }) => params.seq === latestSeq);
  assert.deepEqual(seen.events, late.events);
});

test("a client that comes back with its cursor goes on behind it", async (t) => {
  const daemon = await Daemon.start(t);
  const client = await daemon.client();
  const threadId = await daemon.thread(client);
  const subscription = client.follow(threadId, { after: 0 });
  await client.call("turn/start", { threadId, text: "stream n=50 ms=1; say end" });
  let read = 0;
  for await (const { params } of subscription) {
    assert.equal(params.seq, ++read);
    if (read === 12) {
      break;
    }
  }
  assert.equal(subscription.cursor, 12);
  client.close();
  await daemon.kill("SIGKILL");
  await daemon.launch();
  const again = new Seen(await daemon.client("again"), threadId, subscription.cursor);
  await again.turn("turn_1");
  again.assertWhole(13);
});

test("a daemon that is stopped and started is followed on, and asks again", async (t) => {
  const daemon = await Daemon.start(t);
  const client = await daemon.client();
  const threadId = await daemon.thread(client);
  const seen = new Seen(client, threadId);
  const first = await client.call("turn/start", { threadId, text: "say one" });
  await seen.turn(first.turn.id);
  const waiting = become(client, "waiting");
  await daemon.kill("SIGTERM");
  await waiting;
  await daemon.launch();
  await client.ready();
  let asked = 0;
  const decided = new Later<{ decision: string }>();
  const question = new Later<void>();
  for (const method of [
    "item/permissions/requestApproval",
    "item/commandExecution/requestApproval",
    "item/fileChange/requestApproval",
  ] as const) {
    client.answer(method, () => {
      asked++;
      question.resolve();
      return decided.promise;
    });
  }
  const { turn } = await client.call("turn/start", { threadId, text: "permission; say two" });
  await question.promise;
  // Asked again by a subscription of its own, it is the same question.
  const other = client.follow(threadId, { after: 0, onEvent: () => {} });
  await other.resumed;
  decided.resolve({ decision: "accept" });
  assert.equal((await seen.turn(turn.id)).status, "completed");
  assert.equal(asked, 1);
  seen.assertWhole();
});

test("a turn that is started again with its own id is one turn", async (t) => {
  const daemon = await Daemon.start(t);
  const client = await daemon.client();
  const threadId = await daemon.thread(client);
  const seen = new Seen(client, threadId);
  const params = { threadId, text: "say once", clientTurnId: "mine" };
  const first = await client.call("turn/start", params);
  await seen.turn(first.turn.id);
  const waiting = become(client, "waiting");
  await daemon.kill("SIGKILL");
  await waiting;
  await daemon.launch();
  await client.ready();
  const again = await client.call("turn/start", params);
  assert.equal(again.turn.id, first.turn.id);
  assert.equal(seen.events.filter(({ method }) => method === "turn/started").length, 1);
});

test("a connection that breaks again and again, anywhere, loses nothing", async (t) => {
  const daemon = await Daemon.start(t);
  const near = await daemon.client("near");
  const threadId = await daemon.thread(near);
  // The second one has to read all of it, over connections of a few ten thousand bytes each.
  const wire = await FlakyWire.to(t, daemon.url, 40_000);
  const far = await daemon.client("far", { url: wire.url });
  const [seenNear, seenFar] = [new Seen(near, threadId), new Seen(far, threadId)];
  const { turn } = await near.call("turn/start", { threadId, text: "stream n=50 ms=1; flood n=4000; say end" });
  await Promise.all([seenNear.turn(turn.id), seenFar.turn(turn.id)]);
  seenFar.assertWhole();
  assert.deepEqual(seenFar.events, seenNear.events);
  assert(wire.cuts > 10, `${wire.cuts} cuts`);
});
