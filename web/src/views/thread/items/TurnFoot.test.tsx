// @vitest-environment jsdom
import { expect, test, vi } from "vitest";

import type { FoldedTurn } from "../../../state/thread.ts";
import { TurnFoot } from "./TurnFoot.tsx";
import { after, drawn } from "../../testing.ts";

const DIFF = "--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n-a\n+b\n+c\n--- /dev/null\n+++ b/y\n@@ -0,0 +1 @@\n+d\n";
const turn: FoldedTurn = { key: "k", id: "turn-1", status: "completed", stopReason: "end_turn", items: [], diff: DIFF };

function shown(role: "observer" | "operator" = "operator", rest: object = {}) {
  const actions = { fork: vi.fn(async () => {}), rollback: vi.fn(async () => {}), ...rest };
  return { ...drawn(<TurnFoot turn={turn} actions={actions} role={role} />), actions };
}

test("all that a turn changed can be opened", async () => {
  const view = shown();
  expect(view.one("summary").textContent).toBe("2 files changed+3−1");
  await after(() => {
    view.one<HTMLDetailsElement>("details").open = true;
    view.one("details").dispatchEvent(new Event("toggle"));
  });
  expect(view.all(".th-diff .th-path").map((path) => path.textContent)).toEqual(["x", "y"]);
});

test("a fork begins at once", async () => {
  const view = shown();
  await after(() => view.button("Fork from here").click());
  expect(view.actions.fork.mock.calls).toEqual([["turn-1"]]);
});

test("going back asks first", async () => {
  const view = shown();
  await after(() => view.button("Go back to here").click());
  await after(() => view.button("Keep them").click());
  expect(view.actions.rollback).not.toHaveBeenCalled();
  await after(() => view.button("Go back to here").click());
  await after(() => view.button("Drop them").click());
  expect(view.actions.rollback.mock.calls).toEqual([["turn-1"]]);
});

test("what is refused says why", async () => {
  const refuse = async () => {
    throw new Error("A turn runs.");
  };
  const view = shown("operator", { fork: refuse });
  await after(() => view.button("Fork from here").click());
  expect(view.one("[role=alert]").textContent).toBe("A turn runs.");
});

test("who only looks on can do neither", () => {
  expect(shown("observer").all(".th-go-on")).toEqual([]);
});
