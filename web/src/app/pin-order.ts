/** Moves pinned threads in the list, for all devices. */

import { standing } from "../connection/connection.ts";
import { byPlace, placesAfterMove } from "../state/pin-order.ts";
import { nameOf } from "../state/threads.ts";
import { announce } from "./live-region.ts";
import { eachInOrder } from "./selected-threads.ts";
import { listSections, threads } from "./threads.ts";
import { toast } from "./toasts.ts";

/** Returns the ids of the pinned threads that the list shows, in its order. */
export function shownPins(): string[] {
  return (listSections.value ?? []).find(({ key }) => key === "Pinned")?.threads.map(({ id }) => id) ?? [];
}

/** Returns whether the user may move pinned threads. */
export function mayOrderPins(): boolean {
  const who = standing.peek();
  return who.name === "in" && (who.session.role === "operator" || who.session.role === "owner");
}

/** Moves a pinned thread one place up or down. Returns whether there is such a place. */
export function stepPin(id: string, by: 1 | -1): boolean {
  const shown = shownPins();
  const at = shown.indexOf(id);
  if (at < 0 || shown[at + by] === undefined) {
    return false;
  }
  void movePin(id, shown[by < 0 ? at - 1 : at + 2]);
  return true;
}

/** Moves a pinned thread before another one, or to the end. */
export async function movePin(id: string, before: string | undefined): Promise<void> {
  const all = (threads.peek() ?? []).filter(({ pinned }) => pinned === true).toSorted(byPlace);
  const places = new Map(placesAfterMove(all, id, before).map((one) => [one.id, one.place]));
  const moved = all.filter((thread) => places.has(thread.id)).sort((one, other) => places.get(one.id)! - places.get(other.id)!);
  const { failures } = await eachInOrder(
    moved,
    (now, thread) => now.call("thread/pin/set", { threadId: thread.id, pinned: true, place: places.get(thread.id) }),
    () => {},
    new AbortController().signal,
  );
  if (failures.length > 0) {
    toast(`Couldn’t move “${nameOf(failures[0]!.thread)}”: ${failures[0]!.why}`, { kind: "error" });
  } else if (moved.length > 0) {
    const at = shownPins().indexOf(id);
    announce(at < 0 ? "Moved" : `Moved to place ${at + 1} of ${shownPins().length}`);
  }
}
