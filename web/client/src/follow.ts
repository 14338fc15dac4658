/**
 * One reader of one thread: hands its events on, each once and in order. Comes in: events as they came off the wire, in
 * any order and any number of times. Goes out: those that are next. It owns a bounded buffer for `for await`; when that
 * is full it takes nothing more, and once it has been read the stream goes back to the daemon for what was left out.
 */

import type { ThreadResumed } from "./protocol.js";
import type { ThreadEvent } from "./types.js";

/** Where to begin, and what to do with events. */
export interface FollowOptions {
  /** The last event that is known already; 0 to see all of them. Without it, whatever comes from now on. */
  after?: number;
  /** Without `after`: how many of the latest turns `resumed` has. */
  limit?: number;
  /** Is called for each event. Without it, events are read by `for await`. */
  onEvent?: (event: ThreadEvent) => void;
  /** Is called once when there will be no more events; with an error, unless it was closed on purpose. */
  onEnd?: (error?: Error) => void;
  /** Closes it. */
  signal?: AbortSignal;
  /** How many events may wait for a `for await` that is slow. */
  bufferedEvents?: number;
  /** How much text they may be in all, in UTF-16 units. */
  bufferedChars?: number;
}

/** What a subscription tells the stream that feeds it. */
export interface Feed {
  /** Its buffer is full, or has been read. */
  paused(subscription: Subscription): void;
  unpaused(subscription: Subscription): void;
  /** It wants no more. */
  left(subscription: Subscription): void;
  onError(error: unknown): void;
}

/** What became of an event. */
export type Taken = "taken" | "known" | "gap" | "refused";

const BUFFERED_EVENTS = 16_384;
const BUFFERED_CHARS = 8 << 20;

interface Waiting {
  event: ThreadEvent;
  seq: number | undefined;
  size: number;
}

/** The events of a thread, from somewhere on. Made by `Client.follow`. */
export class Subscription implements AsyncIterable<ThreadEvent> {
  /** What the daemon said when it was first subscribed: the thread, and without `after` its latest turns. */
  readonly resumed: Promise<ThreadResumed>;
  /** For the stream alone: whether what comes next on the wire is what comes next here. */
  synced = false;

  #taken: number | undefined;
  #cursor: number | undefined;
  /** The last event that came before it was known where to begin. */
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
    // Who does not look at it hears of its end elsewhere.
    this.resumed.catch(() => {});
    options.signal?.addEventListener("abort", this.#onAbort);
  }

  /** The last event that was handed on: where to go on later, or elsewhere. None until it is known. */
  get cursor(): number | undefined {
    return this.#cursor;
  }

  /** Whether there will be no more events but those that wait to be read. */
  get ended(): boolean {
    return this.#ended;
  }

  /** For the stream alone: the last event that was taken off the wire. */
  get taken(): number | undefined {
    return this.#taken;
  }

  /** For the stream alone: whether the buffer is full. */
  get isPaused(): boolean {
    return this.#paused;
  }

  /** Ends it. What waits to be read is dropped. */
  close(): void {
    this.#buffer = [];
    this.#head = 0;
    this.end();
  }

  /** For the stream alone: there will be no more. */
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
      // One `for await` has one reader: it is told of the error by its next look.
      reader({ done: true, value: undefined });
    }
    try {
      this.options.onEnd?.(error);
    } catch (thrown) {
      this.feed.onError(thrown);
    }
  }

  /** For the stream alone: the daemon's answer; whether the wire goes on where this stands. */
  begin(resumed: ThreadResumed): boolean {
    this.#resumed.resolve(resumed);
    if (this.#taken === undefined) {
      this.#taken = resumed.latestSeq;
      this.#cursor = resumed.latestSeq;
      return this.#early <= resumed.latestSeq;
    }
    return true;
  }

  /** For the stream alone: an event came. `hidden`: it counts, and nobody wants to see it. */
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
      if (seq > this.#taken + 1) {
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
      // Nothing waits before it, so that it is over and done with.
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
    // Half of it is thrown away at a time, so that each event is moved once at most.
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
