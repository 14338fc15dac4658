/**
 * This client's subscription to one thread. It passes the daemon's events to every reader, and requests missed events
 * again. In: frames, and connections that open and break. Out: `thread/resume`. It stores no events: the daemon's log
 * has those that a reader has missed.
 *
 * All readers share one subscription. It is at the position of the reader that is furthest behind; the others ignore
 * events that they have already seen.
 */

import { type Backoff, type Clock, delay } from "./clock.js";
import type { Done } from "./connection.js";
import { type AcpdError, mayPass } from "./errors.js";
import { type Feed, type FollowOptions, Subscription } from "./follow.js";
import type { ThreadResumed } from "./protocol.js";
import type { ThreadEvent } from "./types.js";

/** The stream's interface to its client. */
export interface Wire {
  /** Sends a request; returns `false` if there is no connection. */
  send(method: string, params: unknown, done: Done): boolean;
  /** Receives the daemon's description of the thread. */
  resumed(resumed: ThreadResumed): void;
  /** The last reader has left. */
  empty(stream: ThreadStream): void;
  onError(error: unknown): void;
  clock: Clock;
  random: () => number;
  backoff: Backoff;
}

/** Minimum time between two catch-up requests for slow readers; each counts against the daemon's request limit. */
const CATCH_UP_MS = 1_000;

/** All readers of one thread. */
export class ThreadStream {
  readonly #readers = new Set<Subscription>();
  readonly #feed: Feed;
  #busy = false;
  /** Whether the current connection is subscribed. */
  #subscribed = false;
  /** Whether the daemon reset the subscription during a request. */
  #again = false;
  #timer: unknown;
  /** Number of failed attempts in a row. */
  #failures = 0;
  #caughtUpAt = Number.NEGATIVE_INFINITY;
  /** The last event known to exist. */
  #latest = 0;
  /** The last event that was passed to the client's own handlers. */
  #heard = 0;

