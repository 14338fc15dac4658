/** Addresses and views stand for each other. */

import { expect, test } from "vitest";

import { parse, pathOf, type Route } from "../../src/app/route.ts";

test.each<Route>([
  { view: "home", agent: undefined },
  { view: "home", agent: "claude-acp" },
  { view: "thread", threadId: "0192", item: undefined, find: undefined },
  { view: "thread", threadId: "a/b", item: "item_7", find: "a heron & \"its nest\"" },
  { view: "policy", threadId: "0192" },
  { view: "policy" },
  { view: "agents" },
  { view: "archive" },
])("%o", (route) => {
  expect(parse(pathOf(route))).toEqual(route);
});

test("what is no address of ours leads home", () => {
  expect(parse("/nothing/here").view).toBe("home");
  expect(parse("/threads").view).toBe("home");
  expect(parse("/threads/%E0%A4%A").view).toBe("thread");
});
