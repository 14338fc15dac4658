/**
 * Whether the other end is still there. Comes in: that something was heard, that something was asked. Goes out: that a
 * probe is due, that the connection is dead. Browsers do not show the daemon's pings, so silence alone means nothing.
 */

import type { Clock } from "./clock.js";

/** How long silence is borne. */
export interface Patience {
  /** With nothing asked, in milliseconds; then a probe is sent. */
  idleMs: number;
  /** With a request or a probe unanswered, in milliseconds. After a request a probe is sent; after a probe it is over. */
  requestTimeoutMs: number;
}

/** What is done about silence. */
export interface OnSilence {
  /** How many requests wait for their answers. */
  waiting(): number;
  /** Asks the daemon something cheap. */
  probe(): void;
  /** The connection is dead. */
  dead(): void;
}

/** Watches one connection. */
export class Liveness {
  #last: number;
  #probed = false;
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

  /** Something came. */
  heard(): void {
    this.#last = this.clock.now();
    this.#probed = false;
  }

  /** A request has left: from now on silence means something. */
  asked(): void {
    // A silence from before the first request says nothing about its answer.
    if (!this.#probed && this.on.waiting() === 1) {
      this.#last = this.clock.now();
    }
    this.#arm();
  }

  /** Finds out at once: the machine was asleep, or the network has changed. */
  doubt(): void {
    if (!this.#probed && !this.#stopped) {
      this.#probe();
    }
  }

  /** Watches no longer. */
  stop(): void {
    this.clock.clear(this.#timer);
    this.#timer = undefined;
    this.#stopped = true;
  }

  #probe(): void {
    this.#last = this.clock.now();
    this.on.probe();
    this.#probed = true;
    this.#arm();
  }

  #deadline(): number {
    const soon = this.#probed || this.on.waiting() > 0;
    return this.#last + (soon ? this.patience.requestTimeoutMs : this.patience.idleMs);
  }

  /** One timer, which is never moved back: each frame that comes would have to. */
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
    } else if (this.#probed) {
      this.on.dead();
    } else {
      this.#probe();
    }
  }
}
