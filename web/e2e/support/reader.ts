/**
 * A page without a view: opens a thread as the page does, folds its events, and keeps each state, so that it can be
 * compared with that of another reader at the same event.
 */

import type { Client, Subscription, ThreadEvent } from "@acpd/client";

import { fold, openThread } from "../../src/state/fold.ts";
import { withLanes } from "../../src/state/lanes.ts";
import { OlderTurns } from "../../src/state/older-turns.ts";
import type { ThreadState } from "../../src/state/thread.ts";

/** Time for a condition to become true, in milliseconds. */
const PATIENCE_MS = 20_000;

export class Reader {
  readonly #states = new Map<number, ThreadState>();
  readonly #waiting = new Set<() => void>();
  #state: ThreadState;
  #error: Error | undefined;
  #older: OlderTurns | undefined;
  readonly #subscription: Subscription;

  private constructor(
    private readonly client: Client,
    subscription: Subscription,
    first: ThreadState,
  ) {
    this.#subscription = subscription;
    this.#state = first;
    this.#keep(first);
  }

  /** Opens a thread with its latest turns. */
  static async open(client: Client, threadId: string, limit: number): Promise<Reader> {
    const early: (() => void)[] = [];
    let reader: Reader | undefined;
    const act = (run: () => void) => (reader ? run() : early.push(run));
    const subscription = client.follow(threadId, {
      limit,
      startAgent: false,
      onEvent: (event) => act(() => reader!.#event(event)),
      onEnd: (error) => act(() => reader!.#fail(error ?? new Error("closed"))),
    });
    const opened = openThread(await subscription.resumed);
    const { data } = await client.call("thread/lanes", { threadId });
    reader = new Reader(client, subscription, { ...opened, lanes: withLanes(opened.lanes, data) });
    early.forEach((run) => run());
    return reader;
  }

  get state(): ThreadState {
    return this.#state;
  }

  /** Returns the state after an event; waits for it. */
  async at(seq: number): Promise<ThreadState | undefined> {
    await this.until(`event ${seq}`, (state) => state.seq >= seq);
    return this.#states.get(seq);
  }

  async until(what: string, is: (state: ThreadState) => boolean): Promise<void> {
    if (this.#error) throw this.#error;
    if (is(this.#state)) return;
    await new Promise<void>((resolve, reject) => {
      const over = () => {
        this.#waiting.delete(look);
        clearTimeout(timer);
      };
      const look = () => {
        if (this.#error) {
          over();
          reject(this.#error);
        } else if (is(this.#state)) {
          over();
          resolve();
        }
      };
      const timer = setTimeout(() => {
        over();
        reject(new Error(`${what} does not happen: ${JSON.stringify(this.#state.head)}`));
      }, PATIENCE_MS);
      this.#waiting.add(look);
    });
  }

  /** Loads all older turns, page by page. */
  async loadOlder(limit: number): Promise<void> {
    for (let { older } = this.#state; older !== undefined; { older } = this.#state) {
      this.#older = new OlderTurns();
      const { thread } = await this.client.call("thread/read", {
        threadId: this.#state.threadId,
        includeTurns: true,
        cursor: older,
        limit,
      });
      this.#older.receive(thread);
      this.#merge();
      await this.until("the older turns", (state) => state.older !== older);
    }
  }

  /** Waits for all events so far. The subagents were read beside the events, so they may be those of a later one. */
  async caughtUp(): Promise<void> {
    const { thread } = await this.client.call("thread/read", { threadId: this.#state.threadId });
    await this.until("the present", ({ seq }) => seq >= thread.latestSeq);
  }

  close(): void {
    this.#subscription.close();
  }

  #event(event: ThreadEvent): void {
    try {
      const change = (state: ThreadState) => fold(state, event);
      const seq = event.params.seq ?? undefined;
      this.#keep(this.#older ? this.#older.apply(this.#state, change, seq) : change(this.#state));
      this.#merge();
    } catch (error) {
      this.#fail(error as Error);
    }
  }

  #merge(): void {
    const merged = this.#older?.merged(this.#state);
    if (merged) {
      this.#older = undefined;
      this.#keep(merged);
    }
  }

  #fail(error: Error): void {
    this.#error ??= error;
    [...this.#waiting].forEach((look) => look());
  }

  #keep(state: ThreadState): void {
    this.#state = state;
    this.#states.set(state.seq, state);
    [...this.#waiting].forEach((look) => look());
  }
}
