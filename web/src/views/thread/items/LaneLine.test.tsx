// @vitest-environment jsdom
import type { Item } from "@acpd/client";
import { expect, test } from "vitest";

import type { LaneLine as LaneRow } from "../../../state/outline.ts";
import { after, drawn } from "../../testing.ts";
import { aloneContext, CurrentThread, Waiting } from "../content/context.ts";
import { LaneLine, laneName } from "./LaneLine.tsx";

const item = (itemId: string, more: object): Item => ({ itemId, outcome: "completed", lane: "lane_1", ...more }) as unknown as Item;
const call = (itemId: string, title: string) => item(itemId, { type: "toolCall", kind: "edit", status: "completed", title });
const rowOf = (items: readonly Item[], more: Partial<LaneRow> = {}): LaneRow => ({
  kind: "lane", key: "lane-1-lane_1", turnId: "1", subagent: { title: "review", state: { state: "running" } }, rows: [], items, live: true, open: false, ...more,
});

test("a subagent is one line: its name, what it did last, its calls and its state", () => {
  const items = [item("m", { type: "userMessage", text: "Look" }), call("a", "Edit a.rs"), call("b", "Edit /w/src/b.rs")];
  const view = drawn(
    <CurrentThread.Provider value={{ ...aloneContext, cwd: "/w" }}>
      <LaneLine row={rowOf(items)} />
    </CurrentThread.Provider>,
  );
  expect(view.one(".th-lane-name").textContent).toBe("Subagent: review");
  expect(view.one(".th-lane-last").textContent).toBe("Edit src/b.rs");
  expect(view.one(".th-lane-count").textContent).toBe("2 calls");
  expect(view.one("[data-status=in_progress]").textContent).toContain("running");
  expect(laneName(rowOf(items))).toBe("Subagent review, 2 calls");
  view.draw(<LaneLine row={rowOf([...items, item("n", { type: "agentMessage", text: "**Found** two" })])} />);
  expect(view.one(".th-lane-last").textContent).toBe("Found two");
});

test("it says that it waits for the user; in an ended turn it says nothing of work that goes on", () => {
  const view = drawn(
    <Waiting.Provider value={{ waiting: true, items: new Set(["a"]) }}>
      <LaneLine row={rowOf([call("a", "Edit a.rs")])} />
    </Waiting.Provider>,
  );
  expect(view.one(".th-status").textContent).toBe("waiting for you");
  view.draw(<LaneLine row={rowOf([call("a", "Edit a.rs")], { live: false })} />);
  expect(view.all(".th-status")).toEqual([]);
  view.draw(<LaneLine row={rowOf([], { live: false, subagent: { state: { state: "idle", stopReason: "end_turn" } } })} />);
  expect(view.one(".th-status").textContent).toBe("done");
  expect(view.text(), "without a name, calls or words").toBe("Subagent: Subagentdone");
});

test("an agent's words are one line without invisible characters", () => {
  const title = "a\u202E\n<b>b</b>".padEnd(10_000, "x");
  const view = drawn(<LaneLine row={rowOf([call("a", title)], { subagent: { title, description: title } })} />);
  for (const selector of [".th-lane-name", ".th-lane-last"]) {
    expect(view.one(selector).textContent).not.toMatch(/[\u202E\n]/);
    expect(view.one(selector).textContent!.length).toBeLessThan(400);
  }
  expect(view.one("button").title).not.toMatch(/[\u202E\n]/);
});

test("it opens and closes", async () => {
  const chosen: unknown[] = [];
  const choose = (...choice: unknown[]) => void chosen.push(choice);
  const view = drawn(
    <CurrentThread.Provider value={{ ...aloneContext, choose }}>
      <LaneLine row={rowOf([call("a", "Edit a.rs")])} />
    </CurrentThread.Provider>,
  );
  expect(view.one("button").getAttribute("aria-expanded")).toBe("false");
  await after(() => view.one("button").click());
  expect(chosen).toEqual([["lane-1-lane_1", true]]);
});
