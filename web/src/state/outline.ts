/**
 * The shown rows of a conversation. The work of a turn is one row above the answer, and opens to its rows; consecutive
 * reads and searches are one row as well. In: the rows of the thread, and what the user has opened. Pure, apart from
 * what it keeps of the previous result: an unchanged row is the same object as before.
 */

import type { DiffSize, Item, Plan } from "@acpd/client";

import type { AwayRow } from "./away.ts";
import { hasContent, idOf } from "./plans.ts";
import { isLookup, isUserCommand } from "./tool-calls.ts";
import type { Row } from "./thread.ts";

export type ItemRow = Extract<Row, { kind: "item" }>;
type EndRow = Extract<Row, { kind: "turnEnd" | "working" }>;

/** The work of a turn, or of its part up to a message that the user sent, or a command that they ran, meanwhile. */
export interface WorkRow {
  readonly kind: "work";
  readonly key: string;
  readonly items: readonly Item[];
  readonly open: boolean;
  /** Whether the turn is running. */
  readonly live: boolean;
  /** The times of the turn; absent for all parts but its last one. */
  readonly startedAt?: number | undefined;
  readonly completedAt?: number | undefined;
  readonly waitedMs?: number | undefined;
  readonly waitingSince?: number | undefined;
  /** The changes of the turn, if this is all of its work. */
  readonly changes?: DiffSize | undefined;
}

/** Consecutive reads and searches that have succeeded. */
export interface GroupRow {
  readonly kind: "group";
  readonly key: string;
  readonly items: readonly Item[];
  readonly open: boolean;
}

/** A plan of a turn, after its end. */
export interface PlanRow {
  readonly kind: "plan";
  readonly key: string;
  readonly plan: Plan;
}

/** A row of an opened group. */
export interface InnerRow {
  readonly kind: "inner";
  readonly key: string;
  readonly row: ItemRow;
}

/** The end of a turn whose work row already has its duration. */
export type TimedEndRow = Extract<Row, { kind: "turnEnd" }> & { readonly timed: true };

export type ShownRow = Row | TimedEndRow | WorkRow | GroupRow | InnerRow | PlanRow | AwayRow;

export interface OutlineOptions {
  /** Whether the user has opened or closed a row; `undefined` if neither. Another function if the user has chosen since. */
  chosen: (key: string) => boolean | undefined;
  /** Whether the work of a turn is open unless the user has chosen. */
  usual: (key: string, unfinished: boolean) => boolean;
  /** The key of a row that must be shown. */
  target?: string | undefined;
  /** Whether the first turn is loaded in part. */
  partial?: boolean;
}

/** Minimum number of calls in a group, and of rows in the work of a turn. */
const FEW = 2;

/** What an ended turn has led to. */
interface Laid {
  readonly rows: readonly Row[];
  readonly chosen: OutlineOptions["chosen"];
  readonly target: string | undefined;
  readonly partial: boolean;
  readonly shown: readonly ShownRow[];
}

/**
 * Returns a function that computes the shown rows, and reuses its previous ones. Those of an ended turn are computed again only if one of its
 * rows or a choice of the user changes, so a delta costs as much in a long thread as in a short one.
 */
export function layOutline(): (rows: readonly Row[], options: OutlineOptions) => readonly ShownRow[] {
  const kept = new Map<string, ShownRow>();
  const ended = new WeakMap<Row, Laid>();
  let last: readonly ShownRow[] = [];

  /** Returns the previous row of the same key, if all members are the same. */
  const same = <R extends ShownRow>(row: R): R => {
    const old = kept.get(row.key) as R | undefined;
    if (old !== undefined && isSame(old, row)) {
      return old;
    }
    kept.set(row.key, row);
    return row;
  };

  /** Returns the shown rows of the turn whose rows are from `from` to its end at `at`. */
  const layTurn = (all: readonly Row[], from: number, at: number, end: EndRow, options: OutlineOptions, partial: boolean): readonly ShownRow[] => {
    const { chosen, target } = options;
    const known = ended.get(end);
    if (known?.chosen === chosen && known.target === target && known.partial === partial && known.rows.length === at - from) {
      if (known.rows.every((row, index) => row === all[from + index])) {
        return known.shown;
      }
    }
    const rows = all.slice(from, at);
    const shown = new TurnOutline(options, same, end, partial).rows(rows);
    const timed = shown.some((part) => part.kind === "work" && part.completedAt !== undefined);
    if (end.kind === "turnEnd") {
      for (const plan of (end.turn.plans ?? []).filter(hasContent)) {
        const key = [`plan-${end.turn.key}`, idOf(plan)].filter(Boolean).join("-");
        shown.push(same({ kind: "plan", key, plan }));
      }
    }
    shown.push(end.kind === "turnEnd" && timed ? same({ ...end, timed }) : end);
    if (end.kind === "turnEnd") {
      ended.set(end, { rows, chosen, target, partial, shown });
    }
    return shown;
  };

  return (rows, options) => {
    const shown: ShownRow[] = [];
    let from = 0;
    rows.forEach((row, at) => {
      if (row.kind === "turnEnd" || row.kind === "working") {
        const partial = options.partial === true && from === 0;
        for (const part of layTurn(rows, from, at, row, options, partial)) {
          shown.push(part);
        }
        from = at + 1;
      }
    });
    shown.push(...rows.slice(from));
    last = areSame(last, shown) ? last : shown;
    return last;
  };
}

