/** Finds and changes one turn of a thread; all others stay the same objects. */

import type { FoldedTurn, ThreadState } from "./thread.ts";

/** Changes the turn with this id, or appends it if it is unknown. No id means the items outside of turns. */
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

function indexOfTurn(turns: readonly FoldedTurn[], turnId: string | undefined): number {
  if (turnId !== undefined) {
    // The last turn is almost always the one that changes.
    return turns.findLastIndex((turn) => turn.id === turnId);
  }
  const last = lastBegun(turns);
  return last >= 0 && turns[last]?.id == null ? last : -1;
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
