/**
 * The turn of a thread's plan. Events name it, loaded turns do not: only the thread has the plan. Without an event, the
 * plan belongs to the only turn that has begun, or to a turn that the log names.
 */

import type { FoldedTurn, ThreadState } from "./thread.ts";

/** Returns whether the turn of the plan is unknown. */
export function isPlanUnplaced({ head, turns }: ThreadState): boolean {
  return (head.plan ?? []).length > 0 && turns.every(({ plan }) => plan === undefined);
}

/** Adds the plan to its turn, if that is loaded. Without an id, that is the only turn that has begun. */
export function placePlan(state: ThreadState, turnId?: string): ThreadState {
  const { head, turns, older } = state;
  const begun = turns.filter(({ id, status }) => id != null && status !== "queued");
  const only = begun.length === 1 && older === undefined ? begun[0] : undefined;
  const made = turnId === undefined ? only : turns.find(({ id }) => id === turnId);
  if (made === undefined || !isPlanUnplaced(state)) {
    return state;
  }
  const withPlan: FoldedTurn = { ...made, plan: head.plan ?? [] };
  return { ...state, turns: turns.map((turn) => (turn === made ? withPlan : turn)) };
}
