/**
 * When the user was last here, and where each thread was left. Stored in the browser, so that the next visit can say what
 * has happened since.
 */

import { computed, effect, signal, untracked } from "@preact/signals";

import type { Left } from "../state/away.ts";
import { isRecord, stored } from "../state/stored.ts";
import { now } from "./clock.ts";
import { threads, waiting } from "./threads.ts";

/** Time without the page after which the user has been away, in milliseconds. */
const AWAY_MS = 5 * 60_000;
/** Maximum number of threads whose place is stored; the oldest are dropped. */
const PLACES = 200;

const isNumber = (value: unknown): boolean => typeof value === "number";
const visited = stored<number>("visited", 0, isNumber);
const places = stored<Record<string, Left & { visit?: string }>>("left", {}, isRecord);

/** Identifies the visit: until the tab is closed. */
const visit = (() => {
  try {
    const known = sessionStorage.getItem("acpd.visit");
    const id = known ?? String(Date.now());
    sessionStorage.setItem("acpd.visit", id);
    return { id, isNew: known === null };
  } catch {
    return { id: String(Date.now()), isNew: true };
  }
})();

/** When the user left, if that was a while ago and has not been dismissed. */
export const awaySince = signal<number | undefined>(undefined);

function arrive(): void {
  const before = visited.peek();
  if (before > 0 && (visit.isNew || Date.now() - before >= AWAY_MS)) {
    awaySince.value = before;
  }
  visit.isNew = false;
  visited.value = Date.now();
}

if (!document.hidden) {
  arrive();
}
document.addEventListener("visibilitychange", () => {
  if (document.hidden) {
    visited.value = Date.now();
  } else {
    arrive();
  }
});
addEventListener("pagehide", () => {
  if (!document.hidden) {
    visited.value = Date.now();
  }
});
// The browser may end without an event.
effect(() => {
  void now.value;
  untracked(() => {
    if (!document.hidden && visited.peek() > 0) {
      visited.value = Date.now();
    }
  });
});

/** The threads that changed while the user was away and that the user has not opened since; waiting ones first. */
export const awayThreads = computed(() => {
  const since = awaySince.value;
  if (since === undefined) {
    return [];
  }
  const changed = (threads.value ?? []).filter(({ unread, updatedAt, live }) => unread && updatedAt > since && live !== "waiting");
  return [...waiting.value, ...changed];
});

/** Returns where a thread was left, if that was in another visit or a while ago. */
export function leftPlace(threadId: string): Left | undefined {
  const left = places.peek()[threadId];
  return left && (left.visit !== visit.id || Date.now() - left.at >= AWAY_MS) ? left : undefined;
}

/** Stores where the user leaves a thread. */
export function leavePlace(threadId: string, place: Omit<Left, "at">): void {
  const left = { at: Date.now(), ...place, visit: visit.id };
  const { [threadId]: _, ...others } = places.peek();
  places.value = Object.fromEntries([...Object.entries(others), [threadId, left]].slice(-PLACES));
}
