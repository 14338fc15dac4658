import assert from "node:assert/strict";
import { test } from "node:test";

import type { AcpdError, ThreadEvent } from "@acpd/client";

import { settle } from "../support/clock.js";
import { Scene, seqs } from "../support/fake.js";

/** A client that follows the thread `t` from an event on. */
async function following(after?: number) {
  const scene = await Scene.open();
  const events: ThreadEvent[] = [];
  const subscription = scene.client.follow("t", {
    ...(after === undefined ? {} : { after }),
    onEvent: (event) => events.push(event),
  });
  return { scene, events, subscription, client: scene.client, clock: scene.clock };
}

test("events come in order, each once", async () => {
  const { scene, events, subscription } = await following(0);
  assert.deepEqual(scene.socket.requests("thread/resume")[0]?.params, { threadId: "t", after: 0 });
  // The first ones may overtake the answer.
  scene.socket.event(1);
  scene.socket.resumed(2);
  for (const seq of [2, 2, 1, 3]) {
    scene.socket.event(seq);
  }
  assert.deepEqual([seqs(events), subscription.cursor], [[1, 2, 3], 3]);
  assert.equal((await subscription.resumed).latestSeq, 2);
  assert.equal(scene.socket.requests("thread/resume").length, 1);
});

test("a new connection goes on behind the last event", async () => {
  const { scene, events } = await following(4);
  scene.socket.resumed(4);
  scene.socket.event(5);
  await scene.again();
  assert.deepEqual(scene.socket.requests("thread/resume").map((request) => request.params), [
    { threadId: "t", after: 5 },
  ]);
  scene.socket.event(6);
  scene.socket.resumed(7);
  scene.socket.event(7);
  assert.deepEqual(seqs(events), [5, 6, 7]);
});

test("a gap is filled by asking again, and nothing comes twice", async () => {
  const { scene, events } = await following(0);
  scene.socket.resumed(0);
  scene.socket.event(1);
  scene.socket.event(4);
  scene.socket.event(5);
  assert.deepEqual(scene.socket.requests("thread/resume").map((request) => request.params?.after), [0, 1]);
  assert.deepEqual(seqs(events), [1]);
  for (const seq of [2, 3, 4, 5]) {
    scene.socket.event(seq);
  }
  scene.socket.resumed(5);
  scene.socket.event(6);
  assert.deepEqual(seqs(events), [1, 2, 3, 4, 5, 6]);
  assert.equal(scene.socket.requests("thread/resume").length, 2);
});

test("a daemon that always leaves the same out is asked less and less often", async () => {
  const { scene, clock } = await following(0);
  scene.socket.resumed(2);
  const asked = () => scene.socket.requests("thread/resume").length;
  scene.socket.event(2);
  assert.equal(asked(), 2);
  for (let k = 0; k < 100; k++) {
    scene.socket.resumed(2);
    scene.socket.event(2);
  }
  assert.equal(asked(), 2, "not at once");
  await clock.pass(500);
  assert.equal(asked(), 3);
  scene.socket.resumed(2);
  scene.socket.event(2);
  await clock.pass(999);
  assert.equal(asked(), 3);
  await clock.pass(1);
  assert.equal(asked(), 4);
});

test("after stream/reset it resumes from its cursor", async () => {
  const { scene, events } = await following(0);
  scene.socket.resumed(0);
  scene.socket.event(1);
  scene.socket.say({ method: "stream/reset", params: { threadId: "t", latestSeq: 9 } });
  assert.deepEqual(scene.socket.requests("thread/resume").at(-1)?.params, { threadId: "t", after: 1 });
  // Once more, while it is being asked: that answer may be of the stream that was reset.
  scene.socket.say({ method: "stream/reset", params: { threadId: "t", latestSeq: 9 } });
  scene.socket.resumed(9);
  assert.equal(scene.socket.requests("thread/resume").length, 3);
  scene.socket.event(2);
  scene.socket.resumed(9);
  scene.socket.event(3);
  assert.deepEqual(seqs(events), [1, 2, 3]);
});

