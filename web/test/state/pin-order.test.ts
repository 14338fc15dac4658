import { expect, test } from "vitest";

import { byPlace, type Pinned, placesAfterMove } from "../../src/state/pin-order.ts";
import { type Listed, sections } from "../../src/state/threads.ts";

const pins = (places: Record<string, number | null>): Pinned[] => Object.entries(places).map(([id, pinPlace]) => ({ id, pinPlace }));

/** Returns the order after a move, and the number of requests for it. */
function moved(order: readonly Pinned[], id: string, before?: string): [order: string, requests: number] {
  const places = placesAfterMove(order, id, before);
  const after = order.map((one) => ({ ...one, pinPlace: places.find((place) => place.id === one.id)?.place ?? one.pinPlace ?? null }));
  for (const { place } of places) {
    expect(Number.isInteger(place) && place >= 0 && place <= 4_294_967_295).toBe(true);
  }
  return [after.toSorted(byPlace).map((one) => one.id).join(""), places.length];
}

test("where threads have places, a move is one request", () => {
  const order = pins({ a: 100, b: 200, c: 300, d: 400 });
  expect(moved(order, "d", "b")).toEqual(["adbc", 1]);
  expect(moved(order, "a", "d")).toEqual(["bcad", 1]);
  expect(moved(order, "c", "a")).toEqual(["cabd", 1]);
  expect(moved(order, "b")).toEqual(["acdb", 1]);
});

test("the first move gives all their places, so that a turn moves none", () => {
  expect(moved(pins({ a: null, b: null, c: null }), "c", "a")).toEqual(["cab", 3]);
  // One that was pinned since is before the others.
  expect(moved(pins({ a: null, b: 65_536, c: 131_072 }), "a", "c")).toEqual(["bac", 1]);
});

test("where there is no room, all get new places", () => {
  expect(moved(pins({ a: 1, b: 2, c: 9 }), "c", "b")[0]).toBe("acb");
  expect(moved(pins({ a: 0, b: 5 }), "b", "a")[0]).toBe("ba");
  expect(moved(pins({ a: 1, b: 4_294_967_295, c: 5 }).toSorted(byPlace), "a")[0]).toBe("cba");
  // Two devices have chosen the same place at once.
  expect(moved(pins({ a: 7, b: 7, c: 8 }), "c", "a")[0]).toBe("cab");
});

test("a move to the same place, of nothing, or among none is no request", () => {
  const order = pins({ a: 1, b: 2 });
  for (const [id, before] of [["a", "a"], ["a", "b"], ["b", undefined], ["gone", "a"]] as const) {
    expect(placesAfterMove(order, id, before)).toEqual([]);
  }
  expect(placesAfterMove([], "a", undefined)).toEqual([]);
  expect(placesAfterMove(pins({ a: null }), "a", undefined)).toEqual([]);
});

test("hundreds of moves to the front keep the order", () => {
  let order = pins(Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`${n}`, null])));
  for (let round = 0; round < 300; round += 1) {
    const last = order.at(-1)!;
    const places = placesAfterMove(order, last.id, order[0]!.id);
    order = order.map((one) => ({ ...one, pinPlace: places.find(({ id }) => id === one.id)?.place ?? one.pinPlace })).toSorted(byPlace);
    expect(order[0]!.id).toBe(last.id);
  }
});

test("the list has pinned threads by place, and the others by time", () => {
  const thread = (id: string, more: Partial<Listed>) => ({ id, live: "idle", updatedAt: 0, ...more }) as Listed;
  const list = [
    thread("late", { pinned: true, pinPlace: 9 }),
    thread("free", {}),
    thread("new", { pinned: true }),
    thread("early", { pinned: true, pinPlace: 0 }),
  ];
  expect(sections(list, 0)[0]!.threads.map(({ id }) => id)).toEqual(["new", "early", "late"]);
});

test("whatever places there are, those that are set one by one keep the others in their order", () => {
  for (const places of [{ a: null, b: null, c: null, d: null }, { a: null, b: 1, c: 2, d: 3 }, { a: 1, b: 2, c: 3, d: 4 }, { a: 4_000_000_000, b: 4_000_000_001, c: 4_000_000_002, d: 4_000_000_003 }]) {
    for (const [id, before] of [["d", "c"], ["d", "a"], ["a", undefined], ["b", "d"], ["c", "b"]] as const) {
      let now = pins(places);
      const others = now.map((one) => one.id).filter((one) => one !== id).join("");
      for (const { id: set, place } of placesAfterMove(now, id, before)) {
        now = now.map((one) => (one.id === set ? { ...one, pinPlace: place } : one));
        expect(now.toSorted(byPlace).map((one) => one.id).filter((one) => one !== id).join("")).toBe(others);
      }
    }
  }
});
