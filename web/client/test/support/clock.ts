/** Time that tests move by hand. */

import type { Clock } from "@acpd/client";

export class HandClock implements Clock {
  #now = 0;
  #next = 1;
  readonly #timers = new Map<number, { at: number; run: () => void }>();

  now(): number {
    return this.#now;
  }

  set(run: () => void, ms: number): number {
    const id = this.#next++;
    this.#timers.set(id, { at: this.#now + ms, run });
    return id;
  }

  clear(timer: unknown): void {
    this.#timers.delete(timer as number);
  }

  /** Timers that wait. */
  get waiting(): number {
    return this.#timers.size;
  }

  /** Lets time go by, and whatever it brings about. */
  async pass(ms: number): Promise<void> {
    const end = this.#now + ms;
    for (;;) {
      const due = [...this.#timers].filter(([, { at }]) => at <= end).sort(([, a], [, b]) => a.at - b.at)[0];
      if (!due) {
        break;
      }
      const [id, { at, run }] = due;
      this.#timers.delete(id);
      this.#now = Math.max(this.#now, at);
      run();
      await settle();
    }
    this.#now = end;
    await settle();
  }
}

/** Lets everything happen that needs no time. */
export function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
