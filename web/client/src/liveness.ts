/**
 * Detection of a dead connection. In: received frames and sent requests. Out: probes, and that the connection is dead.
 * Browsers do not expose the daemon's pings, so silence alone proves nothing.
 */

import type { Clock } from "./clock.js";

/** Maximum silence, by situation. */
export interface Patience {
  /** Without pending requests, in milliseconds; then the client sends a probe. */
  idleMs: number;
  /**
   * With a pending request or probe, in milliseconds. After a request, the client sends a probe; after a probe, it
   * gives up.
   */
  requestTimeoutMs: number;
}

/**
 * Maximum silence after a probe of a connection in doubt, in milliseconds. A user who comes back looks at the screen then,
 * and a new connection continues where the old one ended.
 */
const DOUBT_MS = 2_500;

/** The callbacks for silence. */
export interface OnSilence {
  /** Returns the number of pending requests. */
  waiting(): number;
  /** Sends a cheap request to the daemon. */
  probe(): void;
  /** The connection is dead. */
  dead(): void;
}

/** Watches one connection. */
export class Liveness {
  #last: number;
  /** Maximum silence after the probe that was sent, in milliseconds. */
  #probed: number | undefined;
  #stopped = false;
  #timer: unknown;
  #due = 0;

  constructor(
    private readonly clock: Clock,
    private readonly patience: Patience,
    private readonly on: OnSilence,
  ) {
    this.#last = clock.now();
    this.#arm();
  }

  /** Records a received frame. */
  heard(): void {
    this.#last = this.clock.now();
    this.#probed = undefined;
  }

  /** Records a sent request: from now on, silence counts. */
  asked(): void {
    // Silence from before the first request does not count.
    if (this.#probed === undefined && this.on.waiting() === 1) {
      this.#last = this.clock.now();
    }
    this.#arm();
  }

  /** Sends a probe immediately: the host was asleep, or the network has changed. */
  doubt(): void {
    if (this.#stopped) {
      return;
    }
    const limit = Math.min(DOUBT_MS, this.patience.requestTimeoutMs);
    if (this.#probed === undefined) {
      this.#probe(limit);
    } else {
      this.#probed = Math.min(this.#probed, limit);
      this.#arm();
    }
  }

  /** Stops watching. */
  stop(): void {
    this.clock.clear(this.#timer);
    this.#timer = undefined;
    this.#stopped = true;
  }

  #probe(limit: number): void {
    this.#last = this.clock.now();
    this.on.probe();
    this.#probed = limit;
    this.#arm();
  }

  #deadline(): number {
    const { idleMs, requestTimeoutMs } = this.patience;
    return this.#last + (this.#probed ?? (this.on.waiting() > 0 ? requestTimeoutMs : idleMs));
  }

  /** Uses one timer and never postpones it: otherwise every received frame would have to. */
  #arm(): void {
    const due = this.#deadline();
    if (this.#stopped || (this.#timer !== undefined && this.#due <= due)) {
      return;
    }
    this.clock.clear(this.#timer);
    this.#due = due;
    this.#timer = this.clock.set(() => this.#fire(), Math.max(0, due - this.clock.now()));
  }

  #fire(): void {
    this.#timer = undefined;
    if (this.clock.now() < this.#deadline()) {
      this.#arm();
    } else if (this.#probed !== undefined) {
      this.on.dead();
    } else {
      this.#probe(this.patience.requestTimeoutMs);
    }
  }
}
