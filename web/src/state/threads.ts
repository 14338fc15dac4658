/** The visible list of threads: the daemon's list combined with this browser's own data. Pure. */

import type { ListChanged, ThreadSummary, TurnStatus } from "@acpd/client";

/** The activity of a thread, as shown in the list. */
export type ThreadActivity = "waiting" | "running" | "failed" | "idle";

/** The user's read position in a thread: its time of change, and its last event if known. */
export interface Seen {
  readonly at: number;
  readonly seq?: number;
}

export interface Listed extends ThreadSummary {
  readonly live: ThreadActivity;
  readonly unread: boolean;
}

export interface Known {
  readonly seen: Readonly<Record<string, Seen>>;
  /** Changes before the browser's first visit do not count as unread. */
  readonly since: number;
  /** The open thread. */
  readonly open?: string;
  /** Threads that are about to be deleted. */
  readonly going: ReadonlySet<string>;
}

/** Applies changes to a list, in order of arrival; returns at most the latest `most` threads. */
export function applyChanges(
  list: readonly ThreadSummary[],
  changes: readonly ListChanged[],
  most: number,
): readonly ThreadSummary[] {
  if (changes.length === 0) {
    return list;
  }
  const threads = new Map(list.map((thread) => [thread.id, thread]));
  for (const { threadId, thread } of changes) {
    if (thread && !thread.archived) {
      // Without metadata, it has not changed.
      const metadata = thread.metadata === undefined ? threads.get(threadId)?.metadata : thread.metadata;
      threads.set(threadId, { ...thread, metadata });
    } else {
      threads.delete(threadId);
    }
  }
  return [...threads.values()].sort((one, other) => other.updatedAt - one.updatedAt).slice(0, most);
}

/** Returns the visible list, latest first. */
export function listThreads(data: readonly ThreadSummary[], known: Known): Listed[] {
  return data
    .filter(({ id, status }) => status !== "deleting" && !known.going.has(id))
    .map((thread) => {
      const { status, lastTurnStatus } = thread;
      const live: ThreadActivity =
        status === "waiting" || status === "running"
          ? status
          : status === "failed" || lastTurnStatus === "failed"
            ? "failed"
            : "idle";
      const seenAt = known.seen[thread.id]?.at ?? known.since;
      const unread = thread.id !== known.open && status !== "running" && thread.updatedAt > seenAt;
      return { ...thread, live, unread };
    })
    .sort((one, other) => other.updatedAt - one.updatedAt || (one.id < other.id ? 1 : -1));
}

export interface Section {
  readonly title: string;
  readonly threads: readonly Listed[];
}

const DAY = 24 * 3600_000;

/** Splits the list into sections: waiting threads first, then by day. */
export function sections(threads: readonly Listed[], now: number): Section[] {
  const midnight = new Date(now).setHours(0, 0, 0, 0);
  const titleOf = (thread: Listed) =>
    thread.live === "waiting"
      ? "Waiting for you"
      : thread.live === "running"
        ? "Running"
        : thread.updatedAt >= midnight
          ? "Today"
          : thread.updatedAt >= midnight - DAY
            ? "Yesterday"
            : thread.updatedAt >= midnight - 6 * DAY
              ? "This week"
              : "Earlier";
  const titles = ["Waiting for you", "Running", "Today", "Yesterday", "This week", "Earlier"];
  return titles
    .map((title) => ({ title, threads: threads.filter((thread) => titleOf(thread) === title) }))
    .filter((section) => section.threads.length > 0);
}

/** Returns a thread's name, or a placeholder. */
export function nameOf(thread: { name?: string | null }): string {
  return thread.name?.trim().split("\n")[0] || "Untitled thread";
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
export function endOf({ live, lastTurnStatus }: Pick<Listed, "live" | "lastTurnStatus">): string | undefined {
  return live === "waiting" || live === "running" || lastTurnStatus == null ? undefined : ENDS[lastTurnStatus];
}

/** Returns the last part of a path, by which users know a workspace. */
export function folderOf(cwd: string): string {
  return cwd.replace(/\/+$/, "").split("/").at(-1) || "/";
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
