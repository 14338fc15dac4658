import assert from "node:assert/strict";
import { test } from "node:test";

import { AcpdError, connect, type ConnectOptions, fetchTicket } from "@acpd/client";

import { settle } from "../support/clock.js";
import { FakeSocket, Scene } from "../support/fake.js";

/** Fails unless a promise fails with this code. */
async function fails(promise: Promise<unknown>, code: string, retryable: boolean): Promise<void> {
  await assert.rejects(promise, (error) => {
    assert(error instanceof AcpdError, String(error));
    assert.deepEqual([error.code, error.retryable], [code, retryable]);
    return true;
  });
}

test("the token goes into a header, the handshake comes first", async () => {
  const scene = new Scene({ capabilities: { approvals: true, optOutNotificationMethods: ["thread/notice"] } });
  await settle();
  assert.equal(scene.socket.url, "ws://127.0.0.1:1/ws");
  assert.deepEqual(scene.socket.options?.headers, { authorization: "Bearer secret" });
  assert.equal(scene.client.state.name, "connecting");
  const ready = scene.client.ready();
  await scene.socket.welcome();
  assert.deepEqual(scene.socket.sent, [
    {
      jsonrpc: "2.0",
      id: 1,
      method: "initialize",
      params: { clientInfo: { name: "test" }, capabilities: { approvals: true } },
    },
    { jsonrpc: "2.0", method: "initialized" },
  ]);
  assert.equal((await ready).identity.role, "owner");
  assert.equal(scene.client.state.name, "open");
});

test("who waits for a connection in vain learns why there is none", async () => {
  const scene = new Scene();
  await settle();
  const early = assert.rejects(scene.client.ready({ timeoutMs: 50 }), {
    code: "disconnected",
    message: "the daemon did not answer within 50 ms",
  });
  await scene.clock.pass(50);
  await early;
  scene.socket.fire("error", { message: "connect ECONNREFUSED 127.0.0.1:1" });
  scene.socket.break();
  const reason = "the daemon cannot be reached (connect ECONNREFUSED 127.0.0.1:1): is it running, and is the address right?";
  const late = assert.rejects(scene.client.ready({ timeoutMs: 50 }), { code: "disconnected", message: reason });
  await scene.clock.pass(50);
  await late;
  // The client keeps trying, and the timeout of a wait that was successful has no effect.
  const ready = scene.client.ready({ timeoutMs: 60_000 });
  await scene.retry();
  await scene.socket.welcome();
  assert.equal((await ready).identity.role, "owner");
  await scene.clock.pass(120_000);
});

test("a request is answered with its result or with a typed error", async () => {
  const { client, socket } = await Scene.open();
  const one = client.call("thread/list", { limit: 1 });
  const two = client.call("agent/list");
  const three = client.call("thread/read", { threadId: "t" });
  assert.deepEqual(socket.requests("agent/list")[0]?.params, {});
  socket.answer("agent/list", { data: [] });
  socket.answer("thread/list", { data: [], nextCursor: "c" });
  socket.refuse("thread/read", "not_found", false);
  assert.deepEqual(await one, { data: [], nextCursor: "c" });
  assert.deepEqual(await two, { data: [] });
  await assert.rejects(three, { name: "AcpdError", code: "not_found", rpcCode: -32000, retryable: false });
});

test("what was asked when the connection breaks fails as disconnected, and is not sent again", async () => {
  const scene = await Scene.open();
  const params = { threadId: "t", text: "hello", clientTurnId: "mine" };
  const asked = scene.client.call("turn/start", params);
  await Promise.all([fails(asked, "disconnected", true), scene.again()]);
  assert.deepEqual(scene.socket.requests("turn/start"), []);
  const retried = scene.client.call("turn/start", params);
  scene.socket.answer("turn/start", { turn: { id: "turn_1", status: "running" } });
  assert.equal((await retried).turn.id, "turn_1");
});

test("without a connection a request fails at once", async () => {
  const scene = new Scene();
  await fails(scene.client.call("agent/list"), "disconnected", true);
  scene.client.close();
  await fails(scene.client.call("agent/list"), "closed", false);
});

