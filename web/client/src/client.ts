/** The public client: requests, notifications, questions and threads. It survives any number of reconnects. */

import { type Backoff, type Clock, systemClock } from "./clock.js";
import type { Done, Frame } from "./connection.js";
import { AcpdError } from "./errors.js";
import type { FollowOptions, Subscription } from "./follow.js";
import type {
  ClientCapabilities,
  ClientInfo,
  Initialized,
  Notifications,
  Rejected,
  Resolved,
  ServerRequests,
} from "./protocol.js";
import { Questions } from "./questions.js";
import { Link, type Page, type State } from "./reconnect.js";
import { type SocketConstructor, socketAddress, socketConstructor } from "./socket.js";
import { ThreadStream, type Wire } from "./stream.js";
import type {
  Args,
  CallOptions,
  Method,
  NotificationMethod,
  QuestionHandler,
  QuestionMethod,
  Result,
  ThreadEvent,
} from "./types.js";

/** The daemon's address, and the client's identity and capabilities. */
export interface ConnectOptions {
  /** The daemon's address, such as `http://127.0.0.1:4127`. In a page, `/` is the daemon that served it. */
  url: string;
  /** The access token; not in browsers, which cannot send it. */
  token?: string | undefined;
  /** Fetches a one-time ticket for each connection, in browsers: see `fetchTicket`. */
  ticket?: () => Promise<string>;
  /** The log records it with every decision of this client. */
  clientInfo: ClientInfo;
  /**
   * `approvals: true` to receive questions. The client itself drops notifications that are opted out of, so that it can
   * detect gaps.
   */
  capabilities?: ClientCapabilities;
  /**
   * The constructor to use if there is no global one, or it does not support headers: for example that of the package
   * `ws`.
   */
  WebSocket?: SocketConstructor;
  /** Delay between connection attempts. Default: 250 ms to 30 s. */
  backoff?: Partial<Backoff>;
  /** Timeout of a connection attempt. Default: 10 s. */
  connectTimeoutMs?: number;
  /**
   * Maximum silence while a request is pending; then the client probes the daemon. After the same time again, it drops
   * the connection. Default: 10 s.
   */
  requestTimeoutMs?: number;
  /** Maximum silence without a pending request; then the client probes the daemon. Default: 45 s. */
  idleMs?: number;
  /**
   * Receives errors that no caller can receive: those of handlers, and of rejected answers. Default: logs them to the
   * console.
   */
  onError?: (error: unknown) => void;
  /** Replaces the clock in tests. */
  clock?: Clock;
  /** Replaces `Math.random` in tests: from 0 up to 1. */
  random?: () => number;
  /**
   * Replaces the page's events, in tests or for a caller that knows better when the network is back. `null`: no events.
   */
  page?: Page | null;
}

type Handler = (params: never) => void;

/** Connects, and reconnects when necessary. Returns the client immediately; `ready` waits for the connection. */
export function connect(options: ConnectOptions): Client {
  return new Client(options);
}

/** A client of the daemon. Create one with {@link connect}. */
export class Client {
  readonly #link: Link;
  readonly #clock: Clock;
  readonly #questions: Questions;
  readonly #wire: Wire;
  readonly #streams = new Map<string, ThreadStream>();
  readonly #handlers = new Map<string, Set<Handler>>();
  readonly #stateHandlers = new Set<(state: State) => void>();
  readonly #optedOut: ReadonlySet<string>;
  readonly #onError: (error: unknown) => void;
  /** Why the last connection or attempt ended; `undefined` while there is a connection. */
  #reason: Error | undefined;