test("without a cursor it begins at the present", async () => {
  const { scene, events, subscription } = await following();
  assert.deepEqual(scene.socket.requests("thread/resume")[0]?.params, { threadId: "t" });
  assert.equal(subscription.cursor, undefined);
  scene.socket.resumed(10);
  assert.equal(subscription.cursor, 10);
  scene.socket.event(11);
  assert.deepEqual(seqs(events), [11]);
});

test("without a cursor, what overtakes the answer is not lost", async () => {
  const { scene, events } = await following();
  scene.socket.event(10);
  scene.socket.event(11);
  scene.socket.resumed(10);
  assert.deepEqual(scene.socket.requests("thread/resume").at(-1)?.params, { threadId: "t", after: 10 });
  scene.socket.event(11);
  scene.socket.resumed(11);
  scene.socket.event(12);
  assert.deepEqual(seqs(events), [11, 12]);
});

test("what is only shown live passes through, and does not move the cursor", async () => {
  const { scene, events, subscription } = await following(3);
  scene.socket.resumed(3);
  scene.socket.event(undefined, "item/terminalCommand/output");
  scene.socket.event(4);
  assert.deepEqual([seqs(events), subscription.cursor], [[undefined, 4], 4]);
});

test("two readers share one subscription, and each sees every event once", async () => {
  const { scene, events, client } = await following(0);
  const heard: number[] = [];
  client.on("thread/notice", ({ seq }) => heard.push(seq));
  scene.socket.resumed(2);
  scene.socket.event(1);
  scene.socket.event(2);
  const late: ThreadEvent[] = [];
  const reader = client.follow("t", { after: 0, onEvent: (event) => late.push(event) });
  const fresh: ThreadEvent[] = [];
  client.follow("t", { onEvent: (event) => fresh.push(event) });
  assert.deepEqual(scene.socket.requests("thread/resume").map((request) => request.params?.after), [0, 0]);
  scene.socket.event(1);
  scene.socket.resumed(2);
  // Next comes the one without a cursor; then the wire goes back for the one that is behind.
  assert.deepEqual(scene.socket.requests("thread/resume").at(-1)?.params, { threadId: "t" });
  scene.socket.resumed(3);
  assert.deepEqual(scene.socket.requests("thread/resume").at(-1)?.params, { threadId: "t", after: 1 });
  for (const seq of [2, 3, 4]) {
    scene.socket.event(seq);
  }
  scene.socket.resumed(4);
  assert.deepEqual([seqs(events), seqs(late), seqs(fresh), heard], [[1, 2, 3, 4], [1, 2, 3, 4], [4], [1, 2, 3, 4]]);
  reader.close();
  assert.equal(scene.socket.requests("thread/unsubscribe").length, 0);
});

test("the last reader to leave unsubscribes", async () => {
  const { scene, subscription, events } = await following(0);
  scene.socket.resumed(0);
  subscription.close();
  assert.deepEqual(scene.socket.requests("thread/unsubscribe").map((request) => request.params), [{ threadId: "t" }]);
  scene.socket.event(1);
  await scene.again();
  assert.deepEqual([events, scene.socket.requests("thread/resume")], [[], []]);
});

test("the first refusal is final, and a later one only if no retry helps", async () => {
  const scene = await Scene.open();
  for (const retryable of [true, false]) {
    const ends: (Error | undefined)[] = [];
    const subscription = scene.client.follow("t", { after: 0, onEvent: () => {}, onEnd: (error) => ends.push(error) });
    scene.socket.refuse("thread/resume", "storage", retryable);
    const found = ends.map((error) => [(error as AcpdError).code, (error as AcpdError).retryable]);
    assert.deepEqual([found, subscription.ended], [[["storage", retryable]], true]);
    await assert.rejects(subscription.resumed, { code: "storage" });
    const reading = scene.client.follow("t", { after: 0 })[Symbol.asyncIterator]().next();
    scene.socket.refuse("thread/resume", "storage", retryable);
    await assert.rejects(reading, { code: "storage", retryable });
  }
  await scene.clock.pass(1_000);
  assert.equal(scene.socket.requests("thread/resume").length, 4, "nothing is left to retry");
  const { events, subscription } = begin(scene);
  await scene.again();
  scene.socket.refuse("thread/resume", "rate_limited", true);
  assert.equal(subscription.ended, false);
  await scene.clock.pass(250);
  assert.equal(scene.socket.requests("thread/resume").length, 2);
  scene.socket.resumed(5);
  scene.socket.event(5);
  assert.deepEqual(seqs(events), [5]);
  await scene.again();
  scene.socket.refuse("thread/resume", "not_found", false);
  assert.equal(subscription.ended, true);
});

