import assert from "node:assert/strict";
import { test } from "node:test";

import { type AcpdError, attachFile, connect, type Resolved } from "@acpd/client";
import WebSocket from "ws";

import { Daemon, Later, Seen } from "../support/daemon.js";

const PERMISSION = "item/permissions/requestApproval";
const COMMAND = "item/commandExecution/requestApproval";
const FILE = "item/fileChange/requestApproval";

test("a whole turn", async (t) => {
  const daemon = await Daemon.start(t);
  const client = await daemon.client();
  assert(client.state.name === "open");
  assert.deepEqual(
    [client.state.server.serverInfo.name, client.state.server.identity.role],
    ["acpd", "owner"],
  );
  const threadId = await daemon.thread(client);
  const seen = new Seen(client, threadId);
  const { turn } = await client.call("turn/start", { threadId, text: "think n=2; stream n=5 ms=1; plan" });
  assert.equal((await seen.turn(turn.id)).status, "completed");
  assert.match(seen.said(turn.id), /^ word 1 word 2 word 3 word 4 word 5/);
  assert.equal(seen.events[0]?.method, "thread/started");
  seen.assertWhole();
  const { thread } = await client.call("thread/read", { threadId, includeTurns: true });
  assert.equal(thread.turns?.length, 1);
});

test("a for await that is slow goes back for what did not fit, and has the same events", async (t) => {
  const daemon = await Daemon.start(t);
  const client = await daemon.client();
  const threadId = await daemon.thread(client);
  const subscription = client.follow(threadId, { after: 0, bufferedEvents: 2_000 });
  const { turn } = await client.call("turn/start", { threadId, text: "flood n=5000 kind=chunkmeta; say end" });
  const seen = new Seen(client, threadId);
  await seen.turn(turn.id);
  seen.assertWhole();
  assert(seen.events.length > 4_000, "it is more than fits");
  const read: unknown[] = [];
  for await (const event of subscription) {
    read.push(event);
    if (event.method === "turn/completed") {
      break;
    }
  }
  assert.deepEqual(read, seen.events.slice(0, read.length));
});

test("a file that a message has no room for is attached, and a prompt links to it", async (t) => {
  const daemon = await Daemon.start(t);
  const client = await daemon.client();
  const threadId = await daemon.thread(client);
  const file = { url: daemon.url, token: await daemon.token(), threadId, name: "large file.txt", content: new Blob(["x".repeat(2 << 20)]), type: "text/plain" };
  const block = await attachFile(file);
  assert.deepEqual([block.type, block.name, block.mimeType, block.size], ["resource_link", "large file.txt", "text/plain", 2 << 20]);
  const seen = new Seen(client, threadId);
  const { turn } = await client.call("turn/start", { threadId, text: "say done", input: [block] });
  assert.equal((await seen.turn(turn.id)).status, "completed");
  await assert.rejects(attachFile({ ...file, content: new Blob(["x"]), token: "0".repeat(64) }), { code: "unauthenticated" });
  await assert.rejects(attachFile({ ...file, threadId: `${threadId.slice(0, -1)}x` }), { name: "AcpdError", retryable: false });
});

test("an approval is answered by its handler", async (t) => {
  const daemon = await Daemon.start(t);
  const client = await daemon.client();
  const asked: string[] = [];
  for (const method of [PERMISSION, COMMAND, FILE] as const) {
    client.answer(method, ({ title, options }) => {
      asked.push(title);
      return { decision: "accept", optionId: options.find(({ kind }) => kind === "allow_once")?.optionId ?? null };
    });
  }
  const threadId = await daemon.thread(client);
  const seen = new Seen(client, threadId);
  const { turn } = await client.call("turn/start", { threadId, text: "permission" });
  assert.equal((await seen.turn(turn.id)).status, "completed");
  assert.equal(seen.said(turn.id), "allowed (allow_once)");
  assert.equal(asked.length, 1);
  seen.assertWhole();
});