  constructor(options: ConnectOptions) {
    const clock = options.clock ?? systemClock;
    const random = options.random ?? Math.random;
    const backoff = { firstMs: 250, maxMs: 30_000, ...options.backoff };
    const { optOutNotificationMethods, ...capabilities } = options.capabilities ?? {};
    this.#clock = clock;
    this.#optedOut = new Set(optOutNotificationMethods);
    this.#onError = options.onError ?? ((error) => console.error(error));
    this.#questions = new Questions((id, answer) => this.#link.connection?.respond(id, answer), this.#onError);
    this.#wire = {
      send: (method, params, done) => this.#send(method, params, done),
      resumed: ({ thread }) => this.#questions.reconcile(thread),
      empty: (stream) => this.#unfollow(stream),
      onError: this.#onError,
      clock,
      random,
      backoff,
    };
    this.#link = new Link(
      {
        address: socketAddress(options.url),
        credentials: { token: options.token, ticket: options.ticket },
        make: socketConstructor(options.WebSocket, options.token),
        hello: { clientInfo: options.clientInfo, capabilities },
        backoff,
        connectTimeoutMs: options.connectTimeoutMs ?? 10_000,
        requestTimeoutMs: options.requestTimeoutMs ?? 10_000,
        idleMs: options.idleMs ?? 45_000,
        clock,
        random,
        page: options.page === undefined ? thisPage() : (options.page ?? undefined),
      },
      {
        state: (state) => this.#became(state),
        open: () => this.#eachStream((stream) => stream.opened()),
        lost: () => this.#lost(),
        frame: (frame) => this.#frame(frame),
        odd: this.#onError,
      },
    );
    this.#link.start();
  }

  /** The state of the connection. */
  get state(): State {
    return this.#link.state;
  }

  /** Calls `handler` at every change of state, but not for the current state. Returns a function that unsubscribes. */
  onState(handler: (state: State) => void): () => void {
    this.#stateHandlers.add(handler);
    return () => void this.#stateHandlers.delete(handler);
  }

  /**
   * Waits for a connection. Rejects once the client is closed for good. After `timeoutMs`, rejects with the reason why there is
   * no connection; the client keeps trying.
   */
  ready({ timeoutMs }: { timeoutMs?: number } = {}): Promise<Initialized> {
    return new Promise((resolve, reject) => {
      let timer: unknown;
      const look = (state: State) => {
        if (state.name === "open") {
          resolve(state.server);
        } else if (state.name === "closed") {
          reject(state.error ?? closed());
        } else {
          return;
        }
        stop();
      };
      const off = this.onState(look);
      const stop = () => {
        this.#clock.clear(timer);
        off();
      };
      if (timeoutMs !== undefined) {
        timer = this.#clock.set(() => {
          stop();
          reject(this.#reason ?? AcpdError.disconnected(`the daemon did not answer within ${timeoutMs} ms`));
        }, timeoutMs);
      }
      look(this.state);
    });
  }

  /**
   * Sends a request at most once. Without a connection, or if it breaks before the response, the request fails as
   * `disconnected`. Then only the caller knows whether a retry is safe. It is for `turn/start` with the same
   * `clientTurnId`, and for requests that only read.
   */
  call<M extends Method>(method: M, ...[params, options]: Args<M>): Promise<Result<M>> {
    return new Promise((resolve, reject) => {
      const { connection } = this.#link;
      if (!connection) {
        throw this.#absent();
      }
      if (options?.signal?.aborted) {
        throw takenBack(method);
      }
      const watch = new Watch(this.#clock, method, options, (error) => {
        connection.forget(id);
        reject(error);
      });
      const id = connection.request(method, params ?? {}, (error, result) => {
        watch.stop();
        if (error) {
          reject(error);
        } else {
          resolve(result as Result<M>);
        }
      });
      watch.start();
    });
  }

  /**
   * Calls `handler` for each notification of a method, and for each question event that all clients receive. Each event
   * of a followed thread arrives once; events of others arrive as the daemon sends them. Returns a function that
   * unsubscribes.
   */
  on<M extends NotificationMethod>(method: M, handler: (params: Notifications[M]) => void): () => void;
  on<M extends QuestionMethod>(method: M, handler: (params: ServerRequests[M]["params"]) => void): () => void;
  on(method: string, handler: Handler): () => void {
    let handlers = this.#handlers.get(method);
    if (!handlers) {
      this.#handlers.set(method, (handlers = new Set()));
    }
    handlers.add(handler);
    return () => void handlers.delete(handler);
  }

  /**
   * Sets the handler that answers questions of a method. It receives each question once, however often the connection
   * breaks. The client sends its result. If it returns nothing or throws, the question stays open. Requires
   * `capabilities.approvals`.
   */
  answer<M extends QuestionMethod>(method: M, handler: QuestionHandler<M>): () => void {
    return this.#questions.handle(method, handler);
  }

  /** Subscribes to a thread: every event after `after`, once and in order, until the subscription is closed. */
  follow(threadId: string, options: FollowOptions = {}): Subscription {
    let stream = this.#streams.get(threadId);
    if (!stream) {
      stream = new ThreadStream(threadId, this.#wire);
      this.#streams.set(threadId, stream);
    }
    const reader = stream.follow(options);
    const { state } = this;
    if (state.name === "closed") {
      reader.end(state.error ?? closed());
    } else if (options.signal?.aborted) {
      reader.close();
    }
    return reader;
  }

  /** Connects immediately if it is waiting for the next attempt; otherwise probes the connection. */
  reconnect(): void {
    this.#link.hurry();
  }

  /** Closes the client. Pending requests fail as `closed`, and subscriptions end. */
  close(): void {
    this.#link.close();
  }

  #send(method: string, params: unknown, done: Done): boolean {
    const { connection } = this.#link;
    connection?.request(method, params, done);
    return connection !== undefined;
  }

  #absent(): AcpdError {
    const { state } = this;
    return state.name === "closed" ? closed(state.error) : AcpdError.disconnected("there is no connection");
  }

  #frame({ method, params, id, size }: Frame): void {
    if (method === "serverRequest/rejected") {
      this.#questions.rejected(params as unknown as Rejected);
      this.#emit(method, params);
      return;
    }
    if (method.startsWith("thread/list/") || method === "thread/subscribers/changed" || method === "thread/log/changed") {
      if (!this.#optedOut.has(method)) {
        this.#emit(method, params);
      }
      return;
    }
    if (method === "serverRequest/resolved") {
      this.#questions.resolved(params as unknown as Resolved);
    }
    const stream = typeof params.threadId === "string" ? this.#streams.get(params.threadId) : undefined;
    if (method === "stream/reset") {
      stream?.reset();
      return;
    }
    const seq = typeof params.seq === "number" ? params.seq : undefined;
    const hidden = this.#optedOut.has(method);
    const event = { method, params } as unknown as ThreadEvent;
    if ((stream?.frame(event, seq, size, hidden) ?? true) && !hidden) {
      this.#emit(method, params);
    }
    if (id !== undefined) {
      this.#questions.asked(method as QuestionMethod, params as unknown as ServerRequests[QuestionMethod]["params"]);
    }
  }

  #emit(method: string, params: unknown): void {
    for (const handler of [...(this.#handlers.get(method) ?? [])]) {
      this.#guard(() => handler(params as never));
    }
  }

  #became(state: State): void {
    if (state.name === "open") {
      this.#reason = undefined;
    } else if (state.name === "waiting") {
      this.#reason = state.error;
    }
    for (const handler of [...this.#stateHandlers]) {
      this.#guard(() => handler(state));
    }
    if (state.name === "closed") {
      this.#eachStream((stream) => stream.end(state.error));
      this.#questions.keep(() => false);
    }
  }

  #lost(): void {
    this.#questions.keep((threadId) => this.#streams.has(threadId));
    this.#eachStream((stream) => stream.lost());
  }

  #unfollow(stream: ThreadStream): void {
    if (this.#streams.get(stream.threadId) === stream) {
      this.#streams.delete(stream.threadId);
      // Otherwise the daemon would send events without a reader. If this fails, the connection and its subscription are
      // gone.
      this.#send("thread/unsubscribe", { threadId: stream.threadId }, () => {});
      // Without a subscription, their resolution would not arrive.
      this.#questions.keep((threadId) => threadId !== stream.threadId);
    }
  }

  #eachStream(run: (stream: ThreadStream) => void): void {
    for (const stream of [...this.#streams.values()]) {
      run(stream);
    }
  }

  #guard(run: () => void): void {
    try {
      run();
    } catch (error) {
      this.#onError(error);
    }
  }
}