  constructor(
    readonly threadId: string,
    private readonly wire: Wire,
  ) {
    this.#feed = {
      paused: () => this.#park(),
      unpaused: () => this.#later(CATCH_UP_MS - (wire.clock.now() - this.#caughtUpAt)),
      left: (reader) => this.#left(reader),
      onError: wire.onError,
    };
  }

  /** Adds a reader. */
  follow(options: FollowOptions): Subscription {
    const reader = new Subscription(this.threadId, options, this.#feed);
    this.#readers.add(reader);
    this.#pump();
    return reader;
  }

  /** Handles an event; returns whether any reader had not seen it. */
  frame(event: ThreadEvent, seq: number | undefined, size: number, hidden: boolean): boolean {
    let taken = false;
    let gap = false;
    for (const reader of [...this.#readers]) {
      switch (reader.take(event, seq, size, hidden)) {
        case "taken":
          taken = true;
          break;
        case "gap":
          gap ||= reader.synced;
          reader.synced = false;
          break;
        default:
      }
    }
    if (taken) {
      this.#failures = 0;
    }
    if (seq === undefined) {
      return taken;
    }
    this.#latest = Math.max(this.#latest, seq);
    const news = taken && seq > this.#heard;
    if (news) {
      this.#heard = seq;
    }
    if (gap && !this.#busy) {
      // If the daemon keeps omitting events, the client retries less and less often.
      this.#later(this.#failures === 0 ? 0 : this.#backoff());
      this.#failures++;
    }
    return news;
  }

  /** Handles a reset of the subscription by the daemon. */
  reset(): void {
    if (this.#busy) {
      this.#again = true;
      return;
    }
    this.lost();
    this.#pump();
  }

  /** Handles a new connection. */
  opened(): void {
    this.#failures = 0;
    this.#wake();
  }

  /** Handles the loss of the subscription. */
  lost(): void {
    for (const reader of this.#readers) {
      reader.synced = false;
    }
    this.#subscribed = false;
    this.wire.clock.clear(this.#timer);
    this.#timer = undefined;
  }

  /** Ends all readers. */
  end(error?: Error): void {
    for (const reader of [...this.#readers]) {
      reader.end(error);
    }
  }

  #left(reader: Subscription): void {
    if (this.#readers.delete(reader) && this.#readers.size === 0) {
      this.lost();
      this.wire.empty(this);
    }
  }

  #backoff(): number {
    return delay(this.wire.backoff, this.#failures, this.wire.random);
  }

  #wake(): void {
    this.wire.clock.clear(this.#timer);
    this.#timer = undefined;
    this.#pump();
  }

  #later(ms: number): void {
    if (ms <= 0) {
      this.#pump();
    } else {
      this.#timer ??= this.wire.clock.set(() => this.#wake(), ms);
    }
  }

  /** Requests events that a reader is missing, unless a request is in progress. */
  #pump(): void {
    if (this.#busy || this.#timer !== undefined) {
      return;
    }
    const awake = [...this.#readers].filter((reader) => !reader.isPaused);
    const behind = awake.filter((reader) => !reader.synced);
    const fresh = behind.find((reader) => reader.taken === undefined);
    if (fresh) {
      // This moves the subscription to the latest event; readers that are behind follow in the next request.
      this.#resume({ limit: fresh.options.limit }, [fresh]);
    } else if (behind.length > 0) {
      const placed = awake.filter((reader) => reader.taken !== undefined);
      const after = Math.min(...placed.map((reader) => reader.taken!));
      this.#caughtUpAt = this.wire.clock.now();
      this.#resume({ after }, placed);
    } else if (awake.length === 0 && this.#readers.size > 0 && !this.#subscribed) {
      this.#resume({ after: this.#latest }, []);
    }
  }

  /**
   * If all readers are paused and far behind, moves the subscription to the latest event, so that questions still
   * arrive.
   */
  #park(): void {
    const readers = [...this.#readers];
    const behind = this.#latest - Math.max(...readers.map((reader) => reader.taken ?? 0));
    if (!this.#busy && behind > PARK_EVENTS && readers.every((reader) => reader.isPaused)) {
      this.#resume({ after: this.#latest }, []);
    }
  }

  #resume(params: { after?: number; limit?: number | undefined }, readers: Subscription[]): void {
    // The agent stays stopped only if every reader wants that.
    const all = [...this.#readers];
    const startAgent = all.length > 0 && all.every((reader) => reader.options.startAgent === false) ? false : undefined;
    const sent = this.wire.send("thread/resume", { threadId: this.threadId, ...params, startAgent }, (error, result) => {
      this.#busy = false;
      if (error) {
        this.#refused(error, readers);
      } else {
        this.#resumed(result as ThreadResumed, readers, params.after === undefined);
      }
    });
    this.#busy ||= sent;
  }

  #resumed(resumed: ThreadResumed, readers: Subscription[], moved: boolean): void {
    this.#latest = Math.max(this.#latest, resumed.latestSeq);
    this.#subscribed = true;
    if (moved) {
      for (const reader of this.#readers) {
        reader.synced &&= (reader.taken ?? 0) >= resumed.latestSeq;
      }
    }
    for (const reader of readers) {
      reader.synced = reader.begin(resumed) && !reader.isPaused && !this.#again;
    }
    this.#again = false;
    this.wire.resumed(resumed);
    this.#pump();
  }

  #refused(error: AcpdError, readers: Subscription[]): void {
    this.#again = false;
    if (error.code === "disconnected" || error.code === "closed") {
      return;
    }
    const passes = mayPass(error);
    if (passes) {
      this.#later(this.#backoff());
      this.#failures++;
    }
    for (const reader of readers.length > 0 || passes ? readers : [...this.#readers]) {
      // The caller of a new one learns why, and decides about a retry.
      if (!passes || !reader.begun) {
        reader.end(error);
      }
    }
    this.#pump();
  }
}

/** Below this number of outstanding events for a slow reader, it is cheaper to receive them. */
const PARK_EVENTS = 10_000;
