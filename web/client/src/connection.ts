/**
 * One connection: the handshake, requests and their answers, and what the daemon sends by itself. It knows no threads,
 * keeps no events, and is never opened again: {@link Link} makes the next one.
 *
 * Everything is told by callbacks and not by promises: several frames may come in one go, and what an answer changes
 * must have changed before the frame after it is looked at.
 */

import type { Clock } from "./clock.js";
import { AcpdError } from "./errors.js";
import { Liveness, type Patience } from "./liveness.js";
import { PROTOCOL_VERSION } from "./protocol.js";
import type { Error as RpcError, Initialized, InitializeParams } from "./protocol.js";
import { refusal, type Socket } from "./socket.js";

/** What comes of a request. */
export type Done = (error: AcpdError | undefined, result: unknown) => void;

/** A message that the daemon sent by itself. */
export interface Frame {
  method: string;
  params: Record<string, unknown>;
  /** Of a question: what its answer is sent under. */
  id: string | number | undefined;
  /** How long its text was, in UTF-16 units. */
  size: number;
}

/** Who is told what. */
export interface OnConnection {
  open(server: Initialized): void;
  frame(frame: Frame): void;
  /** It is over, with what was asked unanswered; the requests are told afterwards. */
  closed(error: AcpdError): void;
  /** Something is odd, and life goes on. */
  odd(error: AcpdError): void;
}

/** Closes the socket for a reason of ours that no other code fits. */
const GIVEN_UP = 4000;

/** One connection while it lasts. */
export class Connection {
  readonly #waiting = new Map<number, Done>();
  readonly #liveness: Liveness;
  #nextId = 1;
  #ended = false;
  #server: Initialized | undefined;
  #error: AcpdError | undefined;

  constructor(
    private readonly socket: Socket,
    hello: InitializeParams,
    clock: Clock,
    patience: Patience,
    private readonly on: OnConnection,
  ) {
    this.#liveness = new Liveness(clock, patience, {
      waiting: () => this.#waiting.size,
      // The cheapest request that there is: the protocol has none that does nothing.
      probe: () => this.request("thread/list", { limit: 1 }, () => {}),
      dead: () => this.drop(AcpdError.disconnected("the daemon gives no sign of life")),
    });
    socket.addEventListener("open", () => this.#greet(hello));
    socket.addEventListener("message", ({ data }) => this.#message(data));
    socket.addEventListener("error", ({ message }) => {
      this.#error ??= refusal(message) ?? AcpdError.disconnected(message || "the daemon cannot be reached");
    });
    socket.addEventListener("close", ({ code, reason }) => {
      const why = reason || `code ${code}`;
      this.#end(this.#error ?? AcpdError.disconnected(`the connection was closed: ${why}`));
    });
    // `ws` shows the daemon's pings, which are signs of life.
    socket.on?.("ping", () => this.#liveness.heard());
  }

  /** Sends a request; `done` is called once, never before this returns its id. */
  request(method: string, params: unknown, done: Done): number {
    const id = this.#nextId++;
    const text = JSON.stringify({ jsonrpc: "2.0", id, method, params });
    const bound = this.#server?.limits.messageBytes;
    if (bound !== undefined && isLonger(text, bound)) {
      const message = `${method} is larger than the ${bound} bytes that the daemon takes`;
      queueMicrotask(() => done(new AcpdError("too_large", message), undefined));
    } else if (this.#ended) {
      queueMicrotask(() => done(AcpdError.disconnected("the connection is closed"), undefined));
    } else {
      this.#waiting.set(id, done);
      this.socket.send(text);
      this.#liveness.asked();
    }
    return id;
  }

  /** The answer to a request is not wanted any more. */
  forget(id: number): void {
    this.#waiting.delete(id);
  }

  /** Answers a question. */
  respond(id: string | number, result: unknown): void {
    if (!this.#ended) {
      this.socket.send(JSON.stringify({ jsonrpc: "2.0", id, result }));
    }
  }

  /** Finds out whether the daemon is still there. */
  doubt(): void {
    this.#liveness.doubt();
  }

  /** Ends it from this side, without waiting for the other. */
  drop(error: AcpdError, code = GIVEN_UP): void {
    this.#end(error);
    const { terminate } = this.socket;
    // A peer that is gone does not take part in a farewell, for which `ws` would wait.
    if (code === GIVEN_UP && terminate) {
      terminate.call(this.socket);
    } else {
      this.socket.close(code);
    }
  }

  #greet(hello: InitializeParams): void {
    if (this.#ended) {
      return;
    }
    this.request("initialize", hello, (error, result) => {
      if (error) {
        if (!this.#ended) {
          this.drop(error);
        }
        return;
      }
      const server = result as Initialized;
      if (server.protocolVersion !== PROTOCOL_VERSION) {
        const message = `the daemon speaks version ${server.protocolVersion} of the protocol, this client ${PROTOCOL_VERSION}`;
        this.drop(new AcpdError("protocol_version", message));
        return;
      }
      this.socket.send(JSON.stringify({ jsonrpc: "2.0", method: "initialized" }));
      this.#server = server;
      this.on.open(server);
    });
  }

  #message(data: unknown): void {
    if (this.#ended) {
      return;
    }
    this.#liveness.heard();
    const message = typeof data === "string" ? parse(data) : undefined;
    if (!message) {
      this.on.odd(new AcpdError("malformed", "the daemon sent what is no message"));
    } else if (typeof message.method === "string") {
      const { method, params, id } = message;
      this.on.frame({ method, params: params ?? {}, id, size: (data as string).length });
    } else {
      this.#answered(message);
    }
  }

  #answered({ id, result, error }: Message): void {
    const done = typeof id === "number" ? this.#waiting.get(id) : undefined;
    if (done) {
      this.#waiting.delete(id as number);
      done(error ? AcpdError.answered(error) : undefined, result);
    } else if (error && (id === null || id === undefined)) {
      this.on.odd(AcpdError.answered(error));
    }
  }

  #end(error: AcpdError): void {
    if (this.#ended) {
      return;
    }
    this.#ended = true;
    this.#liveness.stop();
    this.on.closed(error);
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    // What was asked may have been done, so that only the caller can say whether to ask again.
    const lost = error.code === "closed" ? error : AcpdError.disconnected(error.message);
    for (const done of waiting) {
      done(lost, undefined);
    }
  }
}

interface Message {
  method?: string;
  params?: Record<string, unknown>;
  id?: string | number;
  result?: unknown;
  error?: RpcError;
}

function parse(text: string): Message | undefined {
  try {
    const message: unknown = JSON.parse(text);
    return typeof message === "object" && message !== null ? (message as Message) : undefined;
  } catch {
    return undefined;
  }
}

/** Whether a text has more than `bound` bytes as UTF-8; it has 1 to 3 for each UTF-16 unit. */
function isLonger(text: string, bound: number): boolean {
  return text.length > bound || (text.length * 3 > bound && new TextEncoder().encode(text).length > bound);
}
