/**
 * The rows of a conversation, from a thread's state. A row whose parts did not change is the same object as before. The
 * rows of an unchanged turn are not recomputed, so the cost of a delta depends only on its own turn.
 */

import type { Item } from "@acpd/client";

import type { FoldedTurn, Row, ThreadState } from "./thread.ts";

type ItemRow = Extract<Row, { kind: "item" }>;

interface Built {
  readonly notices: ThreadState["notices"];
  readonly steering: ThreadState["steering"];
  readonly rows: readonly Row[];
}

/** Returns a function that computes the rows of one thread, and reuses its previous ones. */
export function layOut(): (state: ThreadState) => readonly Row[] {
  const turns = new WeakMap<FoldedTurn, Built>();
  const items = new WeakMap<Item, ItemRow>();
  const others = new Map<string, Row>();
  let lastState: ThreadState | undefined;
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

  const itemRow = (turn: FoldedTurn, item: Item, children: readonly Item[]): ItemRow => {
    const open = turn.id == null || turn.status === "running";
    const live = open && item.outcome == null;
    const old = items.get(item);
    if (old && old.live === live && isSame(old.children, children)) {
      return old;
    }
    const row: ItemRow = { kind: "item", key: item.itemId, turnId: turn.id ?? undefined, item, children, live };
    items.set(item, row);
    return row;
  };

  const layTurn = (state: ThreadState, turn: FoldedTurn): readonly Row[] => {
    const { notices, steering } = state;
    const known = turns.get(turn);
    if (known && known.notices === notices && known.steering === steering) {
      return known.rows;
    }
    const rows: Row[] = [];
    const parents = parentsOf(turn.items);
    const children = new Map<string, Item[]>();
    for (const item of turn.items) {
      const parent = parents.get(item.itemId);
      if (parent !== undefined) {
        children.set(parent, [...(children.get(parent) ?? []), item]);
      }
    }
    const placed = new Map<string, ThreadState["notices"][number][]>();
    for (const notice of notices) {
      if (notice.afterItemId !== undefined) {
        const after = parents.get(notice.afterItemId) ?? notice.afterItemId;
        placed.set(after, [...(placed.get(after) ?? []), notice]);
      }
    }
    for (const item of turn.items) {
      if (!parents.has(item.itemId)) {
        rows.push(itemRow(turn, item, children.get(item.itemId) ?? NONE));
        for (const { notice } of placed.get(item.itemId) ?? []) {
          // The end of the turn says the same.
          if (notice.message !== turn.error) {
            rows.push(same({ kind: "notice", key: `notice-${notice.seq}`, notice }, (old) => old.notice === notice));
          }
        }
      }
    }
    if (turn.id != null) {
      for (const words of steering.filter(({ turnId }) => turnId === turn.id)) {
        rows.push(same({ kind: "steering", key: `steering-${words.seq}`, steering: words }, (old) => old.steering === words));
      }
      rows.push(lastRow(turn));
    }
    turns.set(turn, { notices, steering, rows });
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
    const early = state.notices.filter(({ afterItemId }) => afterItemId === undefined);
    const rows: Row[] = early.map(({ notice }) =>
      same({ kind: "notice", key: `notice-${notice.seq}`, notice }, (old) => old.notice === notice),
    );
    for (const turn of state.turns.filter(isShown)) {
      for (const row of layTurn(state, turn)) {
        rows.push(row);
      }
    }
    lastState = state;
    // The change may not affect any row.
    lastRows = isSame(lastRows, rows) ? lastRows : rows;
    return lastRows;
  };
}

const NONE: readonly Item[] = [];

/** The queue shows turns that wait; one that a user removed from it leaves nothing. */
function isShown({ status, startedAt, items, error }: FoldedTurn): boolean {
  const isRemoved = status === "interrupted" && startedAt == null && error == null && items.length === 0;
  return status !== "queued" && !isRemoved;
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
