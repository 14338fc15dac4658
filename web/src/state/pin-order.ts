/** The order of pinned threads. The daemon keeps a place for each, for all users and devices. Pure. */

export interface Pinned {
  readonly id: string;
  readonly pinPlace?: number | null;
}

/** A place to be set. */
export interface PinPlace {
  readonly id: string;
  readonly place: number;
}

/** Distance between places, so that a thread that is moved between two others needs one request. */
const STEP = 65_536;
/** The greatest place that the daemon accepts. */
const LAST = 4_294_967_295;

/** Compares two pinned threads: those without a place come first, then the lowest place. */
export function byPlace(one: Pinned, other: Pinned): number {
  return (one.pinPlace ?? -1) - (other.pinPlace ?? -1);
}

/**
 * Returns the places to set so that a thread comes before another one, or to the end. `order` has all pinned threads. Set in the
 * order of the result, no place makes another thread pass its neighbours: what is set until a connection breaks scrambles nothing.
 */
export function placesAfterMove(order: readonly Pinned[], id: string, before: string | undefined): PinPlace[] {
  const moved = order.find((thread) => thread.id === id);
  if (moved === undefined || before === id) {
    return [];
  }
  const others = order.filter((thread) => thread !== moved);
  const at = others.findIndex((thread) => thread.id === before);
  const to = at < 0 ? others.length : at;
  if (order.indexOf(moved) === to) {
    return [];
  }
  const places = others.map(({ pinPlace }) => pinPlace ?? -1);
  const isOrdered = places.every((place, index) => place > (places[index - 1] ?? -1));
  const place = isOrdered ? between(places[to - 1], places[to]) : undefined;
  if (place !== undefined) {
    return [{ id, place }];
  }
  // Threads without a place would move again with their next turn.
  const changed = others
    .toSpliced(to, 0, moved)
    .map((thread, index) => ({ before: thread.pinPlace ?? -1, id: thread.id, place: Math.min((index + 1) * STEP, LAST) }))
    .filter((thread) => thread.before !== thread.place);
  // Those that rise make room from the end, and then the others follow from the front.
  const rising = changed.filter((thread) => thread.place > thread.before).reverse();
  const falling = changed.filter((thread) => thread.place < thread.before);
  return [...rising, ...falling].map(({ id, place }) => ({ id, place }));
}

function between(low: number | undefined, high: number | undefined): number | undefined {
  if (high === undefined) {
    const place = (low ?? 0) + STEP;
    return place <= LAST ? place : undefined;
  }
  const place = Math.floor(((low ?? -1) + high) / 2);
  return place > (low ?? -1) && place < high ? place : undefined;
}