test("a request is given up after its time, or when its caller says so", async () => {
  const { client, clock, socket } = await Scene.open();
  const late = client.call("agent/list", {}, { timeoutMs: 100 });
  await Promise.all([fails(late, "timeout", true), clock.pass(100)]);
  const abort = new AbortController();
  const aborted = client.call("agent/list", {}, { signal: abort.signal });
  abort.abort();
  await fails(aborted, "aborted", false);
  await fails(client.call("agent/list", {}, { signal: abort.signal }), "aborted", false);
  assert.equal(socket.requests("agent/list").length, 2);
  // Their answers come late, and go nowhere.
  socket.answer("agent/list", { data: [] });
});

test("what the daemon would not take is not sent", async () => {
  const scene = new Scene();
  await settle();
  await scene.socket.welcome({ messageBytes: 300 });
  await fails(scene.client.call("thread/list", { searchTerm: "é".repeat(150) }), "too_large", false);
  assert.deepEqual(scene.socket.requests("thread/list"), []);
  void scene.client.call("thread/list", { searchTerm: "e".repeat(150) });
  assert.equal(scene.socket.requests("thread/list").length, 1);
});

test("attempts come less and less often, with chance, up to a bound; a good connection starts anew", async () => {
  const rolls = [1, 0, 0.5, 1, 1];
  const scene = new Scene({ random: () => rolls.shift() ?? 1, backoff: { firstMs: 100, maxMs: 500 } });
  const waits: number[] = [];
  scene.client.onState((state) => state.name === "waiting" && waits.push(state.retryMs));
  await settle();
  for (let attempt = 1; attempt <= 5; attempt++) {
    assert.equal(scene.sockets.length, attempt);
    scene.socket.break();
    await scene.clock.pass((waits.at(-1) ?? 0) - 1);
    assert.equal(scene.sockets.length, attempt, "not before its time");
    await scene.clock.pass(1);
  }
  assert.deepEqual(waits, [100, 100, 300, 500, 500]);
  await scene.socket.welcome();
  // A daemon that lets it in and throws it out has not become better.
  scene.socket.break();
  assert.equal(waits.at(-1), 500);
  await scene.clock.pass(500);
  await scene.socket.welcome();
  await scene.clock.pass(5_000);
  scene.socket.break();
  assert.equal(waits.at(-1), 100);
});

test("an attempt that takes too long is given up", async () => {
  const scene = new Scene({ connectTimeoutMs: 1_000 });
  await settle();
  scene.socket.fire("open");
  await scene.clock.pass(1_000);
  assert.notEqual(scene.sockets[0]?.closed, undefined);
  assert.equal(scene.client.state.name, "waiting");
  const hanging = new Scene({ connectTimeoutMs: 1_000, ticket: () => new Promise(() => {}) });
  await hanging.clock.pass(1_000);
  assert.equal(hanging.client.state.name, "waiting");
});

test("a ticket that comes after its attempt was given up opens nothing", async () => {
  const tickets: ((ticket: string) => void)[] = [];
  const scene = new Scene({ connectTimeoutMs: 1_000, ticket: () => new Promise((give) => tickets.push(give)) });
  await scene.clock.pass(1_000);
  tickets[0]?.("late");
  await settle();
  assert.notEqual(scene.socket.closed, undefined);
  assert.equal(scene.client.state.name, "waiting");
  await scene.retry();
  tickets[1]?.("next");
  await settle();
  await scene.socket.welcome();
  assert.equal(scene.client.state.name, "open");
});

test("each connection has a ticket of its own; one that is refused ends it", async () => {
  let tickets = 0;
  const ticket = async () => {
    if (tickets === 2) {
      throw new AcpdError("unauthenticated", "no more");
    }
    return `t${++tickets}`;
  };
  const options: Partial<ConnectOptions> = { ticket };
  const scene = new Scene(options);
  await settle();
  assert.equal(scene.socket.url, "ws://127.0.0.1:1/ws?ticket=t1");
  scene.socket.fire("error", { message: "Unexpected server response: 401" });
  scene.socket.break();
  assert.equal(scene.client.state.name, "waiting", "it may have grown old");
  await scene.retry();
  assert.equal(scene.socket.url, "ws://127.0.0.1:1/ws?ticket=t2");
  const ready = scene.client.ready();
  scene.socket.break();
  await Promise.all([fails(ready, "unauthenticated", false), scene.retry()]);
  assert.equal(scene.client.state.name, "closed");
  assert.equal(scene.clock.waiting, 0);
});