class TurnOutline {
  constructor(
    private readonly options: OutlineOptions,
    private readonly same: <R extends ShownRow>(row: R) => R,
    private readonly end: EndRow,
    private readonly partial: boolean,
  ) {}

  /** Splits the turn at the user's messages and commands: each begins a part of its own. */
  rows(rows: readonly Row[]): ShownRow[] {
    const { turn } = this.end;
    const begin = rows.findIndex((row) => row.kind === "item" && row.turnId === (turn.id ?? undefined));
    if (begin < 0) {
      return [...rows];
    }
    const shown: ShownRow[] = rows.slice(0, begin);
    let part: Row[] = [];
    let parts = 0;
    const flush = (isLast: boolean) => {
      shown.push(...this.part(part, parts, isLast));
      parts += part.length > 0 ? 1 : 0;
      part = [];
    };
    for (const row of rows.slice(begin)) {
      if (row.kind === "item" && (row.item.type === "userMessage" || isUserCommand(row.item))) {
        flush(false);
        shown.push(row);
      } else {
        part.push(row);
      }
    }
    flush(true);
    return shown;
  }

  private part(rows: readonly Row[], index: number, isLast: boolean): ShownRow[] {
    const { turn, kind } = this.end;
    const live = kind === "working" && isLast;
    const answer = answerOf(rows);
    const hides = (row: Row) => row.kind === "item" && !answer.has(row) && !(kind === "working" && row.live);
    const hidden = rows.filter((row): row is ItemRow => hides(row) && row.kind === "item");
    const grouped = this.grouped(rows);
    const lines = this.grouped(hidden);
    const single = lines.length < FEW && !lines.some((row) => row.kind === "item" && row.item.type === "agentMessage");
    // Without its first items, a turn has no meaningful summary.
    if (hidden.length === 0 || single || this.partial) {
      if (this.partial) this.options.usual(this.key(index), true);
      return grouped;
    }
    const key = this.key(index);
    const revealed = hidden.some((row) => row.key === this.options.target);
    const open = this.options.chosen(key) ?? (this.options.usual(key, live) || revealed);
    const items = hidden.map(({ item, children }) => (children.length > 0 ? [item, ...children] : item)).flat();
    const { startedAt, completedAt, waitedMs, waitingSince } = isLast ? turn : {};
    const changes = isLast && index === 0 && kind === "turnEnd" ? (turn.changes ?? undefined) : undefined;
    const work = this.same({
      kind: "work", key, items, open, live, startedAt: startedAt ?? undefined, completedAt: completedAt ?? undefined,
      waitedMs: waitedMs ?? undefined, waitingSince: waitingSince ?? undefined, changes,
    });
    return [work, ...(open ? grouped : rows.filter((row) => !hides(row)))];
  }

  private key(index: number): string {
    return `work-${this.end.turn.key}${index > 0 ? `-${index}` : ""}`;
  }

  /** Replaces consecutive lookups by one row each. Thoughts between them belong to the group. */
  private grouped(rows: readonly Row[]): ShownRow[] {
    const shown: ShownRow[] = [];
    let run: ItemRow[] = [];
    const flush = () => {
      const length = run.findLastIndex(({ item }) => item.type === "toolCall") + 1;
      const calls = run.slice(0, length);
      shown.push(...this.group(calls), ...run.slice(length));
      run = [];
    };
    for (const row of rows) {
      const isQuiet = row.kind === "item" && !row.live && this.options.chosen(row.item.itemId) !== true;
      if (isQuiet && (isLookup(row.item, row.children) || (run.length > 0 && row.item.type === "agentThought"))) {
        run.push(row);
      } else {
        flush();
        shown.push(row);
      }
    }
    flush();
    return shown;
  }

  private group(rows: readonly ItemRow[]): ShownRow[] {
    if (rows.filter(({ item }) => item.type === "toolCall").length < FEW) {
      return [...rows];
    }
    const key = `group-${rows[0]!.key}`;
    const open = this.options.chosen(key) ?? rows.some((row) => row.key === this.options.target);
    const group = this.same({ kind: "group", key, items: rows.map(({ item }) => item), open });
    return [group, ...(open ? rows.map((row) => this.same({ kind: "inner", key: row.key, row } as const)) : [])];
  }
}

/** Returns the agent's last messages: what the turn has led to so far. */
function answerOf(rows: readonly Row[]): Set<Row> {
  const isMessage = (row: Row) => row.kind === "item" && row.item.type === "agentMessage";
  const end = rows.findLastIndex(isMessage);
  let begin = end;
  while (begin > 0 && isMessage(rows[begin - 1]!)) {
    begin -= 1;
  }
  return new Set(end < 0 ? [] : rows.slice(begin, end + 1));
}

function isSame(one: ShownRow, other: ShownRow): boolean {
  const [before, after] = [Object.entries(one), other as unknown as Record<string, unknown>];
  return (
    before.length === Object.keys(after).length &&
    before.every(([key, value]) => {
      const next = after[key];
      return value === next || (Array.isArray(value) && Array.isArray(next) && areSame(value, next));
    })
  );
}

function areSame<T>(one: readonly T[], other: readonly T[]): boolean {
  return one.length === other.length && one.every((part, at) => part === other[at]);
}
