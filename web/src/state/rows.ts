/**
 * The rows of a conversation, from a thread's state. A row whose parts did not change is the same object as before. The
 * rows of an unchanged turn are not recomputed, so the cost of a delta depends only on its own turn.
 */

import type { Item, Notice, Resolved } from "@acpd/client";

import { isAtWork, type Lanes } from "./lanes.ts";
import { byPlace, type Note, type NotesByPlace } from "./notes.ts";
import { ownDecisions } from "./own-decisions.ts";
import type { FoldedTurn, LaneRow, Row, ThreadState } from "./thread.ts";

type ItemRow = Extract<Row, { kind: "item" }>;

interface Built {
  readonly notes: NotesByPlace;
  readonly steering: ThreadState["steering"];
  /** The subagents, if the turn has rows of any. */
  readonly lanes: Lanes | undefined;
  readonly rows: readonly Row[];
}

/** Returns a function that computes the rows of one thread, and reuses its previous ones. */
export function layOut(): (state: ThreadState) => readonly Row[] {
  const turns = new WeakMap<FoldedTurn, Built>();
  const items = new WeakMap<Item, ItemRow>();
  const others = new Map<string, Row>();
  let lastState: ThreadState | undefined;
  let lastNotes: NotesByPlace = byPlace({ notices: [], answers: [] });
  let lastRows: readonly Row[] = [];

  /** Returns the previous row of the same key, if it has the same subject. */
  const same = <R extends Row>(row: R, is: (old: R) => boolean): R => {
    const old = others.get(row.key) as R | undefined;
    if (old?.kind === row.kind && is(old)) {
      return old;
    }
    others.set(row.key, row);
    return row;
  };

  const itemRow = (turn: FoldedTurn, item: Item, children: readonly Item[], decision: Resolved | undefined): ItemRow => {
    const open = turn.id == null || turn.status === "running";
    const live = open && item.outcome == null;
    const old = items.get(item);
    if (old && old.live === live && old.decision === decision && isSame(old.children, children)) {
      return old;
    }
    const row: ItemRow = { kind: "item", key: item.itemId, turnId: turn.id ?? undefined, item, children, live, ...(decision && { decision }) };
    items.set(item, row);
    return row;
  };

  /** Returns the rows of notes at one place. */
  const noteRows = (notes: readonly Note[], isAfterTurn: boolean): Row[] =>
    withDetails(notes, isAfterTurn).map((row) => {
      if (row.kind === "answer") {
        return same(row, (old) => old.answer === row.answer);
      }
      return same(row, (old) => old.notice === row.notice && isSame(old.details, row.details));
    });

  const layTurn = (turn: FoldedTurn, { notes, steering, lanes }: Pick<ThreadState, "steering" | "lanes"> & { notes: NotesByPlace }): readonly Row[] => {
    const known = turns.get(turn);
    if (known && known.notes === notes && known.steering === steering && (known.lanes ?? lanes) === lanes) {
      return known.rows;
    }
    const flat: Row[] = isShown(turn) ? layItems(turn, notes) : [];
    const hasLanes = flat.some((row) => laneOf(row) !== undefined);
    const rows = hasLanes ? nested(turn, flat, lanes) : flat;
    if (turn.id != null && isShown(turn)) {
      for (const words of steering.filter(({ turnId }) => turnId === turn.id)) {
        rows.push(same({ kind: "steering", key: `steering-${words.seq}`, steering: words }, (old) => old.steering === words));
      }
      rows.push(lastRow(turn));
    }
    rows.push(...noteRows(notes.after(turn), true));
    turns.set(turn, { notes, steering, lanes: hasLanes ? lanes : undefined, rows });
    return rows;
  };

  /** Puts the rows of each subagent into one row, where its first one was; in that of the subagent that has created it, if there is one. */
  const nested = (turn: FoldedTurn, flat: readonly Row[], lanes: Lanes): Row[] => {
    const rows: Row[] = [];
    const inside = new Map<string, Row[]>();
    const placeOf = (lane: string): Row[] => {
      const known = inside.get(lane);
      if (known !== undefined) return known;
      const own: Row[] = [];
      inside.set(lane, own);
      const parent = parentOf(lanes, lane);
      const around = parent === undefined ? rows : placeOf(parent);
      // Its place is known now, its rows are known last.
      around.push({ kind: "lane", key: `lane-${turn.key}-${lane}`, turnId: turn.id ?? undefined, subagent: lanes[lane] ?? {}, rows: own, items: NONE, live: false });
      return own;
    };
    for (const row of flat) {
      const lane = laneOf(row);
      (lane === undefined ? rows : placeOf(lane)).push(row);
    }
    return rows.map((row) => (row.kind === "lane" ? laneRow(turn, row) : row));
  };

  const laneRow = (turn: FoldedTurn, row: LaneRow): LaneRow => {
    const rows = row.rows.map((inner) => (inner.kind === "lane" ? laneRow(turn, inner) : inner));
    const live = turn.status === "running" && isAtWork(row.subagent);
    return same(
      { ...row, rows, items: rows.flatMap(itemsOf), live },
      (old) => old.subagent === row.subagent && old.live === live && isSame(old.rows, rows),
    );
  };

  const layItems = (turn: FoldedTurn, notes: NotesByPlace): Row[] => {
    const rows: Row[] = [];
    const parents = parentsOf(turn.items);
    const children = new Map<string, Item[]>();
    const inside = new Map<string, Note[]>();
    const decided = ownDecisions(turn.items, notes.afterItem);
    const shown = new Set(decided.values());
    for (const item of turn.items) {
      const parent = parents.get(item.itemId);
      if (parent !== undefined) {
        children.set(parent, [...(children.get(parent) ?? []), item]);
      }
      const after = notes.afterItem.get(item.itemId);
      if (after !== undefined) {
        const at = parent ?? item.itemId;
        inside.set(at, [...(inside.get(at) ?? []), ...after.filter(({ answer }) => answer === undefined || !shown.has(answer))]);
      }
    }
    for (const item of turn.items) {
      if (!parents.has(item.itemId)) {
        const nested = children.get(item.itemId) ?? NONE;
        const decision = [item, ...nested].map(({ itemId }) => decided.get(itemId)).find((answer) => answer !== undefined);
        rows.push(itemRow(turn, item, nested, decision));
        // The end of the turn says the same as such a notice.
        const noted = (inside.get(item.itemId) ?? []).filter(({ notice }) => notice === undefined || notice.message !== turn.error);
        rows.push(...noteRows(noted, false));
      }
    }
    return rows;
  };

  /** Returns the status row below the turn's items. It does not depend on the items. */
  const lastRow = (turn: FoldedTurn): Row => {
    const kind = turn.status === "running" ? "working" : "turnEnd";
    return same({ kind, key: `end-${turn.key}`, turn } as Extract<Row, { turn: FoldedTurn }>, (old) =>
      kind === "turnEnd" ? old.turn === turn : old.turn.interrupting === turn.interrupting,
    );
  };

  return (state) => {
    if (state === lastState) {
      return lastRows;
    }
    const { notices, answers, steering } = state;
    if (notices !== lastState?.notices || answers !== lastState.answers) {
      lastNotes = byPlace(state);
    }
    const rows = noteRows(lastNotes.early, true);
    for (const turn of state.turns) {
      if (turn.status !== "queued") {
        for (const row of layTurn(turn, { notes: lastNotes, steering, lanes: state.lanes })) {
          rows.push(row);
        }
      }
    }
    lastState = state;
    // The change may not affect any row.
    lastRows = isSame(lastRows, rows) ? lastRows : rows;
    return lastRows;
  };
}

