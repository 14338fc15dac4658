/**
 * The threads that the user has left last, with their state, so that they are shown at once when the user comes back. They have no
 * subscription. In: threads that are left, and their ids. Out: threads that continue. Owns: them, up to a number and an amount of memory.
 */

import { sizeOf } from "../state/size.ts";
import type { ThreadHead } from "../state/thread.ts";
import type { OpenThread } from "./open-thread.ts";

/** Maximum number of threads, and of the bytes of their states. The one that was left first is dropped first. */
export const KEPT_THREADS = 8;
export const KEPT_BYTES = 16 << 20;
/** Time until the state of a thread is measured, in milliseconds: not while the next thread is drawn. */
const MEASURE_MS = 500;

interface Kept {
  readonly thread: OpenThread;
  readonly leftAt: number;
  /** In bytes; `undefined` until it is measured. */
  size: number | undefined;
}

export class KeptThreads {
  /** In the order in which they were left. */
  readonly #kept = new Map<string, Kept>();
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** Suspends a thread, and keeps it if it has a state. */
  keep(thread: OpenThread): void {
    this.#kept.delete(thread.threadId);
    if (!thread.suspend()) {
      return;
    }
    this.#kept.set(thread.threadId, { thread, leftAt: Date.now(), size: undefined });
    for (const oldest of [...this.#kept.keys()].slice(0, -KEPT_THREADS)) {
      this.#kept.delete(oldest);
    }
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#measure();
    }, MEASURE_MS);
  }

  /** Resumes a thread, which is then kept no longer. Returns `undefined` if it is not kept, or if `outdated` says that it must be loaded anew. */
  take(threadId: string, outdated: (leftAt: number, head: ThreadHead) => boolean): OpenThread | undefined {
    const { thread, leftAt } = this.#kept.get(threadId) ?? {};
    this.#kept.delete(threadId);
    if (thread?.kept === undefined || outdated(leftAt!, thread.kept.head)) {
      return undefined;
    }
    thread.resume();
    return thread;
  }

  drop(threadId: string): void {
    this.#kept.delete(threadId);
  }

  clear(): void {
    this.#kept.clear();
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** Drops the threads for which there is no room, those that were left first. */
  #measure(): void {
    let left = KEPT_BYTES;
    for (const [threadId, kept] of [...this.#kept].reverse()) {
      kept.size ??= sizeOf(kept.thread.kept, KEPT_BYTES);
      left -= kept.size;
      if (left < 0) {
        this.#kept.delete(threadId);
      }
    }
  }
}
