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
 * queued. The daemon numbers items in that order; times go back when a clock is set. Ended turns without items are behind
 * the turn that had begun last by their time, and queued turns are last.
 */
export function inOrder(turns: readonly FoldedTurn[]): readonly FoldedTurn[] {
  const begun = turns.flatMap((turn) => {
    const number = numberOf(turn);
    return number === undefined ? [] : [{ number, at: turn.startedAt ?? 0 }];
  });
  let before = 0;
  const placed = turns.map((turn) => {
    const number = numberOf(turn);
    if (number !== undefined) {
      before = number;
      return { turn, place: number, at: 0 };
    }
    if (turn.status === "queued" || turn.status === "running") {
      return { turn, place: turn.status === "queued" ? Infinity : Number.MAX_VALUE, at: 0 };
    }
    const at = turn.startedAt ?? turn.completedAt ?? 0;
    return { turn, place: at > 0 ? placeAt(begun, at) : before, at };
  });
  type Placed = (typeof placed)[number];
  // Not by subtraction: the places of two queued turns are both infinite.
  const order = (one: number, other: number) => (one === other ? 0 : one < other ? -1 : 1);
  const compare = (one: Placed, other: Placed) =>
    order(one.place, other.place) || order(one.at, other.at) || (one.at > 0 ? byPrompt(one.turn.id, other.turn.id) : 0);
  const isSorted = placed.every((turn, index) => index === 0 || compare(placed[index - 1]!, turn) <= 0);
  return isSorted ? turns : placed.sort(compare).map(({ turn }) => turn);
}

/** Returns the number of a turn's first item. */
function numberOf({ items }: FoldedTurn): number | undefined {
  const [number] = /\d+$/.exec(items[0]?.itemId ?? "") ?? [];
  return number === undefined ? undefined : Number(number);
}

/** Returns the number of the first item of the turn that had begun last at a time. */
function placeAt(begun: readonly { number: number; at: number }[], time: number): number {
  const isLater = (one: (typeof begun)[number], other: (typeof begun)[number]) =>
    one.at === other.at ? one.number > other.number : one.at > other.at;
  const earlier = begun.filter(({ at }) => at <= time);
  return earlier.reduce((last, turn) => (isLater(turn, last) ? turn : last), { number: 0, at: -1 }).number;
}

/** Compares turns by the order of their prompts, in which the daemon numbers them. */
export function byPrompt(one: string | null | undefined, other: string | null | undefined): number {
  return (one ?? "").localeCompare(other ?? "", "en", { numeric: true });
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