const NONE: readonly Item[] = [];

/** Maximum depth of subagents, as in the daemon. */
const DEEPEST = 8;

/** Returns the subagent that has created one; `undefined` if that is the main agent, or the parents lead nowhere. */
function parentOf(lanes: Lanes, lane: string): string | undefined {
  const parent = lanes[lane]?.parent ?? undefined;
  let depth = 0;
  for (let up = parent; up !== undefined; up = lanes[up]?.parent ?? undefined) {
    if (up === lane || ++depth > DEEPEST) return undefined;
  }
  return parent;
}

/** Returns the lane that a row belongs to; none is the main agent's. */
function laneOf(row: Row): string | undefined {
  switch (row.kind) {
    case "item":
      return row.item.lane ?? undefined;
    case "notice":
      return row.notice.lane ?? undefined;
    case "answer":
      return row.answer.lane ?? undefined;
    default:
      return undefined;
  }
}

/** Returns the items of a row. */
export function itemsOf(row: Row): readonly Item[] {
  switch (row.kind) {
    case "item":
      return [row.item, ...row.children];
    case "lane":
      return row.items;
    default:
      return NONE;
  }
}

/** Returns the key of the row that shows an item, which may be a nested one; its own id if no row does. */
export function rowKeyOf(rows: readonly Row[], itemId: string): string {
  for (const row of rows) {
    if (itemsOf(row).some((item) => item.itemId === itemId)) {
      return row.kind === "lane" ? rowKeyOf(row.rows, itemId) : row.key;
    }
  }
  return itemId;
}