test("a reader that is refused for now leaves the earlier ones to be retried", async () => {
  const scene = await Scene.open();
  const { events, subscription } = begin(scene);
  const late = scene.client.follow("t", { after: 0, onEvent: () => {} });
  scene.socket.refuse("thread/resume", "overloaded", true);
  assert.deepEqual([late.ended, subscription.ended], [true, false]);
  scene.socket.event(5);
  assert.deepEqual(seqs(events), [5]);
});

/** Begins a subscription that has the events up to number 4. */
function begin(scene: Scene) {
  const events: ThreadEvent[] = [];
  const subscription = scene.client.follow("t", { after: 4, onEvent: (event) => events.push(event) });
  scene.socket.resumed(4);
  return { events, subscription };
}

test("for await reads them, and a break unsubscribes", async () => {
  const { client, socket } = await Scene.open();
  const read: number[] = [];
  const subscription = client.follow("t", { after: 0 });
  const reading = (async () => {
    for await (const { params } of subscription) {
      read.push(params.seq ?? -1);
      if (params.seq === 3) {
        break;
      }
    }
  })();
  socket.event(1);
  await settle();
  socket.resumed(4);
  for (const seq of [2, 3, 4]) {
    socket.event(seq);
  }
  assert.equal(subscription.cursor, 2, "the cursor is where the reader is, not the wire");
  await reading;
  assert.deepEqual([read, subscription.cursor], [[1, 2, 3], 3]);
  assert.equal(socket.requests("thread/unsubscribe").length, 1);
});

test("closing the client, or a signal, ends for await; what waits is dropped", async () => {
  const { client, socket } = await Scene.open();
  const stop = new AbortController();
  const stopped = client.follow("t", { after: 0, signal: stop.signal });
  const closed = client.follow("t", { after: 0 });
  socket.resumed(1);
  socket.event(1);
  stop.abort();
  const read: (number | null | undefined)[] = [];
  for await (const event of stopped) {
    read.push(event.params.seq);
  }
  assert.equal(read.length, 0);
  client.close();
  for await (const { params } of closed) {
    read.push(params.seq);
  }
  // It came before the end.
  assert.deepEqual(read, [1]);
  await assert.rejects(client.follow("t", { after: 0 })[Symbol.asyncIterator]().next(), { code: "closed" });
});

test("a slow reader takes no more than its buffer, and goes back for the rest", async () => {
  const { client, clock, socket } = await Scene.open();
  const subscription = client.follow("t", { after: 0, bufferedEvents: 4 });
  socket.resumed(100);
  for (let seq = 1; seq <= 100; seq++) {
    socket.event(seq);
  }
  const read: number[] = [];
  const reader = subscription[Symbol.asyncIterator]();
  const next = async () => read.push((await reader.next()).value?.params.seq ?? -1);
  await next();
  assert.equal(socket.requests("thread/resume").length, 1, "there is enough to read");
  await next();
  await clock.pass(1_000);
  assert.deepEqual(socket.requests("thread/resume").at(-1)?.params, { threadId: "t", after: 4 });
  socket.resumed(100);
  for (let seq = 5; seq <= 100; seq++) {
    socket.event(seq);
  }
  for (let k = 0; k < 4; k++) {
    await next();
  }
  // It goes back no more than once a second.
  assert.equal(socket.requests("thread/resume").length, 2);
  await clock.pass(999);
  assert.equal(socket.requests("thread/resume").length, 2);
  await clock.pass(1);
  assert.deepEqual(socket.requests("thread/resume").at(-1)?.params, { threadId: "t", after: 6 });
  assert.deepEqual(read, [1, 2, 3, 4, 5, 6]);
});

