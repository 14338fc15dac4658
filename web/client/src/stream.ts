/**
 * One thread as this client is subscribed to it: what the daemon sends is handed to every reader, and wherever one of
 * them has missed something the daemon is asked to send it again. Comes in: frames, connections that open and break.
 * Goes out: `thread/resume`. It keeps no events: what one reader has not seen is in the daemon's log.
 *
 * There is one subscription on the wire for all readers. It stands where the one that is furthest behind stands; the
 * others drop what they know.
 */

import { type Backoff, type Clock, delay } from "./clock.js";
import type { Done } from "./connection.js";
import { type AcpdError, mayPass } from "./errors.js";
import { type Feed, type FollowOptions, Subscription } from "./follow.js";
import type { ThreadResumed } from "./protocol.js";
import type { ThreadEvent } from "./types.js";

/** What a stream needs of its client. */
export interface Wire {
  /** Sends a request; `false` if there is no connection. */
  send(method: string, params: unknown, done: Done): boolean;
  /** The daemon has described the thread. */
  resumed(resumed: ThreadResumed): void;
  /** The last reader has left. */
  empty(stream: ThreadStream): void;
  onError(error: unknown): void;
  clock: Clock;
  random: () => number;
  backoff: Backoff;
}

/** Readers that are slow go back to the daemon this often at most; each time costs requests, which are limited. */
const CATCH_UP_MS = 1_000;

/** What a client reads of one thread. */
export class ThreadStream {
  readonly #readers = new Set<Subscription>();
  readonly #feed: Feed;
  #busy = false;
  /** Whether this connection is subscribed. */
  #subscribed = false;
  /** The daemon lost its place while it was being asked. */
  #again = false;
  #timer: unknown;
  /** Attempts that brought nothing. */
  #failures = 0;
  #caughtUpAt = Number.NEGATIVE_INFINITY;
  /** The last event that is known to be there. */
  #latest = 0;
  /** The last event that went to the client's own handlers. */
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

  /** One more reader. */
  follow(options: FollowOptions): Subscription {
    const reader = new Subscription(this.threadId, options, this.#feed);
    this.#readers.add(reader);
    this.#pump();
    return reader;
  }

  /** An event came; whether it is news to anybody. */
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
      // A daemon that leaves something out again and again is asked less and less often.
      this.#later(this.#failures === 0 ? 0 : this.#backoff());
      this.#failures++;
    }
    return news;
  }

  /** The daemon has lost its place. */
  reset(): void {
    if (this.#busy) {
      this.#again = true;
      return;
    }
    this.lost();
    this.#pump();
  }

  /** There is a connection. */
  opened(): void {
    this.#failures = 0;
    this.#wake();
  }

  /** There is no subscription any more. */
  lost(): void {
    for (const reader of this.#readers) {
      reader.synced = false;
    }
    this.#subscribed = false;
    this.wire.clock.clear(this.#timer);
    this.#timer = undefined;
  }

  /** There will be no more events. */
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

  /** Asks for what somebody is missing, unless that is being done. */
  #pump(): void {
    if (this.#busy || this.#timer !== undefined) {
      return;
    }
    const awake = [...this.#readers].filter((reader) => !reader.isPaused);
    const behind = awake.filter((reader) => !reader.synced);
    const fresh = behind.find((reader) => reader.taken === undefined);
    if (fresh) {
      // The wire goes on from the present: those that are behind that come next.
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

  /** Nobody reads, and much is on its way: the wire moves on to the present, where questions come. */
  #park(): void {
    const readers = [...this.#readers];
    const behind = this.#latest - Math.max(...readers.map((reader) => reader.taken ?? 0));
    if (!this.#busy && behind > PARK_EVENTS && readers.every((reader) => reader.isPaused)) {
      this.#resume({ after: this.#latest }, []);
    }
  }

  #resume(params: { after?: number; limit?: number | undefined }, readers: Subscription[]): void {
    const sent = this.wire.send("thread/resume", { threadId: this.threadId, ...params }, (error, result) => {
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
    if (mayPass(error)) {
      this.#later(this.#backoff());
      this.#failures++;
      return;
    }
    for (const reader of readers.length > 0 ? readers : [...this.#readers]) {
      reader.end(error);
    }
    this.#pump();
  }
}

/** With fewer events than this on their way to a reader that is slow, they may as well come. */
const PARK_EVENTS = 10_000;
