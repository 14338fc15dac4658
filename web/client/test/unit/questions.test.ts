import assert from "node:assert/strict";
import { test } from "node:test";

import type { AcpdError, Answer, QuestionOver } from "@acpd/client";

import { settle } from "../support/clock.js";
import { Scene } from "../support/fake.js";

const METHOD = "item/permissions/requestApproval";

/** A client that follows `t`, whose questions wait for the test. */
async function asking() {
  const scene = await Scene.open();
  scene.client.follow("t", { after: 0, onEvent: () => {} });
  scene.socket.resumed(0);
  const asked: { id: string; answer: (answer: Answer) => void; fail: (error: Error) => void; over?: QuestionOver }[] =
    [];
  scene.client.answer(METHOD, ({ requestId }, { signal }) => {
    return new Promise((answer, fail) => {
      const entry: (typeof asked)[number] = { id: requestId, answer, fail };
      signal.addEventListener("abort", () => (entry.over = signal.reason as QuestionOver));
      asked.push(entry);
    });
  });
  const responses = () => scene.socket.sent.filter(({ method, result }) => !method && result);
  return { scene, asked, responses };
}

function resolved(seq: number, requestId: string): [number, string, object] {
  return [seq, "serverRequest/resolved", { requestId, outcome: "accepted", by: { kind: "daemon" } }];
}

test("a question is put to its handler, and its answer is sent", async () => {
  const { scene, asked, responses } = await asking();
  scene.socket.ask(1, "req_1");
  asked[0]?.answer({ decision: "accept" });
  await settle();
  assert.deepEqual(responses(), [{ jsonrpc: "2.0", id: "req_1", result: { decision: "accept" } }]);
  scene.socket.event(...resolved(2, "req_1"));
  assert.equal(asked[0]?.over?.resolved?.outcome, "accepted");
});

test("a question that is asked again is one question", async () => {
  const { scene, asked, responses } = await asking();
  scene.socket.ask(1, "req_1");
  scene.socket.ask(1, "req_1");
  await scene.again();
  scene.socket.ask(1, "req_1");
  scene.socket.resumed(1, ["req_1"]);
  assert.equal(asked.length, 1);
  asked[0]?.answer({ decision: "decline" });
  await settle();
  assert.deepEqual(responses().map(({ id }) => id), ["req_1"]);
});

test("an answer that was lost on its way, or given without a connection, is sent again", async () => {
  const { scene, asked, responses } = await asking();
  scene.socket.ask(1, "req_1");
  scene.socket.ask(2, "req_2");
  asked[0]?.answer({ decision: "accept" });
  await settle();
  scene.socket.break();
  asked[1]?.answer({ decision: "decline" });
  await settle();
  await scene.retry();
  await scene.socket.welcome();
  scene.socket.ask(1, "req_1");
  scene.socket.ask(2, "req_2");
  assert.deepEqual(responses().map(({ id, result }) => [id, result]), [
    ["req_1", { decision: "accept" }],
    ["req_2", { decision: "decline" }],
  ]);
  assert.equal(asked.length, 2);
});

test("one that somebody else answers is taken back, and a late answer is not sent", async () => {
  const { scene, asked, responses } = await asking();
  scene.socket.ask(1, "req_1");
  scene.socket.event(...resolved(2, "req_1"));
  assert.equal(asked[0]?.over?.resolved?.requestId, "req_1");
  asked[0]?.answer({ decision: "accept" });
  await settle();
  assert.deepEqual(responses(), []);
});

test("one that was answered while the client was away is taken back", async () => {
  const { scene, asked } = await asking();
  scene.socket.ask(1, "req_1");
  scene.socket.ask(2, "req_2");
  await scene.again();
  scene.socket.ask(3, "req_3");
  scene.socket.resumed(2, ["req_2"]);
  assert.deepEqual(asked.map(({ over }) => over), [{}, undefined, undefined]);
});

test("an answer that came too late, and one that was wrong", async () => {
  const { scene, asked } = await asking();
  const reject = (requestId: string, code: string) =>
    scene.socket.say({
      method: "serverRequest/rejected",
      params: { threadId: "t", requestId, error: { code: -32004, message: code, data: { code, retryable: false } } },
    });
  const told: string[] = [];
  scene.client.on("serverRequest/rejected", ({ requestId }) => told.push(requestId));
  scene.socket.ask(1, "req_1");
  scene.socket.ask(2, "req_2");
  asked[0]?.answer({ decision: "accept" });
  asked[1]?.answer({ decision: "wrong" });
  await settle();
  reject("req_1", "already_resolved");
  reject("req_2", "invalid_params");
  assert.deepEqual([asked[0]?.over, asked[1]?.over, told], [{}, undefined, ["req_1", "req_2"]]);
  assert.deepEqual(scene.errors.map((error) => (error as AcpdError).code), ["invalid_params"]);
  // The wrong answer is not sent again.
  await scene.again();
  scene.socket.ask(2, "req_2");
  assert.deepEqual(scene.socket.sent.filter(({ result }) => result), []);
});

test("a handler that says nothing, or fails, leaves the question open", async () => {
  const { scene, asked, responses } = await asking();
  scene.socket.ask(1, "req_1");
  scene.socket.ask(2, "req_2");
  asked[0]?.answer(undefined);
  asked[1]?.fail(new Error("oh"));
  await settle();
  assert.deepEqual(responses(), []);
  assert.deepEqual(scene.errors.map((error) => (error as Error).message), ["oh"]);
});

test("a handler that comes later is given what waits", async () => {
  const scene = await Scene.open();
  scene.socket.ask(1, "req_1");
  const off = scene.client.answer(METHOD, () => ({ decision: "accept" }));
  await settle();
  assert.equal(scene.socket.sent.at(-1)?.id, "req_1");
  off();
  scene.socket.ask(2, "req_2");
  await settle();
  assert.equal(scene.socket.sent.at(-1)?.id, "req_1");
});

test("without somebody who tells how it ends, a question is forgotten", async () => {
  const { scene, asked } = await asking();
  const reader = scene.client.follow("t", { after: 0 });
  scene.socket.ask(1, "req_1");
  assert.equal(asked[0]?.over, undefined);
  reader.close();
  assert.equal(asked[0]?.over, undefined, "somebody follows it still");
  scene.client.close();
  assert.deepEqual(asked[0]?.over, {});
});
