/** Moves pinned threads in the list, for all devices. */

import { computed } from "@preact/signals";

import { standing } from "../connection/connection.ts";
import { byPlace, placesAfterMove } from "../state/pin-order.ts";
import { type Listed, nameOf } from "../state/threads.ts";
import { announce } from "./live-region.ts";
import { eachInOrder } from "./selected-threads.ts";
import { listSections, threads } from "./threads.ts";
import { toast, toasts } from "./toasts.ts";

/** Returns the ids of the pinned threads that the list shows, in its order. */
export function shownPins(): string[] {
  return (listSections.value ?? []).find(({ key }) => key === "Pinned")?.threads.map(({ id }) => id) ?? [];
}

/** Returns whether the user may move pinned threads. */
export function mayOrderPins(): boolean {
  const who = standing.peek();
  return who.name === "in" && (who.session.role === "operator" || who.session.role === "owner");
}

/** The moves so far: each one begins with the order that the one before it has made. */
let moves: Promise<void> = Promise.resolve();
/** Number of moves that are not finished. */
let unfinished = 0;

/** Returns whether a pinned thread is being moved. */
export const isMovingPin = (): boolean => unfinished > 0;

function inTurn(move: () => Promise<void>): Promise<void> {
  unfinished += 1;
  moves = moves.then(move, move).finally(() => {
    unfinished -= 1;
  });
  return moves;
}

/** Moves a pinned thread one place up or down, or says that there is no such place. */
export function stepPin(id: string, by: 1 | -1): Promise<void> {
  return inTurn(async () => {
    // A filter, or a search, may hide the thread whose menu is open.
    const shown = shownPins();
    const order = shown.includes(id) ? shown : allPins().map((thread) => thread.id);
    const at = order.indexOf(id);
    if (at < 0) {
      note("Only threads in the list of pinned threads can be moved");
    } else if (order[at + by] === undefined) {
      const thread = allPins().find((one) => one.id === id);
      note(`“${nameOf(thread ?? {})}” is already the ${by < 0 ? "first" : "last"} pinned thread`);
    } else {
      await move(id, order[by < 0 ? at - 1 : at + 2]);
    }
  });
}

/** Shows a message, unless it is shown already: a key can be held. */
function note(text: string): void {
  if (!toasts.peek().some((one) => one.text === text)) {
    toast(text);
  }
}

/** Moves a pinned thread before another one, or to the end. */
export function movePin(id: string, before: string | undefined): Promise<void> {
  return inTurn(() => move(id, before));
}

function allPins(): Listed[] {
  return (threads.peek() ?? []).filter(({ pinned }) => pinned === true).sort(byPlace);
}

async function move(id: string, before: string | undefined): Promise<void> {
  // The user may have signed out since.
  if (!mayOrderPins()) {
    return;
  }
  const all = allPins();
  const places = new Map(placesAfterMove(all, id, before).map((one) => [one.id, one.place]));
  const moved = [...places.keys()].flatMap((key) => all.find((thread) => thread.id === key) ?? []);
  const failed = new AbortController();
  const { failures } = await eachInOrder(
    moved,
    (now, thread) => now.call("thread/pin/set", { threadId: thread.id, pinned: true, place: places.get(thread.id) }),
    // The places after one that was not set would scramble the list.
    (_, failure) => failure && failed.abort(),
    failed.signal,
  );
  if (failures.length > 0) {
    toast(`Couldn’t move “${nameOf(failures[0]!.thread)}”: ${failures[0]!.why}`, { kind: "error" });
  } else if (moved.length > 0) {
    await untilListed(places);
    const at = shownPins().indexOf(id);
    announce(at < 0 ? "Moved" : `Moved to place ${at + 1} of ${shownPins().length}`);
  }
}

/** Time for the list to show what the daemon has accepted, in milliseconds. */
const LISTED_MS = 2_000;

/** Waits until the list has these places: the next move depends on them. */
function untilListed(places: ReadonlyMap<string, number>): Promise<void> {
  return new Promise((resolve) => {
    const isListed = computed(() => (threads.value ?? []).every((thread) => (places.get(thread.id) ?? thread.pinPlace) === thread.pinPlace));
    const end = () => {
      clearTimeout(timer);
      off();
      resolve();
    };
    const timer = setTimeout(end, LISTED_MS);
    // The first call comes before there is something to end.
    const off = isListed.subscribe((is) => is && queueMicrotask(end));
  });
}
