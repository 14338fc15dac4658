/** The list of threads as it is shown. */

import type { ThreadSummary } from "@acpd/client";
import { expect, test } from "vitest";

import { age, folderOf, type Known, lastTurnOf, listThreads, nameOf, sections, tabTitle } from "../../src/state/threads.ts";

const NOON = new Date(2026, 10, 22, 12).getTime();
const HOUR = 3600_000;

function thread(id: string, more: Partial<ThreadSummary> = {}): ThreadSummary {
  return {
    id,
    agentType: "fake",
    archived: false,
    createdAt: NOON,
    cwd: "/home/ann/work",
    status: "idle",
    turnCount: 1,
    updatedAt: NOON,
    ...more,
  };
}

const nothing: Known = { seen: {}, lastTurns: {}, since: 0, going: new Set() };

test("how a thread stands", () => {
  const data = [
    thread("waits", { status: "waiting" }),
    thread("runs", { status: "running" }),
    thread("failed"),
    thread("failed before"),
    thread("idle"),
    thread("vanishes", { status: "deleting" }),
    thread("going"),
  ];
  const list = listThreads(data, {
    ...nothing,
    going: new Set(["going"]),
    lastTurns: {
      failed: { updatedAt: NOON, failed: true, error: "boom" },
      // It has gone on since.
      "failed before": { updatedAt: NOON - 1, failed: true },
    },
  });
  const lives = Object.fromEntries(list.map(({ id, live }) => [id, live]));
  expect(lives).toEqual({ waits: "waiting", runs: "running", failed: "failed", "failed before": "idle", idle: "idle" });
  expect(list.find(({ id }) => id === "failed")?.error).toBe("boom");
});

test("unread is what changed since it was seen, and was not looked at meanwhile", () => {
  const data = ["new", "seen", "changed", "open", "runs"].map((id) =>
    thread(id, { status: id === "runs" ? "running" : "idle" }),
  );
  const list = listThreads(data, {
    ...nothing,
    since: NOON - HOUR,
    open: "open",
    seen: { seen: { at: NOON }, changed: { at: NOON - 1 } },
  });
  expect(list.filter(({ unread }) => unread).map(({ id }) => id).sort()).toEqual(["changed", "new"]);
  expect(listThreads(data, { ...nothing, since: NOON }).some(({ unread }) => unread)).toBe(false);
});

test("the latest comes first, in sections by day, and who waits before all", () => {
  const data = [
    thread("earlier", { updatedAt: NOON - 30 * 24 * HOUR }),
    thread("waits", { status: "waiting", updatedAt: NOON - 9 * 24 * HOUR }),
    thread("morning", { updatedAt: NOON - 5 * HOUR }),
    thread("noon"),
    thread("yesterday", { updatedAt: NOON - 13 * HOUR }),
    thread("week", { updatedAt: NOON - 3 * 24 * HOUR }),
  ];
  const parts = sections(listThreads(data, nothing), NOON);
  expect(parts.map(({ title, threads }) => [title, threads.map(({ id }) => id)])).toEqual([
    ["Waiting for you", ["waits"]],
    ["Today", ["noon", "morning"]],
    ["Yesterday", ["yesterday"]],
    ["This week", ["week"]],
    ["Earlier", ["earlier"]],
  ]);
});

test("how the last turn ended: those that wait, and what is outside of turns, do not count", () => {
  const turns = [
    { id: "turn_1", status: "failed", error: "boom" },
    { id: "turn_2", status: "queued" },
    { status: "completed" },
  ] as const;
  expect(lastTurnOf({ turns: [...turns], updatedAt: 7 })).toEqual({ updatedAt: 7, failed: true, error: "boom" });
  expect(lastTurnOf({ turns: [], updatedAt: 7 }).failed).toBe(false);
});

test("words", () => {
  expect(nameOf({ name: "  two\nlines " })).toBe("two");
  expect(nameOf({ name: null })).toBe("Untitled thread");
  expect([folderOf("/home/ann/work/"), folderOf("/")]).toEqual(["work", "/"]);
  expect([0, 59, 60, 3599, 7200, 90_000, 40 * 86_400, 800 * 86_400].map((s) => age(NOON - s * 1000, NOON))).toEqual([
    "now",
    "now",
    "1m",
    "59m",
    "2h",
    "1d",
    "1mo",
    "2y",
  ]);
  expect([tabTitle(0), tabTitle(2, "A name")]).toEqual(["acpd", "(2) A name · acpd"]);
});