test("a token that is refused, and a daemon of another version, end it", async () => {
  const refused = new Scene();
  await settle();
  refused.socket.fire("error", { message: "Unexpected server response: 401" });
  refused.socket.break();
  await fails(refused.client.ready(), "unauthenticated", false);
  const other = new Scene();
  await settle();
  other.socket.fire("open");
  other.socket.answer("initialize", { protocolVersion: 99 });
  await fails(other.client.ready(), "protocol_version", false);
  assert.equal(other.clock.waiting, 0);
});

test("a handshake that is refused for now is tried again", async () => {
  const scene = new Scene();
  await settle();
  scene.socket.fire("open");
  scene.socket.refuse("initialize", "overloaded", true);
  assert.equal(scene.client.state.name, "waiting");
});

test("a request without an answer: one probe, and then the connection is dead", async () => {
  const scene = await Scene.open({ requestTimeoutMs: 1_000 });
  const { client, clock, socket } = scene;
  const asked = client.call("agent/list");
  await clock.pass(999);
  assert.equal(socket.requests("thread/list").length, 0);
  await clock.pass(1);
  assert.equal(socket.requests("thread/list").length, 1);
  // An agent may take its time; the daemon is there.
  socket.answer("thread/list", { data: [] });
  await clock.pass(1_000);
  assert.equal(socket.requests("thread/list").length, 2);
  await Promise.all([fails(asked, "disconnected", true), clock.pass(1_000)]);
  assert.notEqual(socket.closed, undefined);
});

test("the silence before a request is not held against it", async () => {
  const { client, clock, socket } = await Scene.open({ requestTimeoutMs: 1_000, idleMs: 5_000 });
  await clock.pass(4_000);
  void client.call("agent/list").catch(() => {});
  await clock.pass(999);
  assert.equal(socket.requests("thread/list").length, 0);
  await clock.pass(1);
  assert.equal(socket.requests("thread/list").length, 1);
});

test("silence alone leads to a probe, and any frame is a sign of life", async () => {
  const { client, clock, socket } = await Scene.open({ requestTimeoutMs: 1_000, idleMs: 5_000 });
  await clock.pass(4_000);
  socket.event(1);
  await clock.pass(4_999);
  assert.equal(socket.requests("thread/list").length, 0);
  await clock.pass(1);
  assert.equal(socket.requests("thread/list").length, 1);
  await clock.pass(999);
  assert.equal(client.state.name, "open");
  await clock.pass(1);
  assert.equal(client.state.name, "waiting");
});

test("a page that comes back connects at once, or doubts its connection", async () => {
  const scene = await Scene.open({});
  scene.socket.break();
  scene.visible = false;
  scene.page?.();
  assert.equal(scene.client.state.name, "waiting");
  scene.visible = true;
  scene.page?.();
  await settle();
  assert.equal(scene.sockets.length, 2);
  await scene.socket.welcome();
  scene.page?.();
  assert.equal(scene.socket.requests("thread/list").length, 1);
  const state = (): string => scene.client.state.name;
  await scene.clock.pass(2_499);
  assert.equal(state(), "open");
  await scene.clock.pass(1);
  assert.equal(state(), "waiting");
  scene.client.close();
  assert.equal(scene.page, undefined);
});

test("a page that comes back waits no longer for an answer to an earlier probe", async () => {
  const { client, clock, page, socket } = await Scene.open({ idleMs: 5_000 });
  await clock.pass(5_000);
  page?.();
  assert.equal(socket.requests("thread/list").length, 1);
  await clock.pass(2_500);
  assert.equal(client.state.name, "waiting");
  client.close();
});

test("after a sleep of the page, the next attempts follow soon", async () => {
  const scene = await Scene.open({ backoff: { firstMs: 100, maxMs: 60_000 } });
  const retryMs = (): number => {
    const { state } = scene.client;
    return state.name === "waiting" ? state.retryMs : Number.NaN;
  };
  scene.socket.break();
  const first = retryMs();
  for (let attempt = 0; attempt < 3; attempt++) {
    await scene.clock.pass(retryMs());
    await settle();
    scene.socket.break();
  }
  assert.ok(retryMs() > first, "the pauses grow");
  scene.page?.();
  await settle();
  scene.socket.break();
  assert.equal(retryMs(), first);
  scene.client.close();
});

