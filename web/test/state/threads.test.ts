/** The list of threads as it is shown. */

import type { TextFound, ThreadSummary } from "@acpd/client";
import { expect, test } from "vitest";

import {
  age,
  applyChanges,
  endOf,
  folderOf,
  groupHits,
  type Known,
  listThreads,
  matches,
  nameOf,
  sections,
  sectionsByFolder,
  shortNames,
  tabTitle,
  type ThreadFilter,
} from "../../src/state/threads.ts";

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

const nothing: Known = { seen: {}, since: 0, going: new Set() };

test("how a thread stands", () => {
  const data = [
    thread("waits", { status: "waiting" }),
    thread("runs", { status: "running" }),
    thread("failed", { lastTurnStatus: "failed" }),
    thread("failed before", { lastTurnStatus: "failed", status: "running" }),
    thread("idle", { lastTurnStatus: "completed" }),
    thread("vanishes", { status: "deleting" }),
    thread("going"),
  ];
  const list = listThreads(data, {
    ...nothing,
    going: new Set(["going"]),
  });
  const lives = Object.fromEntries(list.map(({ id, live }) => [id, live]));
  expect(lives).toEqual({ waits: "waiting", runs: "running", failed: "failed", "failed before": "running", idle: "idle" });
});

test("how the last turn ended is said where it is news, and nothing else goes on", () => {
  const ends = (more: Partial<ThreadSummary>) => endOf(listThreads([thread("t", more)], nothing)[0]!);
  expect(ends({ lastTurnStatus: "failed" })).toBe("Last turn failed");
  expect(ends({ lastTurnStatus: "refused" })).toBe("The agent refused");
  expect(ends({ lastTurnStatus: "limited" })).toBe("Stopped by a limit");
  for (const status of ["waiting", "running"] as const) {
    expect(ends({ lastTurnStatus: "failed", status })).toBeUndefined();
  }
  for (const lastTurnStatus of ["completed", "interrupted", null] as const) {
    expect(ends({ lastTurnStatus })).toBeUndefined();
  }
});

