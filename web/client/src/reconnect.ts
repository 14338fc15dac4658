/**
 * A sequence of connections: connects, waits, and connects again, until it is closed or a retry is pointless. It knows
 * no threads: the callback for an open connection resumes them.
 */

import { type Backoff, type Clock, delay } from "./clock.js";
import { Connection, type Frame } from "./connection.js";
import { AcpdError, mayPass } from "./errors.js";
import type { Patience } from "./liveness.js";
import type { Initialized, InitializeParams } from "./protocol.js";
import { type Credentials, openSocket, type Socket, type SocketConstructor } from "./socket.js";

/** The state of the client's connection. */
export type State =
  /** The client is connecting. */
  | { name: "connecting" }
  /** There is a connection; `server` has the daemon's identity, the client's principal, and the limits. */
  | { name: "open"; server: Initialized }
  /** The last connection ended with `error`; the next attempt follows after `retryMs`. */
  | { name: "waiting"; retryMs: number; error: Error }
  /** There will be no further connection; `error` is the reason, unless the client was closed on purpose. */
  | { name: "closed"; error?: Error };

/** A browser page. */
export interface Page {
  /** Calls `listener` when the page is shown or hidden, is online again, or may have slept, until `signal` is aborted. */
  listen(listener: () => void, signal: AbortSignal): void;
  /** Returns whether `document.visibilityState` is `visible`. */
  visible(): boolean;
}

/** The parameters of connections. */
export interface LinkOptions extends Patience {
  address: string;
  credentials: Credentials;
  make: SocketConstructor;
  hello: InitializeParams;
  backoff: Backoff;
  /** Timeout of an attempt, including its handshake. */
  connectTimeoutMs: number;
  clock: Clock;
  random: () => number;
  page: Page | undefined;
}

/** The callbacks of a link. */
export interface OnLink {
  state(state: State): void;
  open(connection: Connection): void;
  lost(): void;
  frame(frame: Frame): void;
  odd(error: AcpdError): void;
}

/** After a connection that lasted this long, the next attempt follows soon. */
const STABLE_MS = 5_000;

/** Keeps a client connected. */
export class Link {
  #state: State = { name: "connecting" };
  #connection: Connection | undefined;
  #open = false;
  #openedAt = 0;
  #attempts = 0;
  /** Number of the current attempt: callbacks of earlier ones are ignored. */
  #round = 0;
  #timer: unknown;
  readonly #closing = new AbortController();

  constructor(
    private readonly options: LinkOptions,
    private readonly on: OnLink,
  ) {}

  /** Starts connecting. */
  start(): void {
    const { page } = this.options;
    page?.listen(() => {
      if (page.visible()) {
        // Attempts that failed while the page slept say nothing about the network now.
        this.#attempts = 0;
        this.hurry();
      }
    }, this.#closing.signal);
    void this.#attempt();
  }

  /** The current state. */
  get state(): State {
    return this.#state;
  }

  /** The connection, if it is open. */
  get connection(): Connection | undefined {
    return this.#open ? this.#connection : undefined;
  }

  /** The network or visibility changed: connects immediately if it is waiting, otherwise probes the connection. */
  hurry(): void {
    if (this.#state.name === "waiting") {
      this.options.clock.clear(this.#timer);
      void this.#attempt();
    } else {
      this.connection?.doubt();
    }
  }

  /** Closes the link for good. */
  close(error?: Error): void {
    if (this.#state.name === "closed") {
      return;
    }
    const connection = this.#leave();
    this.#closing.abort();
    this.#become(error ? { name: "closed", error } : { name: "closed" });
    connection?.drop(new AcpdError("closed", "the client was closed"), 1000);
  }

  async #attempt(): Promise<void> {
    const { clock, connectTimeoutMs, make, address, credentials } = this.options;
    const round = ++this.#round;
    this.#timer = clock.set(() => this.#timedOut(round), connectTimeoutMs);
    this.#become({ name: "connecting" });
    let socket: Socket;
    try {
      socket = await openSocket(make, address, credentials);
    } catch (error) {
      if (round === this.#round) {
        this.#failed(error instanceof Error ? error : new Error(String(error)));
      }
      return;
    }
    if (round !== this.#round) {
      socket.addEventListener("error", () => {});
      socket.close();
      return;
    }
    const { hello } = this.options;
    this.#connection = new Connection(socket, hello, clock, this.options, {
      open: (server) => this.#opened(server),
      frame: (frame) => this.on.frame(frame),
      odd: (error) => this.on.odd(error),
      closed: (error) => {
        if (round === this.#round) {
          this.#failed(error);
        }
      },
    });
  }

  #timedOut(round: number): void {
    if (round !== this.#round || this.#open) {
      return;
    }
    const why = AcpdError.disconnected("the daemon does not answer");
    if (this.#connection) {
      this.#connection.drop(why);
    } else {
      this.#failed(why);
    }
  }

  #opened(server: Initialized): void {
    const { clock } = this.options;
    clock.clear(this.#timer);
    this.#open = true;
    this.#openedAt = clock.now();
    this.#become({ name: "open", server });
    // A callback may have closed it.
    const { connection } = this;
    if (connection) {
      this.on.open(connection);
    }
  }

  #failed(error: Error): void {
    const { backoff, clock, credentials, random } = this.options;
    if (this.#open && clock.now() - this.#openedAt >= STABLE_MS) {
      this.#attempts = 0;
    }
    // The ticket may have expired in transit; the function that fetches tickets decides whether there will be more.
    const passes = mayPass(error) || (credentials.ticket && this.#connection && isUnauthenticated(error));
    if (!passes) {
      this.close(error);
      return;
    }
    this.#leave();
    const retryMs = delay(backoff, this.#attempts++, random);
    this.#timer = clock.set(() => void this.#attempt(), retryMs);
    this.#become({ name: "waiting", retryMs, error });
  }

  /** Detaches and returns the current connection. */
  #leave(): Connection | undefined {
    this.options.clock.clear(this.#timer);
    this.#round++;
    const connection = this.#connection;
    this.#connection = undefined;
    if (this.#open) {
      this.#open = false;
      this.on.lost();
    }
    return connection;
  }

  #become(state: State): void {
    this.#state = state;
    this.on.state(state);
  }
}

function isUnauthenticated(error: Error): boolean {
  return error instanceof AcpdError && error.code === "unauthenticated";
}
