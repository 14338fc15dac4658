/** The visible list of threads: the daemon's list combined with this browser's own data. Pure. */

import type { ListChanged, TextFound, ThreadSummary, TurnStatus } from "@acpd/client";

import { visibleLine, visibleName } from "../text/bidi-guard.ts";
import { byPlace } from "./pin-order.ts";

/** The activity of a thread, as shown in the list. */
export type ThreadActivity = "waiting" | "running" | "failed" | "idle";

export interface Listed extends ThreadSummary {
  readonly live: ThreadActivity;
  readonly unread: boolean;
}

export interface Known {
  /** Times until which threads have been seen, beyond what the list says. */
  readonly seen: Readonly<Record<string, number>>;
  /** Changes until then count as seen. */
  readonly since: number;
  /** The open thread. */
  readonly open?: string;
  /** Threads that are about to be deleted. */
  readonly going: ReadonlySet<string>;
}

/** A selection of threads. The daemon applies it to `thread/list`, and the page to changes. */
export interface ThreadFilter {
  readonly agentType?: string;
  readonly cwd?: string;
  readonly status?: "waiting" | "running" | "failed" | "idle";
}

/** Returns whether a thread belongs to a selection. */
export function matches({ agentType, cwd, status }: ThreadFilter, thread: ThreadSummary): boolean {
  return (
    (agentType === undefined || thread.agentType === agentType) &&
    (cwd === undefined || thread.cwd === cwd) &&
    (status === undefined || activityOf(thread) === status)
  );
}

/** Applies changes to known threads, in order of arrival. Archived and deleted threads leave. */
export function applyChanges(
  threads: ReadonlyMap<string, ThreadSummary>,
  changes: readonly ListChanged[],
): ReadonlyMap<string, ThreadSummary> {
  if (changes.length === 0) {
    return threads;
  }
  const changed = new Map(threads);
  for (const { threadId, thread } of changes) {
    if (thread && !thread.archived) {
      const before = changed.get(threadId);
      // Without metadata, it has not changed. A change is for all users, so it does not say what one has seen.
      const metadata = thread.metadata === undefined ? before?.metadata : thread.metadata;
      changed.set(threadId, { ...thread, metadata, seenAt: before?.seenAt });
    } else {
      changed.delete(threadId);
    }
  }
  return changed;
}

/** Returns what a thread is doing. */
export function activityOf({ status, lastTurnStatus }: Pick<ThreadSummary, "status" | "lastTurnStatus">): ThreadActivity {
  if (status === "waiting" || status === "running") {
    return status;
  }
  return status === "failed" || lastTurnStatus === "failed" ? "failed" : "idle";
}

/** Returns the visible list, latest first. */
export function listThreads(data: readonly ThreadSummary[], known: Known): Listed[] {
  return data
    .filter(({ id, status }) => status !== "deleting" && !known.going.has(id))
    .map((thread) => {
      const live = activityOf(thread);
      const seenAt = seenUntil(thread, known);
      const unread = thread.id !== known.open && thread.status !== "running" && thread.updatedAt > seenAt;
      return { ...thread, live, unread };
    })
    .sort((one, other) => other.updatedAt - one.updatedAt || (one.id < other.id ? 1 : -1));
}

/** Returns the time until which the user has seen the changes of a thread. */
export function seenUntil({ id, seenAt }: Pick<ThreadSummary, "id" | "seenAt">, { seen, since }: Pick<Known, "seen" | "since">): number {
  return Math.max(seenAt ?? 0, seen[id] ?? 0, since);
}

export interface Section {
  readonly key: string;
  readonly title: string;
  readonly threads: readonly Listed[];
}

const DAY = 24 * 3600_000;

/** The sections before those by day or folder. A pinned thread stays in its section, whatever it does. */
const FIRST = ["Pinned", "Waiting for you", "Running"];

/** Splits the list into sections by day. Pinned threads come first, then waiting and running ones. */
export function sections(threads: readonly Listed[], now: number): Section[] {
  const midnight = new Date(now).setHours(0, 0, 0, 0);
  const days = ["Today", "Yesterday", "This week", "Earlier"];
  const dayOf = ({ updatedAt }: Listed) => {
    const day = [midnight, midnight - DAY, midnight - 6 * DAY].findIndex((start) => updatedAt >= start);
    return days[day < 0 ? 3 : day]!;
  };
  return split(threads, (thread) => firstSection(thread) ?? dayOf(thread), (title) => title, [...FIRST, ...days]);
}

/** Splits the list into sections by folder, the latest first. Pinned threads come first, then waiting and running ones. */
export function sectionsByFolder(threads: readonly Listed[], names: ReadonlyMap<string, string>): Section[] {
  const nameOf = (key: string) => (FIRST.includes(key) ? key : (names.get(key) ?? visibleLine(key)));
  return split(threads, (thread) => firstSection(thread) ?? thread.cwd, nameOf, FIRST);
}

