/**
 * Adds older turns to a thread that changes while they are loaded. In: each event of the thread during that time, and
 * the response. Out: the state as if the turns had been there from the start. A page may contain the running turn, or
 * one that waits, so it fits only the state of the same event.
 */

import type { Thread, ThreadEvent } from "@acpd/client";

import { fold, prependOlder } from "./fold.ts";
import type { ThreadState } from "./thread.ts";

export class OlderTurns {
  readonly #steps: { readonly before: ThreadState; readonly event: ThreadEvent }[] = [];
  #page: Thread | undefined;

  /** Records an event, and the state before it. */
  record(before: ThreadState, event: ThreadEvent): void {
    this.#steps.push({ before, event });
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
    const { others, initialize } = state;
    const at = this.#steps.findIndex(({ event }) => (event.params.seq ?? 0) > page.latestSeq);
    const later = at < 0 ? [] : this.#steps.slice(at);
    const first = { ...prependOlder(later[0]?.before ?? state, page), others, ...(initialize !== undefined && { initialize }) };
    return later.reduce((folded: ThreadState, { event }) => fold(folded, event), first);
  }
}