test("unread is what changed since it was seen, and was not looked at meanwhile", () => {
  const data = ["new", "seen", "changed", "open", "runs"].map((id) =>
    thread(id, { status: id === "runs" ? "running" : "idle" }),
  );
  const list = listThreads(data, {
    ...nothing,
    since: NOON - HOUR,
    open: "open",
    seen: { seen: NOON, changed: NOON - 1 },
  });
  expect(list.filter(({ unread }) => unread).map(({ id }) => id).sort()).toEqual(["changed", "new"]);
  expect(listThreads(data, { ...nothing, since: NOON }).some(({ unread }) => unread)).toBe(false);
  // What another device has shown is not new, whichever of the two the page knows first.
  const elsewhere = listThreads([thread("listed", { seenAt: NOON }), thread("new", { seenAt: NOON - 1 })], nothing);
  expect(elsewhere.map(({ id, unread }) => [id, unread])).toEqual([["new", true], ["listed", false]]);
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

test("pinned threads are a section before all others, whatever they do and however old they are", () => {
  const data = [
    thread("noon"),
    thread("waits", { status: "waiting" }),
    thread("old pin", { pinned: true, updatedAt: NOON - 90 * 24 * HOUR }),
    thread("waiting pin", { pinned: true, status: "waiting" }),
  ];
  const listed = listThreads(data, nothing);
  const parts = [
    ["Pinned", ["waiting pin", "old pin"]],
    ["Waiting for you", ["waits"]],
  ];
  expect(sections(listed, NOON).map(({ title, threads }) => [title, threads.map(({ id }) => id)])).toEqual([...parts, ["Today", ["noon"]]]);
  const byFolder = sectionsByFolder(listed, new Map([["/home/ann/work", "work"]]));
  expect(byFolder.map(({ title, threads }) => [title, threads.map(({ id }) => id)])).toEqual([...parts, ["work", ["noon"]]]);
});

const known = (...list: ThreadSummary[]) => new Map(list.map((one) => [one.id, one]));

test("a change does not take back what the user has seen", () => {
  const change = { threadId: "one", ts: 1, thread: thread("one", { updatedAt: NOON + 1 }) };
  const changed = applyChanges(known(thread("one", { seenAt: NOON })), [change]).get("one");
  expect(changed).toMatchObject({ seenAt: NOON, updatedAt: NOON + 1 });
});

test("changes apply in their order; archived and deleted threads leave", () => {
  const before = known(thread("one"), thread("two"), thread("three"));
  const changes = [
    { threadId: "four", ts: NOON, thread: thread("four", { name: "first" }) },
    { threadId: "one", ts: NOON, thread: null },
    { threadId: "two", ts: NOON, thread: thread("two", { archived: true }) },
    { threadId: "four", ts: NOON, thread: thread("four", { name: "then" }) },
  ];
  const changed = applyChanges(before, changes);
  expect([...changed.values()].map(({ id, name }) => [id, name])).toEqual([["three", undefined], ["four", "then"]]);
  expect(applyChanges(before, [])).toBe(before);
});

test("a change without metadata keeps the metadata", () => {
  const before = known(thread("one", { metadata: { a: 1 } }));
  const change = (more: Partial<ThreadSummary>) => ({ threadId: "one", ts: NOON, thread: thread("one", more) });
  const metadata = (...changes: ReturnType<typeof change>[]) => applyChanges(before, changes).get("one")!.metadata;
  expect(metadata(change({ status: "running" }))).toEqual({ a: 1 });
  expect(metadata(change({ metadata: { b: 2 } }), change({}))).toEqual({ b: 2 });
  expect(metadata(change({ metadata: null }), change({}))).toBeNull();
});

test("a filter selects by agent, folder and activity", () => {
  const failed = thread("failed", { lastTurnStatus: "failed", cwd: "/a" });
  const waits = thread("waits", { status: "waiting", lastTurnStatus: "failed", agentType: "other" });
  const selected = (filter: ThreadFilter) => [failed, waits].filter((one) => matches(filter, one)).map(({ id }) => id);
  expect(selected({})).toEqual(["failed", "waits"]);
  expect(selected({ agentType: "other" })).toEqual(["waits"]);
  expect(selected({ cwd: "/a" })).toEqual(["failed"]);
  expect(selected({ status: "failed" })).toEqual(["failed"]);
  expect(selected({ status: "waiting", cwd: "/a" })).toEqual([]);
});

test("folders have names that differ, as short as possible", () => {
  const names = shortNames(["/home/ann/a/api", "/home/ann/b/api", "/home/ann/web/", "/", "/srv/b/api", "/api"]);
  expect([...names].sort()).toEqual([
    ["/", "/"],
    ["/api", "/api"],
    ["/home/ann/a/api", "a/api"],
    ["/home/ann/b/api", "ann/b/api"],
    ["/home/ann/web/", "web"],
    ["/srv/b/api", "srv/b/api"],
  ]);
});

test("grouped by folder, waiting threads still come first, then the latest folder", () => {
  const data = [
    thread("old", { cwd: "/w/old", updatedAt: NOON - HOUR }),
    thread("new", { cwd: "/w/new" }),
    thread("waits", { cwd: "/w/old", status: "waiting", updatedAt: NOON - 9 * HOUR }),
    thread("older", { cwd: "/w/new", updatedAt: NOON - 2 * HOUR }),
  ];
  const parts = sectionsByFolder(listThreads(data, nothing), shortNames(data.map(({ cwd }) => cwd)));
  expect(parts.map(({ title, threads }) => [title, threads.map(({ id }) => id)])).toEqual([
    ["Waiting for you", ["waits"]],
    ["new", ["new", "older"]],
    ["old", ["old"]],
  ]);
});

test("a thread whose last turn was interrupted by a restart says so; one that the user stopped does not", () => {
  const ended = (more: object) => endOf({ live: "idle", lastTurnStatus: "interrupted", ...more });
  expect([ended({ lastTurnCutOff: true }), ended({})]).toEqual(["Interrupted by a restart", undefined]);
  expect(ended({ live: "running", lastTurnCutOff: true })).toBeUndefined();
});

test("names of threads and folders hide nothing", () => {
  expect(nameOf({ name: "pay\u202Epal\u200B\u2028x\ry" })).toBe("pay⟨U+202E⟩pal⟨U+200B⟩⟨U+2028⟩x");
  expect(folderOf("/w/a\nb/")).toBe("a⏎b");
  // Folders that look alike differ in their names.
  expect([...shortNames(["/w/api", "/w/a\u200Bpi"]).values()]).toEqual(["api", "a⟨U+200B⟩pi"]);
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

test("hits are grouped by thread; a matching name comes first, and no thread comes twice", () => {
  const text = (threadId: string, seq: number) => ({ threadId, seq, ts: NOON - seq, kind: "agentMessage", snippet: [] }) as unknown as TextFound;
  const named = thread("named", { name: "Named" });
  const other = thread("other", { cwd: "/w/other" });
  const groups = groupHits([text("other", 3), text("named", 9), text("other", 7)], [named], (id) => (id === "other" ? other : undefined));
  expect(groups.map(({ threadId, named, hits, thread }) => [threadId, named, hits.map(({ seq }) => seq), thread?.cwd])).toEqual([
    ["named", true, [9], "/home/ann/work"],
    ["other", false, [3, 7], "/w/other"],
  ]);
});