/** The queue shows turns that wait; one that a user removed from it leaves nothing. */
function isShown({ status, startedAt, items, error }: FoldedTurn): boolean {
  const isRemoved = status === "interrupted" && startedAt == null && error == null && items.length === 0;
  return status !== "queued" && !isRemoved;
}

type NoteRow = Extract<Row, { kind: "notice" | "answer" }>;

/**
 * Returns the rows of notes at one place. Details are part of the next notice about the agent: one sentence says what
 * happened to it. Without such a notice, nothing has happened that the user should know.
 */
function withDetails(notes: readonly Note[], isAfterTurn: boolean): NoteRow[] {
  const rows: NoteRow[] = [];
  let details: Notice[] = [];
  for (const { seq, notice, answer } of notes) {
    if (answer !== undefined) {
      rows.push({ kind: "answer", key: `answer-${seq}`, answer });
    } else if (isDetail(notice, isAfterTurn)) {
      details.push(notice);
    } else {
      const takes = notice.code.startsWith("agent");
      rows.push({ kind: "notice", key: `notice-${seq}`, notice, details: takes ? details : [] });
      details = takes ? [] : details;
    }
  }
  return rows;
}

/** The methods that failed to continue a session, and the expected exit of an agent that had nothing to do. */
function isDetail({ code, level, message }: Notice, isAfterTurn: boolean): boolean {
  const isExpected = level === "info" || message.endsWith("exited with code 0");
  return code === "notReopened" || (code === "agentLost" && isAfterTurn && isExpected);
}

/** Returns each nested item's parent: its `parentItemId`, or the tool call whose content names its terminal. */
function parentsOf(items: readonly Item[]): Map<string, string> {
  const parents = new Map<string, string>();
  const known = new Set<string>();
  const terminals = new Map<string, string>();
  for (const item of items) {
    known.add(item.itemId);
    const content = item.type === "toolCall" ? item.toolCall?.content : undefined;
    for (const block of Array.isArray(content) ? content : []) {
      if (block?.type === "terminal" && typeof block.terminalId === "string") {
        terminals.set(block.terminalId, item.itemId);
      }
    }
  }
  for (const item of items) {
    const named = item.type === "terminalCommand" ? terminals.get(item.terminalId) : undefined;
    const parent = item.parentItemId ?? named;
    if (parent != null && parent !== item.itemId && known.has(parent)) {
      parents.set(item.itemId, parent);
    }
  }
  // Flatten: a nested item's children appear in the outermost parent.
  for (const [item, parent] of parents) {
    let top = parent;
    for (let depth = 0; parents.has(top) && depth < 8; depth++) {
      top = parents.get(top)!;
    }
    if (top !== item) {
      parents.set(item, top);
    }
  }
  return parents;
}

function isSame<T>(one: readonly T[], other: readonly T[]): boolean {
  return one.length === other.length && one.every((part, at) => part === other[at]);
}
