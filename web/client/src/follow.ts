/**
 * One reader of one thread: passes events on, each once and in order. In: events as received, in any order, possibly
 * repeated. Out: the next events in order. Owns: a bounded buffer for `for await`. A full buffer accepts no more
 * events. Once it is read, the stream requests the missing ones from the daemon.
 */

import type { ThreadResumed } from "./protocol.js";
import type { ThreadEvent } from "./types.js";

/** Start of a subscription, and handlers for its events. */
export interface FollowOptions {
  /** The last known event; 0 for all events. Without it, the subscription starts with the next event. */
  after?: number;
  /** Without `after`: the number of latest turns in `resumed`. */
  limit?: number;
  /** Whether following starts the agent, so that the next turn begins sooner; by default, it does. */
  startAgent?: boolean;
  /** Called for each event. Without it, events are read by `for await`. */
  onEvent?: (event: ThreadEvent) => void;
  /**
   * Called once when the subscription ends; with an error, unless it was closed on purpose. The error of a refused first request may be
   * `retryable`.
   */
  onEnd?: (error?: Error) => void;
  /** Closes the subscription. */
  signal?: AbortSignal;
  /** Maximum number of events in the buffer for a slow `for await`. */
  bufferedEvents?: number;
  /** Maximum total text of these events, in UTF-16 units. */
  bufferedChars?: number;
}

/** The callbacks from a subscription to its stream. */
export interface Feed {
  /** The buffer is full, or has been read. */
  paused(subscription: Subscription): void;
  unpaused(subscription: Subscription): void;
  /** The subscription was closed. */
  left(subscription: Subscription): void;
  onError(error: unknown): void;
}

/** The outcome of an offered event. */
export type Taken = "taken" | "known" | "gap" | "refused";

const BUFFERED_EVENTS = 16_384;
const BUFFERED_CHARS = 8 << 20;

interface Waiting {
  event: ThreadEvent;
  seq: number | undefined;
  size: number;
}

/** The events of a thread, starting at some position. Created by `Client.follow`. */
export class Subscription implements AsyncIterable<ThreadEvent> {
  /** The daemon's first response: the thread, and without `after` its latest turns. */
  readonly resumed: Promise<ThreadResumed>;
  /** For the stream only: whether the next event on the connection is the next one for this reader. */
  synced = false;
  /** For the stream only: whether the daemon has responded for this reader. */
  begun = false;

  #taken: number | undefined;
  #cursor: number | undefined;
  /** The last event that arrived before the start position was known. */
  #early = 0;
  #paused = false;
  #ended = false;
  #error: Error | undefined;
  #buffer: Waiting[] = [];
  #head = 0;
  #chars = 0;
  #readers: ((result: IteratorResult<ThreadEvent, undefined>) => void)[] = [];
  readonly #resumed: { resolve: (resumed: ThreadResumed) => void; reject: (error: Error) => void };
  readonly #onAbort = () => this.close();

