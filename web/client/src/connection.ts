/**
 * One connection: the handshake, requests and their responses, and the daemon's notifications and requests. It knows no
 * threads, stores no events, and is never reopened: {@link Link} creates the next one.
 *
 * It uses callbacks and not promises. Several frames may arrive in one task, and the effects of a response must be
 * complete before the next frame is handled.
 */

import type { Clock } from "./clock.js";
import { AcpdError } from "./errors.js";
import { Liveness, type Patience } from "./liveness.js";
import { PROTOCOL_VERSION } from "./protocol.js";
import type { Error as RpcError, Initialized, InitializeParams } from "./protocol.js";
import { refusal, type Socket, unreachable } from "./socket.js";

/** Receives the outcome of a request. */
export type Done = (error: AcpdError | undefined, result: unknown) => void;

/** A notification or request of the daemon. */
export interface Frame {
  method: string;
  params: Record<string, unknown>;
  /** For a question: the id of the response. */
  id: string | number | undefined;
  /** Length of its text, in UTF-16 units. */
  size: number;
}

/** The callbacks of a connection. */
export interface OnConnection {
  open(server: Initialized): void;
  frame(frame: Frame): void;
  /** The connection has ended with pending requests; their callbacks follow. */
  closed(error: AcpdError): void;
  /** The daemon sent something unexpected; the connection stays open. */
  odd(error: AcpdError): void;
}

/** Close code for a connection that this client gives up, which no standard code describes. */
const GIVEN_UP = 4000;

/** One connection, from its start to its end. */
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
      // The cheapest request: the protocol has no ping.
      probe: () => this.request("thread/list", { limit: 1 }, () => {}),
      dead: () => this.drop(AcpdError.disconnected("the daemon does not respond")),
    });
    socket.addEventListener("open", () => this.#greet(hello));
    socket.addEventListener("message", ({ data }) => this.#message(data));
    socket.addEventListener("error", ({ message }) => {
      this.#error ??= refusal(message) ?? AcpdError.disconnected(unreachable(message));
    });
    socket.addEventListener("close", ({ code, reason }) => {
      const why = reason || `code ${code}`;
      this.#end(this.#error ?? AcpdError.disconnected(`the connection was closed: ${why}`));
    });
    // `ws` reports the daemon's pings, which prove that it is alive.
    socket.on?.("ping", () => this.#liveness.heard());
  }

  /** Sends a request; calls `done` once, and never before this method returns the id. */
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

  /** Discards the response to a request. */
  forget(id: number): void {
    this.#waiting.delete(id);
  }

  /** Responds to a question. */
  respond(id: string | number, result: unknown): void {
    if (!this.#ended) {
      this.socket.send(JSON.stringify({ jsonrpc: "2.0", id, result }));
    }
  }

  /** Probes whether the daemon is still there. */
  doubt(): void {
    this.#liveness.doubt();
  }

  /** Ends the connection without waiting for the daemon. */
  drop(error: AcpdError, code = GIVEN_UP): void {
    this.#end(error);
    const { terminate } = this.socket;
    // A peer that is gone does not complete the close handshake, for which `ws` would wait.
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
      this.on.odd(new AcpdError("malformed", "the daemon sent an invalid message"));
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
    // The daemon may have executed the requests, so only the caller can decide about a retry.
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

/** Returns whether a text has more than `bound` bytes as UTF-8, which takes 1 to 3 bytes for each UTF-16 unit. */
function isLonger(text: string, bound: number): boolean {
  return text.length > bound || (text.length * 3 > bound && new TextEncoder().encode(text).length > bound);
}