test("the buffer is bounded by its text, too, and one event always fits", async () => {
  const { client, clock, socket } = await Scene.open();
  const subscription = client.follow("t", { after: 0, bufferedChars: 1_000 });
  socket.resumed(2);
  socket.event(1, "thread/notice", { message: "x".repeat(5_000) });
  socket.event(2, "thread/notice", { message: "x".repeat(5_000) });
  const reader = subscription[Symbol.asyncIterator]();
  assert.equal((await reader.next()).value?.params.seq, 1);
  await clock.pass(1_000);
  assert.deepEqual(socket.requests("thread/resume").at(-1)?.params, { threadId: "t", after: 1 });
});

test("a long replay that nobody reads is called off, and questions still come", async () => {
  const scene = await Scene.open();
  const { client, clock, socket } = scene;
  const asked: string[] = [];
  client.answer("item/permissions/requestApproval", ({ requestId }) => void asked.push(requestId));
  const subscription = client.follow("t", { after: 0, bufferedEvents: 2 });
  socket.resumed(50_000);
  for (let seq = 1; seq <= 3; seq++) {
    socket.event(seq);
  }
  assert.deepEqual(socket.requests("thread/resume").at(-1)?.params, { threadId: "t", after: 50_000 });
  socket.resumed(50_000);
  socket.ask(50_001, "req_1");
  assert.deepEqual(asked, ["req_1"]);
  // Also after a new connection.
  await scene.again();
  assert.deepEqual(scene.socket.requests("thread/resume").at(-1)?.params, { threadId: "t", after: 50_001 });
  scene.socket.resumed(50_001);
  const reader = subscription[Symbol.asyncIterator]();
  await reader.next();
  await clock.pass(1_000);
  assert.deepEqual(scene.socket.requests("thread/resume").at(-1)?.params, { threadId: "t", after: 2 });
});

test("notifications that are opted out of count, and are not shown", async () => {
  const scene = await Scene.open({ capabilities: { optOutNotificationMethods: ["item/agentMessage/delta"] } });
  const events: ThreadEvent[] = [];
  const subscription = scene.client.follow("t", { after: 0, onEvent: (event) => events.push(event) });
  scene.client.on("item/agentMessage/delta", () => assert.fail("it is not wanted"));
  scene.socket.resumed(0);
  scene.socket.event(1);
  scene.socket.event(2, "item/agentMessage/delta");
  assert.equal(subscription.cursor, 2);
  scene.socket.event(3);
  assert.deepEqual(seqs(events), [1, 3]);
  assert.equal(scene.socket.requests("thread/resume").length, 1);
});

test("a change of the list of threads is no event of the thread", async () => {
  const scene = await Scene.open();
  const events: ThreadEvent[] = [];
  const changes: unknown[] = [];
  scene.client.follow("t", { after: 0, onEvent: (event) => events.push(event) });
  scene.client.on("thread/list/changed", (change) => changes.push(change.thread));
  scene.client.on("thread/list/reset", () => changes.push("reset"));
  scene.socket.resumed(0);
  scene.socket.event(1);
  scene.socket.say({ method: "thread/list/changed", params: { threadId: "t", ts: 1, thread: null } });
  scene.socket.say({ method: "thread/list/reset", params: {} });
  scene.socket.event(2);
  assert.deepEqual(seqs(events), [1, 2]);
  assert.deepEqual(changes, [null, "reset"]);
});

test("readers that fail are told of, and go on", async () => {
  const scene = await Scene.open();
  scene.client.follow("t", {
    after: 0,
    onEvent: () => {
      throw new Error("oh");
    },
  });
  scene.socket.event(1);
  scene.socket.event(2);
  assert.equal(scene.errors.length, 2);
});
