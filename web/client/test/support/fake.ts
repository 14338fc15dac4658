/** A daemon made of nothing: sockets whose other end is the test. */

import assert from "node:assert/strict";

import { Client, connect, type ConnectOptions, type Page, PROTOCOL_VERSION, type ThreadEvent } from "@acpd/client";

import { HandClock, settle } from "./clock.js";

type Listener = (event: never) => void;
type Message = { id?: number | string; method?: string; params?: Record<string, unknown>; result?: unknown };

/** One connection as the daemon sees it. */
export class FakeSocket {
  readonly sent: Message[] = [];
  closed: number | undefined;
  readonly #listeners = new Map<string, Listener[]>();

  constructor(
    readonly url: string,
    readonly options: { headers: Record<string, string> } | undefined,
  ) {}

  send(text: string): void {
    assert.equal(this.closed, undefined, "nothing is sent on a socket that was closed");
    this.sent.push(JSON.parse(text) as Message);
  }

  close(code = 1005): void {
    this.closed ??= code;
  }

  addEventListener(type: string, listener: Listener): void {
    this.#listeners.set(type, [...(this.#listeners.get(type) ?? []), listener]);
  }

  fire(type: string, event: object = {}): void {
    for (const listener of this.#listeners.get(type) ?? []) {
      listener(event as never);
    }
  }

  /** Sends the client something. */
  say(message: object): void {
    this.fire("message", { data: JSON.stringify({ jsonrpc: "2.0", ...message }) });
  }

  /** Sends an event of the thread `t`. */
  event(seq: number | undefined, method = "thread/notice", more: object = {}): void {
    this.say({ method, params: { threadId: "t", ...(seq === undefined ? {} : { seq }), ts: 0, ...more } });
  }

  /** Asks the client something. */
  ask(seq: number, requestId: string): void {
    const params = { threadId: "t", seq, ts: 0, requestId, title: "May I?", options: [] };
    this.say({ id: requestId, method: "item/permissions/requestApproval", params });
  }

  /** Requests of a method, with their params. */
  requests(method: string): Message[] {
    return this.sent.filter((message) => message.method === method);
  }

  /** Answers the last request of a method. */
  answer(method: string, result: object): void {
    const { id } = this.requests(method).at(-1) ?? assert.fail(`${method} was not asked`);
    this.say({ id, result });
  }

  refuse(method: string, code: string, retryable: boolean): void {
    const { id } = this.requests(method).at(-1) ?? assert.fail(`${method} was not asked`);
    this.say({ id, error: { code: -32000, message: code, data: { code, retryable } } });
  }

  /** Answers the last `thread/resume`. */
  resumed(latestSeq: number, pendingRequestIds: string[] = []): void {
    this.answer("thread/resume", { latestSeq, thread: { id: "t", latestSeq, pendingRequestIds } });
  }

  /** The connection breaks. */
  break(): void {
    this.closed ??= 1006;
    this.fire("close", { code: 1006, reason: "" });
  }

  /** Lets the client in. */
  async welcome(limits: object = {}): Promise<void> {
    this.fire("open");
    this.answer("initialize", {
      protocolVersion: PROTOCOL_VERSION,
      serverInfo: { name: "fake", version: "1" },
      limits: { messageBytes: 1 << 20, ...limits },
      identity: { principal: "me", role: "owner" },
      capabilities: {},
    });
    await settle();
  }
}

/** A client, and every connection that it makes. */
export class Scene {
  readonly clock = new HandClock();
  readonly sockets: FakeSocket[] = [];
  readonly errors: unknown[] = [];
  readonly states: string[] = [];
  readonly client: Client;
  /** Tells the client that something about its page has changed. */
  page: (() => void) | undefined;
  visible = true;
  /** Makes the next socket impossible. */
  unmakable = false;

  constructor(options: Partial<ConnectOptions> = {}) {
    const scene = this;
    const page: Page = {
      listen: (listener, signal) => {
        this.page = listener;
        signal.addEventListener("abort", () => (this.page = undefined));
      },
      visible: () => this.visible,
    };
    this.client = connect({
      url: "http://127.0.0.1:1",
      token: "secret",
      clientInfo: { name: "test" },
      capabilities: { approvals: true },
      WebSocket: class extends FakeSocket {
        constructor(url: string, more?: { headers: Record<string, string> }) {
          super(url, more);
          if (scene.unmakable) {
            throw new Error("no socket");
          }
          scene.sockets.push(this);
        }
      },
      clock: this.clock,
      random: () => 1,
      page,
      onError: (error) => this.errors.push(error),
      ...options,
    });
    this.client.onState(({ name }) => this.states.push(name));
  }

  /** A client with an open connection. */
  static async open(options: Partial<ConnectOptions> = {}): Promise<Scene> {
    const scene = new Scene(options);
    await settle();
    await scene.socket.welcome();
    return scene;
  }

  /** The latest connection. */
  get socket(): FakeSocket {
    return this.sockets.at(-1) ?? assert.fail("there is no connection");
  }

  /** The connection breaks, and the next one is there. */
  async again(): Promise<void> {
    this.socket.break();
    await this.retry();
    await this.socket.welcome();
  }

  /** Waits as long as the client does. */
  async retry(): Promise<void> {
    const { state } = this.client;
    assert(state.name === "waiting", state.name);
    await this.clock.pass(state.retryMs);
  }
}

/** The numbers of events. */
export function seqs(events: ThreadEvent[]): (number | null | undefined)[] {
  return events.map(({ params }) => params.seq);
}