function firstSection({ pinned, live }: Listed): string | undefined {
  return FIRST[pinned ? 0 : live === "waiting" ? 1 : live === "running" ? 2 : FIRST.length];
}

/** Groups threads by key: sections with the first keys, then the others in order of appearance. */
function split(
  threads: readonly Listed[],
  keyOf: (thread: Listed) => string,
  titleOf: (key: string) => string,
  first: readonly string[],
): Section[] {
  const groups = new Map<string, Listed[]>(first.map((key) => [key, []]));
  for (const thread of threads) {
    const key = keyOf(thread);
    const group = groups.get(key);
    if (group) {
      group.push(thread);
    } else {
      groups.set(key, [thread]);
    }
  }
  groups.get("Pinned")?.sort(byPlace);
  return [...groups].flatMap(([key, group]) => (group.length > 0 ? [{ key, title: titleOf(key), threads: group }] : []));
}

/** Returns a thread's name as all views show it: one line, with invisible characters escaped; or a placeholder. */
export function nameOf(thread: { name?: string | null }): string {
  return visibleName(thread.name?.trim().split(/[\n\r\v\f\u0085]/, 1)[0] || "Untitled thread");
}

const ENDS: Partial<Record<TurnStatus, string>> = {
  failed: "Last turn failed",
  refused: "The agent refused",
  limited: "Stopped by a limit",
};

/**
 * Returns the outcome of the last turn, if the user should know it. The list does not contain the reason; the turn
 * shows it.
 */
export function endOf({ live, lastTurnStatus, lastTurnCutOff }: Pick<Listed, "live" | "lastTurnStatus" | "lastTurnCutOff">): string | undefined {
  if (live === "waiting" || live === "running" || lastTurnStatus == null) {
    return undefined;
  }
  return lastTurnCutOff === true ? "Interrupted by a restart" : ENDS[lastTurnStatus];
}

/** Returns the last part of a path, by which users know a workspace, with invisible characters escaped. */
export function folderOf(cwd: string): string {
  return visibleLine(cwd.replace(/\/+$/, "").split("/").at(-1) || "/");
}

/** Returns the shortest name of each folder that differs from all others' names, with invisible characters escaped. */
export function shortNames(folders: Iterable<string>): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  let same = [...new Set(folders)];
  for (let parts = 1; same.length > 0; parts++) {
    const byName = new Map<string, string[]>();
    for (const folder of same) {
      const name = lastParts(folder, parts);
      byName.set(name, [...(byName.get(name) ?? []), folder]);
    }
    same = [];
    for (const [name, having] of byName) {
      // A name that is the whole path cannot grow.
      for (const folder of having) {
        if (having.length === 1 || name === lastParts(folder, parts + 1)) {
          names.set(folder, visibleLine(name));
        } else {
          same.push(folder);
        }
      }
    }
  }
  return names;
}

function lastParts(folder: string, count: number): string {
  const parts = folder.replace(/\/+$/, "").split("/");
  return parts.slice(-count).join("/") || "/";
}

/** Formats an age as short as possible. */
export function age(at: number, now: number): string {
  const seconds = Math.max(0, Math.round((now - at) / 1000));
  if (seconds < 60) {
    return "now";
  }
  const [number, unit] =
    seconds < 3600
      ? [seconds / 60, "m"]
      : seconds < 86_400
        ? [seconds / 3600, "h"]
        : seconds < 30 * 86_400
          ? [seconds / 86_400, "d"]
          : seconds < 365 * 86_400
            ? [seconds / (30 * 86_400), "mo"]
            : [seconds / (365 * 86_400), "y"];
  return `${Math.floor(number)}${unit}`;
}

/** Returns the title of the tab. */
export function tabTitle(waiting: number, name?: string): string {
  return `${waiting > 0 ? `(${waiting}) ` : ""}${name ? `${name} · ` : ""}acpd`;
}

/** The hits of a search in one thread. */
export interface HitGroup {
  readonly threadId: string;
  readonly name: string;
  /** Its entry in the list; `undefined` if unknown. */
  readonly thread: ThreadSummary | undefined;
  /** Time of the latest hit or change. */
  readonly at: number;
  /** Whether the name matches. */
  readonly named: boolean;
  readonly hits: readonly TextFound[];
}

/** Groups hits by thread: those whose name matches first, then in the order of the search. */
export function groupHits(
  texts: readonly TextFound[],
  named: readonly ThreadSummary[],
  summaryOf: (threadId: string) => ThreadSummary | undefined,
): HitGroup[] {
  const groups = new Map<string, HitGroup & { hits: TextFound[] }>();
  for (const thread of named) {
    groups.set(thread.id, { threadId: thread.id, name: nameOf(thread), thread, at: thread.updatedAt, named: true, hits: [] });
  }
  for (const text of texts) {
    const { threadId, ts } = text;
    const group = groups.get(threadId) ?? { threadId, name: nameOf(text), thread: summaryOf(threadId), at: ts, named: false, hits: [] };
    group.hits.push(text);
    groups.set(threadId, group);
  }
  return [...groups.values()];
}