test("in a browser, the window hears what changes", async () => {
  const [window, document] = [new EventTarget(), { visibilityState: "visible" }];
  Object.assign(globalThis, { window, document });
  try {
    const options: ConnectOptions = { url: "ws://h", clientInfo: { name: "page" } };
    // Without a constructor it would be the browser's own, which takes no headers.
    Object.assign(globalThis, { WebSocket: FakeSocket });
    assert.throws(() => connect({ ...options, token: "secret" }), /a browser cannot send the token/);
    const scene = await Scene.open({ page: undefined } as unknown as ConnectOptions);
    const state = (): string => scene.client.state.name;
    scene.socket.break();
    document.visibilityState = "hidden";
    window.dispatchEvent(new Event("visibilitychange"));
    assert.equal(state(), "waiting");
    document.visibilityState = "visible";
    window.dispatchEvent(new Event("visibilitychange"));
    assert.equal(state(), "connecting");
    await settle();
    for (const type of ["online", "pageshow", "resume"]) {
      scene.socket.break();
      assert.equal(state(), "waiting");
      window.dispatchEvent(new Event(type));
      assert.equal(state(), "connecting", type);
      await settle();
    }
    scene.client.close();
  } finally {
    for (const name of ["window", "document", "WebSocket"]) {
      Reflect.deleteProperty(globalThis, name);
    }
  }
});

test("addresses are those of the daemon or of its socket", async () => {
  for (const [url, address] of [
    ["https://host", "wss://host/ws"],
    ["ws://host:1/ws", "ws://host:1/ws"],
    ["http://host/behind/ws#x", "ws://host/behind/ws"],
  ] as const) {
    const scene = new Scene({ url });
    await settle();
    assert.equal(scene.socket.url, address);
    scene.client.close();
  }
  assert.throws(() => new Scene({ url: "ftp://host" }), /not by ftp:/);
});

test("closing it ends everything, and leaves nothing behind", async () => {
  const { client, clock, socket, states, sockets } = await Scene.open();
  const asked = client.call("agent/list");
  client.close();
  await fails(asked, "closed", false);
  assert.equal(socket.closed, 1000);
  assert.equal(client.state.name, "closed");
  await fails(client.ready(), "closed", false);
  await clock.pass(60_000);
  assert.deepEqual([sockets.length, clock.waiting, states], [1, 0, ["open", "closed"]]);
});

test("a socket that cannot be made is tried again", async () => {
  const scene = await Scene.open();
  scene.unmakable = true;
  scene.socket.break();
  await scene.retry();
  assert.equal(scene.client.state.name, "waiting");
  scene.unmakable = false;
  await scene.retry();
  await scene.socket.welcome();
  assert.equal(scene.client.state.name, "open");
});

test("handlers that fail are told of, and hinder nobody", async () => {
  const { client, socket, errors } = await Scene.open();
  const heard: number[] = [];
  client.on("thread/notice", () => {
    throw new Error("oh");
  });
  const off = client.on("thread/notice", ({ seq }) => heard.push(seq));
  socket.event(1);
  off();
  socket.event(2);
  socket.fire("message", { data: "no JSON" });
  socket.say({ id: null, error: { code: -32700, message: "what?", data: { code: "parse_error", retryable: false } } });
  assert.deepEqual(heard, [1]);
  assert.deepEqual(errors.map((error) => (error as Error).message), [
    "oh",
    "oh",
    "the daemon sent an invalid message",
    "what?",
  ]);
});

test("a ticket is fetched from the daemon", async () => {
  const asked: unknown[] = [];
  const answer = (status: number, body: object) => async (url: unknown, init: unknown) => {
    asked.push([url, init]);
    return new Response(JSON.stringify(body), { status });
  };
  const fetch = answer(200, { ticket: "abc", expiresInSecs: 30 }) as typeof globalThis.fetch;
  assert.equal(await fetchTicket({ url: "ws://h:1/ws?x=1", token: "secret", fetch }), "abc");
  assert.deepEqual(asked, [
    ["http://h:1/api/tickets", { method: "POST", headers: { authorization: "Bearer secret" } }],
  ]);
  const refusing = answer(401, {}) as typeof globalThis.fetch;
  await fails(fetchTicket({ url: "http://h:1", fetch: refusing }), "unauthenticated", false);
  const failing = answer(503, {}) as typeof globalThis.fetch;
  await fails(fetchTicket({ url: "http://h:1", fetch: failing }), "disconnected", true);
});