test("a form is answered by its handler", async (t) => {
  const daemon = await Daemon.start(t);
  const client = await daemon.client();
  client.answer("item/tool/requestUserInput", () => ({ dismissed: true }));
  const threadId = await daemon.thread(client);
  const seen = new Seen(client, threadId);
  const { turn } = await client.call("turn/start", { threadId, text: "elicit" });
  assert.equal((await seen.turn(turn.id)).status, "completed");
  assert(seen.events.some(({ method }) => method === "item/tool/requestUserInput"));
});

test("of two clients, the first answer wins, and the other one hears of it", async (t) => {
  const daemon = await Daemon.start(t);
  const one = await daemon.client("one");
  const two = await daemon.client("two");
  const threadId = await daemon.thread(one);
  const [seenByOne, seenByTwo] = [new Seen(one, threadId), new Seen(two, threadId)];
  const over = new Later<Resolved | undefined>();
  const rejected = new Later<string | undefined>();
  const asked = new Later<string>();
  // The second one never answers by its handler: it learns that there is nothing left to answer.
  const never = new Later<undefined>();
  for (const method of [PERMISSION, COMMAND, FILE] as const) {
    two.answer(method, ({ requestId }, { signal }) => {
      signal.addEventListener("abort", () => over.resolve(signal.reason.resolved));
      asked.resolve(requestId);
      return never.promise;
    });
    one.answer(method, async () => {
      await asked.promise;
      return { decision: "accept" };
    });
  }
  two.on("serverRequest/rejected", ({ error }) => rejected.resolve(error.data?.code));
  const { turn } = await one.call("turn/start", { threadId, text: "permission" });
  const resolved = await over.promise;
  assert.deepEqual(
    [resolved?.outcome, resolved?.by.kind === "client" && resolved.by.client],
    ["accepted", "one"],
  );
  const requestId = await asked.promise;
  await assert.rejects(two.call("item/approve", { requestId, approved: false }), (error: AcpdError) => {
    assert.deepEqual([error.code, error.rpcCode, error.retryable], ["already_resolved", -32004, false]);
    return true;
  });
  await Promise.all([seenByOne.turn(turn.id), seenByTwo.turn(turn.id)]);
  assert.equal(seenByTwo.said(turn.id), "allowed (allow_once)");
  assert.deepEqual(seenByOne.events, seenByTwo.events);
  seenByTwo.assertWhole();
});

test("an observer sees questions and answers, and is not asked", async (t) => {
  const daemon = await Daemon.start(t);
  const client = await daemon.client();
  const observer = await daemon.client("observer", { capabilities: {} });
  const threadId = await daemon.thread(client);
  const seen = new Seen(observer, threadId);
  const heard: string[] = [];
  for (const method of [PERMISSION, COMMAND, FILE] as const) {
    observer.answer(method, () => assert.fail("it must not be asked"));
    observer.on(method, ({ requestId }) => heard.push(requestId));
    client.answer(method, () => ({ decision: "decline" }));
  }
  const { turn } = await client.call("turn/start", { threadId, text: "permission" });
  await seen.turn(turn.id);
  assert.equal(seen.said(turn.id), "rejected (reject_once)");
  assert.equal(heard.length, 1);
  assert(seen.events.some(({ method, params }) => method === "serverRequest/resolved" && params.requestId === heard[0]));
  seen.assertWhole();
});

test("a wrong token ends it", async (t) => {
  const daemon = await Daemon.start(t);
  const client = connect({ url: daemon.url, token: "0".repeat(64), clientInfo: { name: "thief" }, WebSocket });
  await assert.rejects(client.ready(), { code: "unauthenticated" });
  assert.equal(client.state.name, "closed");
});

test("errors of the daemon are typed", async (t) => {
  const daemon = await Daemon.start(t);
  const client = await daemon.client();
  const unknown = "01920000-0000-7000-8000-000000000000";
  await assert.rejects(client.call("thread/read", { threadId: unknown }), { code: "not_found", rpcCode: -32002 });
  await assert.rejects(client.follow(unknown, { after: 0 }).resumed, { code: "not_found" });
  await assert.rejects(client.call("turn/interrupt", { threadId: await daemon.thread(client) }), { code: "conflict" });
});
