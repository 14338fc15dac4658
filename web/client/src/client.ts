/** What programs use: requests, notifications, questions and threads, over however many connections it takes. */

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

/** Whom to connect to, and as whom. */
export interface ConnectOptions {
  /** The daemon's address, such as `http://127.0.0.1:4780`; in a page, `/` is the daemon that served it. */
  url: string;
  /** The access token; not in browsers. */
  token?: string;
  /** Fetches a one-time ticket for each connection, in browsers: see `fetchTicket`. */
  ticket?: () => Promise<string>;
  /** Stands beside every decision of this client in the log. */
  clientInfo: ClientInfo;
  /** `approvals: true` to be asked. Notifications that are opted out of are dropped here, so that gaps can be told from them. */
  capabilities?: ClientCapabilities;
  /** Where there is none, or none that takes headers: such as that of the package `ws`. */
  WebSocket?: SocketConstructor;
  /** How long to wait between attempts to connect: 250 ms to 30 s. */
  backoff?: Partial<Backoff>;
  /** How long an attempt may take: 10 s. */
  connectTimeoutMs?: number;
  /** How long nothing may come while a request waits, before the daemon is asked whether it is there, and then before the connection is given up: 10 s. */
  requestTimeoutMs?: number;
  /** How long nothing may come while nothing is asked, before the daemon is asked whether it is there: 45 s. */
  idleMs?: number;
  /** Hears of failures that have nobody else to hear of them: of handlers, of answers that were not taken. By default they go to the console. */
  onError?: (error: unknown) => void;
  /** For tests. */
  clock?: Clock;
  /** For tests: from 0 up to 1. */
  random?: () => number;
  /** For tests, and for whoever knows better when the network is back. `null`: nothing tells. */
  page?: Page | null;
}

type Handler = (params: never) => void;

/** Connects, and stays connected. The client is there at once; `ready` tells when it has a connection. */
export function connect(options: ConnectOptions): Client {
  return new Client(options);
}

/** A client of the daemon. Made by {@link connect}. */
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

  /** How it stands. */
  get state(): State {
    return this.#link.state;
  }

  /** Calls `handler` whenever the state changes, not for the present one. Answers what ends that. */
  onState(handler: (state: State) => void): () => void {
    this.#stateHandlers.add(handler);
    return () => void this.#stateHandlers.delete(handler);
  }

  /** Waits for a connection. Fails once there will be none any more. */
  ready(): Promise<Initialized> {
    return new Promise((resolve, reject) => {
      const look = (state: State) => {
        if (state.name === "open") {
          resolve(state.server);
        } else if (state.name === "closed") {
          reject(state.error ?? closed());
        } else {
          return;
        }
        off();
      };
      const off = this.onState(look);
      look(this.state);
    });
  }

  /**
   * Makes a request. It is sent at most once: without a connection, or if the connection breaks before the answer, it
   * fails as `disconnected`, and only the caller knows whether it may be made again. `turn/start` may, with the same
   * `clientTurnId`, and so may whatever only reads.
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
   * Calls `handler` for each notification of a kind, and for each question as everyone sees it. Of threads that are
   * followed, each event comes once; of others, as the daemon sends it. Answers what ends that.
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
   * Answers questions of a kind: one handler each, put to it once however often the connection breaks. What it answers
   * with is sent; if it answers with nothing, or fails, the question stays open. Needs `capabilities.approvals`.
   */
  answer<M extends QuestionMethod>(method: M, handler: QuestionHandler<M>): () => void {
    return this.#questions.handle(method, handler);
  }

  /** Follows a thread: every event after `after`, once and in order, until it is closed. */
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

  /** Tries to connect at once, if it waits for that; else finds out whether the connection still works. */
  reconnect(): void {
    this.#link.hurry();
  }

  /** Ends everything. Requests that wait fail as `closed`, subscriptions end. */
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
    if (method.startsWith("thread/list/") || method === "thread/subscribers/changed") {
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
      // It would go on for nobody; if this fails, the connection is gone and the subscription with it.
      this.#send("thread/unsubscribe", { threadId: stream.threadId }, () => {});
      // Nobody will tell how they end.
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

/** Gives a request up when its time is over or its caller says so. */
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

/** The page that this runs in, if it does. */
function thisPage(): Page | undefined {
  const { window, document } = globalThis as { window?: Window; document?: Document };
  if (!window || !document) {
    return undefined;
  }
  const target = (type: string) => (type === "online" ? window : document);
  return {
    addEventListener: (type, listener) => target(type).addEventListener(type, listener),
    removeEventListener: (type, listener) => target(type).removeEventListener(type, listener),
    visible: () => document.visibilityState !== "hidden",
  };
}
