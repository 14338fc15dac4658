/** Finds and changes one turn of a thread; all others stay the same objects. */

import type { FoldedTurn, ThreadState } from "./thread.ts";

/**
 * Changes the turn with this id, or appends it if it is unknown. What happens outside of turns belongs to the turn before
 * it, and before the first turn to one without an id.
 */
export function changeTurn(
  state: ThreadState,
  turnId: string | undefined,
  change: (turn: FoldedTurn) => FoldedTurn,
): ThreadState {
  const at = indexOfTurn(state.turns, turnId);
  const old: FoldedTurn = state.turns[at] ?? fresh(state, turnId);
  const turn = change(old);
  if (turn === old && at >= 0) {
    return state;
  }
  const turns = at < 0 ? place(state.turns, turn) : state.turns.with(at, turn);
  return { ...state, turns };
}

/** Returns the queued turns, in the order in which they start. */
export function queueOf({ turns, head }: Pick<ThreadState, "turns" | "head">): readonly FoldedTurn[] {
  const queued = turns.filter(({ id, status }) => status === "queued" && id != null);
  const place = ({ id }: FoldedTurn) => head.queuedTurnIds.indexOf(id!);
  return queued.sort((one, other) => place(one) - place(other));
}

/**
 * Returns turns in the order of the conversation: as they have begun, which the user may have changed while they were
 * queued. Turns that never begin are where they ended, and queued turns are last.
 */
export function inOrder(turns: readonly FoldedTurn[]): readonly FoldedTurn[] {
  const at = ({ id, startedAt, completedAt }: FoldedTurn) => (id == null ? 0 : (startedAt ?? completedAt ?? Infinity));
  const isSorted = turns.every((turn, index) => index === 0 || compare(turns[index - 1]!, turn) <= 0);
  return isSorted ? turns : [...turns].sort(compare);

  function compare(one: FoldedTurn, other: FoldedTurn): number {
    const [before, after] = [at(one), at(other)];
    return before === after ? (one.id ?? "").localeCompare(other.id ?? "", "en", { numeric: true }) : before - after;
  }
}

function indexOfTurn(turns: readonly FoldedTurn[], turnId: string | undefined): number {
  if (turnId !== undefined) {
    // The last turn is almost always the one that changes.
    return turns.findLastIndex((turn) => turn.id === turnId);
  }
  return lastBegun(turns);
}

/** Queued turns stay last until they start. */
function place(turns: readonly FoldedTurn[], turn: FoldedTurn): FoldedTurn[] {
  return turn.status === "queued" ? [...turns, turn] : turns.toSpliced(lastBegun(turns) + 1, 0, turn);
}

function lastBegun(turns: readonly FoldedTurn[]): number {
  return turns.findLastIndex((turn) => turn.status !== "queued");
}

function fresh(state: ThreadState, turnId: string | undefined): FoldedTurn {
  return turnId === undefined
    ? { key: `outside-${state.seq + 1}`, status: "completed", items: [] }
    : { key: turnId, id: turnId, status: "running", items: [] };
}
