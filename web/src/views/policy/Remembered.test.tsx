import { expect, test } from "vitest";

import { bounds } from "./Remembered.tsx";

const answer = { id: 1, allow: true, rule: "Tool(run)", scope: "thread" };

test("an answer says all that a call must have for it to hold", () => {
  expect(bounds(answer)).toEqual([]);
  expect(bounds({ ...answer, cwd: null, line: null, arguments: null, call: null })).toEqual([]);
  expect(bounds({ ...answer, cwd: "/w\u202E", line: "a1", arguments: "b2", call: "c3" })).toEqual([
    "run in /w⟨U+202E⟩",
    "as a part of the same command line",
    "with the same arguments",
    "of the same kind and tool, with the same locations and changes",
  ]);
});
