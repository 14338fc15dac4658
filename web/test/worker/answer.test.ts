import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { approve, NotAnswered } from "../../src/worker/answer.ts";

const ANSWER = { requestId: "q", optionId: "a", optionKind: "allow_once" };

/** A socket whose other end is the test. */
class FakeSocket extends EventTarget {
  static made: FakeSocket[] = [];
  readonly sent: { id?: number; method: string; params?: object }[] = [];
  isClosed = false;

  constructor(
    readonly url: string,
    readonly protocols: string[],
  ) {
    super();
    FakeSocket.made.push(this);
  }

  send(text: string): void {
    this.sent.push(JSON.parse(text) as (typeof this.sent)[number]);
  }

  close(): void {
    this.isClosed = true;
    this.dispatchEvent(new Event("close"));
  }

  receive(message: unknown): void {
    this.dispatchEvent(Object.assign(new Event("message"), { data: typeof message === "string" ? message : JSON.stringify(message) }));
  }
}

let status = 200;
const asked: [string, string | null][] = [];

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("WebSocket", FakeSocket);
  vi.stubGlobal("fetch", async (path: string, init: RequestInit) => {
    asked.push([path, new Headers(init.headers).get("acpd-page-key")]);
    if (status === 0) {
      throw new TypeError("failed to fetch");
    }
    return { status };
  });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
  FakeSocket.made.length = asked.length = 0;
  status = 200;
});

function begin(): { socket: FakeSocket; done: Promise<string> } {
  const done = approve("key", ANSWER).then(
    () => "accepted",
    (error: unknown) => (error instanceof NotAnswered ? error.message : `${error}`),
  );
  const socket = FakeSocket.made[0]!;
  socket.dispatchEvent(new Event("open"));
  return { socket, done };
}

function greeted(): ReturnType<typeof begin> {
  const begun = begin();
  begun.socket.receive({ id: 1, result: { protocolVersion: 1 } });
  return begun;
}

test("the answer is sent once the daemon has greeted, with the page key, and is accepted when the daemon says so", async () => {
  const { socket, done } = begin();
  expect(socket.url).toBe(`${location.origin.replace(/^http/, "ws")}/ws`);
  expect(socket.protocols).toEqual(["acpd", "acpd.page-key.key"]);
  expect(socket.sent.map(({ method }) => method)).toEqual(["initialize"]);
  // Nothing of this is a response.
  for (const other of ["", "{", "null", "7", { method: "thread/list/changed", id: 2, params: {} }, { id: 7, result: {} }, []]) {
    socket.receive(other);
  }
  socket.receive({ id: 1, result: { protocolVersion: 1 } });
  expect(socket.sent.slice(1)).toMatchObject([
    { method: "initialized" },
    { method: "item/approve", params: { ...ANSWER, approved: true } },
  ]);
  expect(socket.isClosed).toBe(false);
  socket.receive({ id: 2, result: {} });
  expect(await done).toBe("accepted");
  expect(socket.isClosed).toBe(true);
  expect(asked).toEqual([]);
  expect(vi.getTimerCount()).toBe(0);
});

test("a question that is answered or gone is a sentence of its own, any other error the daemon's", async () => {
  for (const [code, said] of [
    ["already_resolved", "Already answered."],
    ["not_found", "Already answered."],
    ["forbidden", "Couldn’t answer: observers may not answer"],
    [undefined, "Couldn’t answer: observers may not answer"],
  ] as const) {
    FakeSocket.made.length = 0;
    const { socket, done } = greeted();
    socket.receive({ id: 2, error: { code: -32000, message: "observers may not answer", ...(code && { data: { code } }) } });
    expect(await done).toBe(said);
    expect(socket.isClosed).toBe(true);
  }
});

test("a connection that breaks before the answer is sent says why, as far as can be found out", async () => {
  for (const [answered, said] of [
    [401, "Couldn’t answer: your session has ended. Open acpd to sign in again."],
    [403, "Couldn’t answer: your session has ended. Open acpd to sign in again."],
    [200, "Couldn’t answer: the connection to the daemon broke. Open acpd to answer."],
    [0, "Couldn’t answer: the daemon is unreachable."],
  ] as const) {
    status = answered;
    FakeSocket.made.length = asked.length = 0;
    const { socket, done } = begin();
    socket.close();
    expect(await done).toBe(said);
    expect(asked).toEqual([["/api/session", "key"]]);
  }
});

test("once the answer is sent, a broken connection does not say that it was not accepted", async () => {
  for (const [answered, said] of [
    [401, "Your session ended before the daemon confirmed the answer. Open acpd to see whether the answer arrived."],
    [403, "Your session ended before the daemon confirmed the answer. Open acpd to see whether the answer arrived."],
    [200, "The connection broke before the daemon confirmed the answer. Open acpd to see whether the answer arrived."],
    [0, "The connection broke before the daemon confirmed the answer. Open acpd to see whether the answer arrived."],
  ] as const) {
    status = answered;
    FakeSocket.made.length = asked.length = 0;
    const { socket, done } = greeted();
    socket.close();
    expect(await done).toBe(said);
    expect(asked).toEqual([["/api/session", "key"]]);
  }
});

test("a daemon of another version or that does not respond gets no answer", async () => {
  const other = begin();
  other.socket.receive({ id: 1, result: { protocolVersion: 2 } });
  expect(await other.done).toBe("Couldn’t answer: acpd was updated. Open it to answer.");
  expect(other.socket.sent).toHaveLength(1);
  FakeSocket.made.length = 0;
  const silent = begin();
  await vi.advanceTimersByTimeAsync(15_000);
  expect(await silent.done).toBe("Couldn’t answer: the daemon did not respond in time.");
  expect(silent.socket.isClosed).toBe(true);
});

test("a daemon that does not confirm the answer in time may have accepted it", async () => {
  const { socket, done } = greeted();
  await vi.advanceTimersByTimeAsync(15_000);
  expect(await done).toBe("The daemon did not confirm the answer in time. Open acpd to see whether the answer arrived.");
  expect(socket.isClosed).toBe(true);
});