  constructor(
    readonly threadId: string,
    readonly options: FollowOptions,
    private readonly feed: Feed,
  ) {
    this.#taken = options.after;
    this.#cursor = options.after;
    let settle: Subscription["resumed"] extends Promise<infer R>
      ? { resolve: (resumed: R) => void; reject: (error: Error) => void }
      : never;
    this.resumed = new Promise((resolve, reject) => (settle = { resolve, reject }));
    this.#resumed = settle!;
    // A caller that ignores this promise learns of the end in another way; without this, the rejection would be
    // unhandled.
    this.resumed.catch(() => {});
    options.signal?.addEventListener("abort", this.#onAbort);
  }

  /** The last delivered event: the position from which to resume. `undefined` until it is known. */
  get cursor(): number | undefined {
    return this.#cursor;
  }

  /** Whether no further event will arrive, except the buffered ones. */
  get ended(): boolean {
    return this.#ended;
  }

  /** For the stream only: the last accepted event. */
  get taken(): number | undefined {
    return this.#taken;
  }

  /** For the stream only: whether the buffer is full. */
  get isPaused(): boolean {
    return this.#paused;
  }

  /** Closes the subscription and drops buffered events. */
  close(): void {
    this.#buffer = [];
    this.#head = 0;
    this.end();
  }

  /** For the stream only: ends the subscription. */
  end(error?: Error): void {
    if (this.#ended) {
      return;
    }
    this.#ended = true;
    this.#error = error;
    this.options.signal?.removeEventListener("abort", this.#onAbort);
    this.feed.left(this);
    this.#resumed.reject(error ?? new Error("the subscription was closed"));
    for (const reader of this.#readers.splice(0)) {
      // One `for await` has one reader: its next call throws the error.
      reader({ done: true, value: undefined });
    }
    try {
      this.options.onEnd?.(error);
    } catch (thrown) {
      this.feed.onError(thrown);
    }
  }

  /**
   * For the stream only: handles the daemon's response; returns whether the connection continues at this reader's
   * position.
   */
  begin(resumed: ThreadResumed): boolean {
    this.begun = true;
    this.#resumed.resolve(resumed);
    if (this.#taken === undefined) {
      this.#taken = resumed.latestSeq;
      this.#cursor = resumed.latestSeq;
      return this.#early <= resumed.latestSeq;
    }
    return true;
  }

  /** For the stream only: offers an event. A `hidden` event advances the position and is not delivered. */
  take(event: ThreadEvent, seq: number | undefined, size: number, hidden: boolean): Taken {
    if (this.#ended || this.#paused) {
      return "refused";
    }
    if (seq !== undefined) {
      if (this.#taken === undefined) {
        this.#early = Math.max(this.#early, seq);
        return "refused";
      }
      if (seq <= this.#taken) {
        return "known";
      }
      // The notice about lost events takes the place of all of them.
      const first = event.method === "thread/log/damaged" ? event.params.firstSeq : seq;
      if (first > this.#taken + 1) {
        return "gap";
      }
    }
    if (!hidden && !this.options.onEvent && this.#readers.length === 0 && this.#isFull(size)) {
      this.#paused = true;
      this.synced = false;
      this.feed.paused(this);
      return "refused";
    }
    this.#taken = seq ?? this.#taken;
    if (!hidden) {
      this.#hand({ event, seq, size });
    } else if (this.#head === this.#buffer.length) {
      // No buffered event precedes it, so it counts as delivered.
      this.#cursor = this.#taken;
    }
    return "taken";
  }

  async next(): Promise<IteratorResult<ThreadEvent, undefined>> {
    const waiting = this.#shift();
    if (waiting) {
      return { done: false, value: waiting.event };
    }
    if (!this.#ended) {
      const result = await new Promise<IteratorResult<ThreadEvent, undefined>>((resolve) =>
        this.#readers.push(resolve),
      );
      if (!result.done || !this.#error) {
        return result;
      }
    }
    if (this.#error) {
      const error = this.#error;
      this.#error = undefined;
      throw error;
    }
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): AsyncIterator<ThreadEvent, undefined> {
    return {
      next: () => this.next(),
      return: async () => {
        this.close();
        return { done: true, value: undefined };
      },
    };
  }

  #isFull(more: number): boolean {
    const events = this.#buffer.length - this.#head;
    const { bufferedEvents = BUFFERED_EVENTS, bufferedChars = BUFFERED_CHARS } = this.options;
    return events >= bufferedEvents || (events > 0 && this.#chars + more > bufferedChars);
  }

  #hand(waiting: Waiting): void {
    const { onEvent } = this.options;
    if (onEvent) {
      this.#cursor = waiting.seq ?? this.#cursor;
      try {
        onEvent(waiting.event);
      } catch (error) {
        this.feed.onError(error);
      }
      return;
    }
    const reader = this.#readers.shift();
    if (reader) {
      this.#cursor = waiting.seq ?? this.#cursor;
      reader({ done: false, value: waiting.event });
      return;
    }
    this.#buffer.push(waiting);
    this.#chars += waiting.size;
  }

  #shift(): Waiting | undefined {
    const waiting = this.#buffer[this.#head];
    if (!waiting) {
      return undefined;
    }
    this.#head++;
    this.#chars -= waiting.size;
    this.#cursor = waiting.seq ?? this.#cursor;
    // Cut the buffer only when half of it is read, so that each event is moved at most once.
    if (this.#head * 2 >= this.#buffer.length) {
      this.#buffer = this.#buffer.slice(this.#head);
      this.#head = 0;
    }
    const { bufferedEvents = BUFFERED_EVENTS } = this.options;
    if (this.#paused && (this.#buffer.length - this.#head) * 2 <= bufferedEvents) {
      this.#paused = false;
      this.feed.unpaused(this);
    }
    return waiting;
  }
}
