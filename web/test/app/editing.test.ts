// @vitest-environment jsdom
import { beforeEach, expect, test } from "vitest";

import { draftOf, editDraft, keepDraft } from "../../src/app/drafts.ts";
import { beginEdit, editedTurn, endEdit } from "../../src/app/editing.ts";

beforeEach(() => ["a", "b"].forEach(endEdit));

test("an edited message leaves the thread's draft as it is", () => {
  keepDraft("a", "half a thought");
  beginEdit("a", "turn_2", "earlier");
  expect([editedTurn("a"), draftOf(editDraft("a")), draftOf("a")]).toEqual(["turn_2", "earlier", "half a thought"]);
  expect(editedTurn("b")).toBeUndefined();
  beginEdit("a", "turn_1", "the first");
  expect([editedTurn("a"), draftOf(editDraft("a"))]).toEqual(["turn_1", "the first"]);
  endEdit("a");
  expect([editedTurn("a"), draftOf(editDraft("a")), draftOf("a")]).toEqual([undefined, "", "half a thought"]);
});

test("threads with odd names have no edit by accident, and old edits are dropped", () => {
  expect([editedTurn("constructor"), editedTurn("__proto__")]).toEqual([undefined, undefined]);
  for (let n = 0; n < 60; n++) beginEdit(`t${n}`, "turn_1", "");
  expect([editedTurn("t5"), editedTurn("t59")]).toEqual([undefined, "turn_1"]);
});

test("an edited message keeps its text, however many drafts are written after it", () => {
  beginEdit("a", "turn_2", "earlier");
  for (let n = 0; n < 60; n++) keepDraft(`d${n}`, "half a thought");
  expect([editedTurn("a"), draftOf(editDraft("a"))]).toEqual(["turn_2", "earlier"]);
  expect([draftOf("d5"), draftOf("d59")]).toEqual(["", "half a thought"]);
  for (let n = 0; n < 60; n++) beginEdit(`t${n}`, "turn_1", `text ${n}`);
  expect([editedTurn("a"), draftOf(editDraft("a")), draftOf("d59")], "a dropped edit leaves no text").toEqual([undefined, "", "half a thought"]);
  expect([editedTurn("t59"), draftOf(editDraft("t59"))]).toEqual(["turn_1", "text 59"]);
});
