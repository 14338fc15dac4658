/** What happened in a thread since the user left it: a count of turns, work and decisions. Pure. */

import type { Absence, Item, Resolved, ThreadSummary, Turn } from "@acpd/client";

import { count } from "../text/format.ts";
import { who } from "../text/who.ts";
import type { ShownRow } from "./outline.ts";
import type { Listed } from "./threads.ts";
import { changesOf, sumOf, tallyOf } from "./tool-calls.ts";

/** Time after which a thread that the user has left begins with a line about what has happened since, in milliseconds. */
export const LEFT_MS = 5 * 60_000;

/**
 * Returns whether a thread must be loaded anew instead of shown as it was left: the line counts what has happened, so it needs the current
 * state. `listed` is the thread's entry in the list, which is current.
 */
export function isOutdated(
  leftAt: number,
  now: number,
  left: Pick<ThreadSummary, "status" | "updatedAt">,
  listed: Pick<ThreadSummary, "status" | "updatedAt"> | undefined,
): boolean {
  const isUnchanged =
    listed !== undefined && listed.status === left.status && listed.updatedAt === left.updatedAt && listed.status !== "running";
  return now - leftAt >= LEFT_MS && !isUnchanged;
}

/** Where the user left a thread. */
export interface Left {
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** The thread's last event, if the user had opened the thread. */
  readonly seq?: number;
  /** The last item that the user has seen. */
  readonly itemId?: string | undefined;
  /** Number of calls in its turn that the policy had allowed without a question. */
  readonly permitted?: number | undefined;
}

/** Returns the unread threads that changed during an absence. Those that waited at its end come first. */
export function changedBetween(threads: readonly Listed[], { since, until }: Absence, waited: ReadonlySet<string>): Listed[] {
  const waiting = threads.filter(({ id, live }) => live === "waiting" && waited.has(id));
  const isChanged = ({ unread, updatedAt, live }: Listed) => unread && live !== "waiting" && updatedAt > since && updatedAt <= until;
  return [...waiting, ...threads.filter(isChanged)];
}

/** The statuses of a turn that ended before its work was done, without an error. */
const STOPPED: readonly Turn["status"][] = ["interrupted", "refused", "limited"];

/** Counts threads by what the list says of them: "1 waits for you", "2 failed", "1 stopped", "3 done". */
export function countsOf(threads: readonly Listed[]): string[] {
  const number = (of: (thread: Listed) => boolean) => threads.filter(of).length;
  const waits = number(({ live }) => live === "waiting");
  const failed = number(({ live }) => live === "failed");
  const cutOff = number(({ live, lastTurnCutOff }) => live === "idle" && lastTurnCutOff === true);
  const stopped = number(
    ({ live, lastTurnCutOff, lastTurnStatus }) => live === "idle" && lastTurnCutOff !== true && lastTurnStatus != null && STOPPED.includes(lastTurnStatus),
  );
  const other = threads.length - waits - failed - cutOff - stopped;
  return [
    waits > 0 && `${count(waits)} ${waits === 1 ? "waits" : "wait"} for you`,
    failed > 0 && `${count(failed)} failed`,
    cutOff > 0 && `${count(cutOff)} interrupted`,
    stopped > 0 && `${count(stopped)} stopped`,
    other > 0 && `${count(other)} done`,
  ].filter((said) => said !== false);
}

type SeenTurn = Pick<Turn, "id" | "status" | "startedAt" | "completedAt" | "permitted"> & { readonly items?: readonly Item[] | null };

