/** Marks of seen threads, as this browser stores them until the daemon has them. */

import { expect, test } from "vitest";

import { afterSent, marksOf, mostSeen, toSend } from "../../src/state/seen.ts";

const id = (number: number) => `00000000-0000-7000-8000-${String(number).padStart(12, "0")}`;

test("marks of earlier versions are sent once; damaged ones never", () => {
  const stored = {
    [id(1)]: { at: 10, seq: 7 },
    [id(2)]: { at: 20 },
    [id(3)]: { at: "20" },
    [id(4)]: { at: -1 },
    [id(5)]: { at: 1.5 },
    [id(6)]: null,
    [id(7)]: "x",
    __proto__: { at: 5 },
    thread_1: { at: 5 },
  };
  expect(toSend(stored)).toEqual([{ threadId: id(2), seenAt: 20 }, { threadId: id(1), seenAt: 10 }]);
  expect(afterSent(stored, toSend(stored))).toEqual({});
  expect(toSend({})).toEqual([]);
});

test("what is seen while a request runs is sent by the next one", () => {
  const sent = toSend({ [id(1)]: { at: 10 }, [id(2)]: { at: 20 } });
  const later = { [id(1)]: { at: 11 }, [id(2)]: { at: 20 }, [id(3)]: { at: 30 } };
  expect(afterSent(later, sent)).toEqual({ [id(1)]: { at: 11 }, [id(3)]: { at: 30 } });
});

test("many marks are sent by several requests, the latest first", () => {
  let stored = Object.fromEntries(Array.from({ length: 1200 }, (_, number) => [id(number), { at: number + 1 }]));
  const sizes: number[] = [];
  expect(toSend(stored)[0]).toEqual({ threadId: id(1199), seenAt: 1200 });
  for (let marks = toSend(stored); marks.length > 0; marks = toSend(stored)) {
    sizes.push(marks.length);
    stored = afterSent(stored, marks);
  }
  expect(sizes).toEqual([500, 500, 200]);
});

test("a mark never goes back", () => {
  const marks = { [id(1)]: 10, [id(2)]: 20 };
  expect(mostSeen(marks, marksOf({ [id(1)]: { at: 9 }, [id(2)]: { at: 21 } }))).toEqual({ [id(1)]: 10, [id(2)]: 21 });
});
