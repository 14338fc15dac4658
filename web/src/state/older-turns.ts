/**
 * Adds older turns to a thread that changes while they are loaded. In: each change of the thread during that time, and
 * the response. Out: the state as if the turns had been there from the start. A page may contain the running turn, or
 * one that waits, so it fits only the state of the same event.
 */

import type { Thread } from "@acpd/client";

import { prependOlder } from "./fold.ts";
import type { ThreadState } from "./thread.ts";

type Change = (state: ThreadState) => ThreadState;

export class OlderTurns {
  readonly #steps: { readonly before: ThreadState; readonly change: Change; readonly seq: number }[] = [];
  #page: Thread | undefined;

  /** Applies a change, which may be an event with a number, and records it. */
  apply(before: ThreadState, change: Change, seq = 0): ThreadState {
    this.#steps.push({ before, change, seq });
    return change(before);
  }

  /** Receives the response. */
  receive(page: Thread): void {
    this.#page = page;
  }

  /** Returns the state with the older turns, once all events before the response have arrived. */
  merged(state: ThreadState): ThreadState | undefined {
    const page = this.#page;
    if (page === undefined || page.latestSeq > state.seq) {
      return undefined;
    }
    const at = this.#steps.findIndex(({ seq }) => seq > page.latestSeq);
    const later = at < 0 ? [] : this.#steps.slice(at);
    return later.reduce((folded, { change }) => change(folded), prependOlder(later[0]?.before ?? state, page));
  }
}