/** Describes what happened since: "2 turns done", "ran 3 commands", "allowed 1 by bob (zed)", "12 allowed by rules". */
export function unseenWords(turns: readonly SeenTurn[], answers: readonly Resolved[], left: Left, questions = 0): string[] {
  const ended = turns.filter(({ id, completedAt }) => id != null && (completedAt ?? 0) > left.at);
  const withStatus = (...statuses: Turn["status"][]) => ended.filter(({ status }) => statuses.includes(status)).length;
  const [done, failed, stopped] = [withStatus("completed"), withStatus("failed"), withStatus(...STOPPED)];
  // What has not ended, as a call that waits for approval, has not happened.
  const items = turns.flatMap((turn) => unseenItems(turn, left)).filter(({ outcome }) => outcome != null);
  const { commands } = tallyOf(items, (id) => answers.findLast(({ itemId }) => itemId === id)?.outcome === "declined");
  const changes = changesOf(items);
  const files = new Set(changes.map(({ path }) => path)).size;
  const { added, removed } = sumOf(changes);
  const late = answers.filter(({ ts, optionId }) => ts > left.at && optionId != null);
  const isRuled = ({ by, outcome }: Resolved) => by.kind === "policy" && outcome === "accepted";
  const permitted = turns.map((turn) => unseenPermits(turn, left)).reduce((sum, next) => sum + next, 0);
  const ruled = late.filter(isRuled).length + permitted;
  return [
    done > 0 && `${count(done)} ${done === 1 ? "turn" : "turns"} done`,
    failed > 0 && `${count(failed)} failed`,
    stopped > 0 && `${count(stopped)} stopped`,
    commands > 0 && `ran ${count(commands)} ${commands === 1 ? "command" : "commands"}`,
    files > 0 && `${count(files)} ${files === 1 ? "file" : "files"} +${count(added)} −${count(removed)}`,
    decided("allowed", late.filter((answer) => answer.outcome === "accepted" && !isRuled(answer))),
    ruled > 0 && `${count(ruled)} allowed by rules`,
    decided("rejected", late.filter(({ outcome }) => outcome === "declined")),
    questions > 0 && `${count(questions)} ${questions === 1 ? "waits" : "wait"} for you`,
  ].filter((said) => said !== false);
}

function unseenItems({ items, startedAt, completedAt }: SeenTurn, { at, itemId }: Left): readonly Item[] {
  const seen = (items ?? []).findIndex((item) => item.itemId === itemId);
  if (seen >= 0) {
    return items!.slice(seen + 1);
  }
  // Without a known item, a turn counts as a whole if it went on after the user had left.
  return (completedAt ?? startedAt ?? 0) > at ? (items ?? []) : [];
}

/** Counts the calls that the policy has allowed without a question since the user left. */
function unseenPermits({ items, permitted, startedAt, completedAt }: SeenTurn, left: Left): number {
  const isSeen = (items ?? []).some(({ itemId }) => itemId === left.itemId);
  if (isSeen) {
    return Math.max(0, (permitted ?? 0) - (left.permitted ?? 0));
  }
  return (completedAt ?? startedAt ?? 0) > left.at ? (permitted ?? 0) : 0;
}

function decided(verb: string, answers: readonly Resolved[]): string | false {
  if (answers.length === 0) {
    return false;
  }
  const authors = new Map<string, number>();
  for (const { by } of answers) {
    const author = who(by);
    authors.set(author, (authors.get(author) ?? 0) + 1);
  }
  const [only] = authors.keys();
  const by = authors.size === 1 ? ` by ${only}` : `: ${[...authors].map(([author, times]) => `${count(times)} by ${author}`).join(", ")}`;
  return `${verb} ${count(answers.length)}${by}`;
}

/** The line between what the user has seen and what is new. */
export interface AwayRow {
  readonly kind: "away";
  readonly key: "away";
  readonly at: number;
  readonly words: readonly string[];
}

/** Inserts the line before the first row with something that the user has not seen; not if there is none. */
export function withAwayRow(rows: readonly ShownRow[], left: Left, line: AwayRow, turns: readonly SeenTurn[]): readonly ShownRow[] {
  const startOf = new Map(turns.map(({ id, startedAt }) => [id, startedAt ?? 0]));
  const known = rows.findIndex((row) => itemsOf(row).includes(left.itemId ?? ""));
  let begin = 0;
  if (known >= 0) {
    begin = itemsOf(rows[known]!).at(-1) === left.itemId ? known + 1 : known;
  } else {
    begin = rows.findIndex((row) => row.kind === "item" && (startOf.get(row.turnId) ?? 0) > left.at);
  }
  // The end of a turn that the user has seen is not new.
  while (begin >= 0 && begin < rows.length && isOld(rows[begin]!, left)) {
    begin += 1;
  }
  return begin < 0 || begin >= rows.length ? rows : [...rows.slice(0, begin), line, ...rows.slice(begin)];
}

function itemsOf(row: ShownRow): readonly string[] {
  switch (row.kind) {
    case "item":
      return [row.item.itemId, ...row.children.map(({ itemId }) => itemId)];
    case "inner":
      return itemsOf(row.row);
    case "lane":
    case "work":
    case "group":
      return row.items.map(({ itemId }) => itemId);
    default:
      return [];
  }
}

function isOld(row: ShownRow, { at }: Left): boolean {
  switch (row.kind) {
    case "turnEnd":
      return (row.turn.completedAt ?? Infinity) <= at;
    case "notice":
      return row.notice.ts <= at;
    case "answer":
      return row.answer.ts <= at;
    case "plan":
      return true;
    default:
      return false;
  }
}