/** Cancels a request when its timeout expires or its caller aborts it. */
class Watch {
  #timer: unknown;
  readonly #onAbort = () => this.#give(takenBack(this.method));

  constructor(
    private readonly clock: Clock,
    private readonly method: string,
    private readonly options: CallOptions | undefined,
    private readonly giveUp: (error: AcpdError) => void,
  ) {}

  start(): void {
    const { signal, timeoutMs } = this.options ?? {};
    if (timeoutMs !== undefined) {
      const message = `${this.method} was not answered within ${timeoutMs} ms`;
      const late = () => this.#give(new AcpdError("timeout", message, { retryable: true }));
      this.#timer = this.clock.set(late, timeoutMs);
    }
    signal?.addEventListener("abort", this.#onAbort);
  }

  stop(): void {
    this.clock.clear(this.#timer);
    this.options?.signal?.removeEventListener("abort", this.#onAbort);
  }

  #give(error: AcpdError): void {
    this.stop();
    this.giveUp(error);
  }
}

function takenBack(method: string): AcpdError {
  return new AcpdError("aborted", `${method} was taken back`);
}

function closed(cause?: Error): AcpdError {
  return new AcpdError("closed", "the client is closed", { cause });
}

/** Returns the page's events; `undefined` outside of a page. */
function thisPage(): Page | undefined {
  const { window, document } = globalThis as { window?: Window; document?: Document };
  if (!window || !document) {
    return undefined;
  }
  return {
    // Browsers send only some of these after a sleep, and in any order. Those of the document pass the window first.
    listen: (listener, signal) =>
      ["online", "pageshow", "resume", "visibilitychange"].forEach((type) =>
        window.addEventListener(type, listener, { capture: true, signal }),
      ),
    visible: () => document.visibilityState !== "hidden",
  };
}
