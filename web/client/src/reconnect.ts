/**
 * One connection after another: connects, waits, connects again, until it is closed or the daemon says that trying is
 * of no use. It knows nothing of threads; who is told that a connection is open brings them back.
 */

import { type Backoff, type Clock, delay } from "./clock.js";
import { Connection, type Frame } from "./connection.js";
import { AcpdError, mayPass } from "./errors.js";
import type { Patience } from "./liveness.js";
import type { Initialized, InitializeParams } from "./protocol.js";
import { type Credentials, openSocket, type Socket, type SocketConstructor } from "./socket.js";

/** How a client stands. */
export type State =
  /** A connection is being made. */
  | { name: "connecting" }
  /** There is one; `server` says to whom, as whom, and within which limits. */
  | { name: "open"; server: Initialized }
  /** The last one ended with `error`; the next attempt is `retryMs` after that. */
  | { name: "waiting"; retryMs: number; error: Error }
  /** There will be none any more; `error` says why, unless the client was closed on purpose. */
  | { name: "closed"; error?: Error };

/** What a page tells of the world, as in browsers. */
export interface Page {
  addEventListener(type: "online" | "visibilitychange", listener: () => void): void;
  removeEventListener(type: "online" | "visibilitychange", listener: () => void): void;
  /** `document.visibilityState`. */
  visible(): boolean;
}

/** What connections are made of. */
export interface LinkOptions extends Patience {
  address: string;
  credentials: Credentials;
  make: SocketConstructor;
  hello: InitializeParams;
  backoff: Backoff;
  /** How long an attempt may take up to the end of its handshake. */
  connectTimeoutMs: number;
  clock: Clock;
  random: () => number;
  page: Page | undefined;
}

/** Who is told what. */
export interface OnLink {
  state(state: State): void;
  open(connection: Connection): void;
  lost(): void;
  frame(frame: Frame): void;
  odd(error: AcpdError): void;
}

/** A connection that lasted this long was a good one: the next attempt comes soon. */
const STABLE_MS = 5_000;

/** Keeps a client connected. */
export class Link {
  #state: State = { name: "connecting" };
  #connection: Connection | undefined;
  #open = false;
  #openedAt = 0;
  #attempts = 0;
  /** Which attempt it is: what comes from an earlier one is not looked at. */
  #round = 0;
  #timer: unknown;
  readonly #onPage = () => {
    if (this.options.page?.visible() !== false) {
      this.hurry();
    }
  };

  constructor(
    private readonly options: LinkOptions,
    private readonly on: OnLink,
  ) {}

  /** Begins. */
  start(): void {
    this.options.page?.addEventListener("online", this.#onPage);
    this.options.page?.addEventListener("visibilitychange", this.#onPage);
    void this.#attempt();
  }

  /** How it stands. */
  get state(): State {
    return this.#state;
  }

  /** The connection, if it is open. */
  get connection(): Connection | undefined {
    return this.#open ? this.#connection : undefined;
  }

  /** The world has changed: connects at once if it waits, else finds out whether the connection still works. */
  hurry(): void {
    if (this.#state.name === "waiting") {
      this.options.clock.clear(this.#timer);
      void this.#attempt();
    } else {
      this.connection?.doubt();
    }
  }

  /** Ends it for good. */
  close(error?: Error): void {
    if (this.#state.name === "closed") {
      return;
    }
    const connection = this.#leave();
    this.options.page?.removeEventListener("online", this.#onPage);
    this.options.page?.removeEventListener("visibilitychange", this.#onPage);
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
    // Whoever was told may have closed it.
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
    // A ticket may have grown old on its way; whoever fetches tickets knows whether there will be more.
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

  /** Has no connection any more; answers the one that there was. */
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
