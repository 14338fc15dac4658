/**
 * The shown rows of a conversation. The work of a turn is one row above the answer, and opens to its rows; consecutive
 * reads and searches are one row as well. In: the rows of the thread, and what the user has opened. Pure, apart from
 * what it keeps of the previous result: an unchanged row is the same object as before.
 */

import type { DiffSize, Item, Plan } from "@acpd/client";

import type { AwayRow } from "./away.ts";
import { hasContent, idOf } from "./plans.ts";
import { itemsOf } from "./rows.ts";
import { isLookup, isUserCommand } from "./tool-calls.ts";
import type { LaneRow, Row } from "./thread.ts";

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

/** The line of a subagent, above its rows in the turn if it is open. */
export interface LaneLine extends LaneRow {
  readonly open: boolean;
}

/** A row of an opened group, or of an opened subagent. */
export interface InnerRow {
  readonly kind: "inner";
  readonly key: string;
  readonly row: Exclude<Row, LaneRow> | LaneLine | GroupRow;
  /** How many rows it is in, at least one. */
  readonly depth: number;
}

/** The end of a turn whose work row already has its duration. */
export type TimedEndRow = Extract<Row, { kind: "turnEnd" }> & { readonly timed: true };

export type ShownRow = Exclude<Row, LaneRow> | LaneLine | TimedEndRow | WorkRow | GroupRow | InnerRow | PlanRow | AwayRow;

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

  /** Returns the previous row of the same key and kind, if all members are the same. */
  const same = <R extends ShownRow>(row: R): R => {
    // A row within another one has its key.
    const key = row.kind === "inner" ? `inner-${row.key}` : row.key;
    const old = kept.get(key) as R | undefined;
    if (old !== undefined && isSame(old, row)) {
      return old;
    }
    kept.set(key, row);
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
    // Behind the last turn, and before the first one.
    shown.push(...new Lines(options, same).all(rows.slice(from)));
    last = areSame(last, shown) ? last : shown;
    return last;
  };
}

type Same = <R extends ShownRow>(row: R) => R;

class TurnOutline {
  private readonly lines: Lines;

  constructor(
    private readonly options: OutlineOptions,
    private readonly same: Same,
    private readonly end: EndRow,
    private readonly partial: boolean,
  ) {
    this.lines = new Lines(options, same);
  }

  /** Splits the turn at the user's messages and commands: each begins a part of its own. */
  rows(rows: readonly Row[]): ShownRow[] {
    const { turn } = this.end;
    const begin = rows.findIndex((row) => (row.kind === "item" || row.kind === "lane") && row.turnId === (turn.id ?? undefined));
    if (begin < 0) {
      return this.lines.all(rows);
    }
    const shown = this.lines.all(rows.slice(0, begin));
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
    const hides = (row: Row): row is ItemRow | LaneRow =>
      (row.kind === "item" || row.kind === "lane") && !answer.has(row) && !(kind === "working" && row.live);
    const hidden = rows.filter(hides);
    const grouped = this.lines.grouped(rows);
    const lines = this.lines.grouped(hidden).filter((row) => row.kind !== "inner");
    const single = lines.length < FEW && !lines.some((row) => row.kind === "item" && row.item.type === "agentMessage");
    // Without its first items, a turn has no meaningful summary.
    if (hidden.length === 0 || single || this.partial) {
      if (this.partial) this.options.usual(this.key(index), true);
      return grouped;
    }
    const key = this.key(index);
    const revealed = hidden.some((row) => leadsTo(row, this.options.target));
    const open = this.options.chosen(key) ?? (this.options.usual(key, live) || revealed);
    const items = hidden.flatMap(itemsOf);
    const { startedAt, completedAt, waitedMs, waitingSince } = isLast ? turn : {};
    const changes = isLast && index === 0 && kind === "turnEnd" ? (turn.changes ?? undefined) : undefined;
    const work = this.same({
      kind: "work", key, items, open, live, startedAt: startedAt ?? undefined, completedAt: completedAt ?? undefined,
      waitedMs: waitedMs ?? undefined, waitingSince: waitingSince ?? undefined, changes,
    });
    return [work, ...(open ? grouped : this.lines.all(rows.filter((row) => !hides(row))))];
  }

  private key(index: number): string {
    return `work-${this.end.turn.key}${index > 0 ? `-${index}` : ""}`;
  }
}

/** Replaces rows by the lines that stand for them: lookups by groups, and what a subagent did by its line. */
class Lines {
  constructor(
    private readonly options: OutlineOptions,
    private readonly same: Same,
  ) {}

  /** Returns rows with the lines of subagents. `depth`: how many rows they are in. */
  all(rows: readonly Row[], depth = 0): ShownRow[] {
    return rows.flatMap((row) => (row.kind === "lane" ? this.lane(row, depth) : [this.place(row, depth)]));
  }

  /** Replaces consecutive lookups by one row each as well. Thoughts between them belong to the group. */
  grouped(rows: readonly Row[], depth = 0): ShownRow[] {
    const shown: ShownRow[] = [];
    let run: ItemRow[] = [];
    const flush = () => {
      const length = run.findLastIndex(({ item }) => item.type === "toolCall") + 1;
      const calls = run.slice(0, length);
      shown.push(...this.group(calls, depth), ...this.all(run.slice(length), depth));
      run = [];
    };
    for (const row of rows) {
      const isQuiet = row.kind === "item" && !row.live && this.options.chosen(row.item.itemId) !== true;
      if (isQuiet && (isLookup(row.item, row.children) || (run.length > 0 && row.item.type === "agentThought"))) {
        run.push(row);
      } else {
        flush();
        shown.push(...this.all([row], depth));
      }
    }
    flush();
    return shown;
  }

  private group(rows: readonly ItemRow[], depth: number): ShownRow[] {
    if (rows.filter(({ item }) => item.type === "toolCall").length < FEW) {
      return this.all(rows, depth);
    }
    const key = `group-${rows[0]!.key}`;
    const open = this.options.chosen(key) ?? rows.some((row) => row.key === this.options.target);
    const group = this.same({ kind: "group", key, items: rows.map(({ item }) => item), open });
    return [this.place(group, depth), ...(open ? this.all(rows, depth + 1) : [])];
  }

  /** Returns the line of a subagent, and its conversation if that is open. */
  private lane(row: LaneRow, depth: number): ShownRow[] {
    const open = this.options.chosen(row.key) ?? leadsTo(row, this.options.target);
    const line = this.same({ ...row, open });
    return [this.place(line, depth), ...(open ? this.grouped(row.rows, depth + 1) : [])];
  }

  private place(row: InnerRow["row"], depth: number): ShownRow {
    return depth === 0 ? row : this.same({ kind: "inner", key: row.key, row, depth });
  }
}

/** Returns whether a row is wanted, or contains the row that is. */
function leadsTo(row: Row, target: string | undefined): boolean {
  return target !== undefined && (row.key === target || (row.kind === "lane" && row.rows.some((inner) => leadsTo(inner, target))));
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
