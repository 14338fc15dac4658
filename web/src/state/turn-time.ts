/** The time of a turn: what the agent worked, and what it waited for the user. Pure: the present time is an argument. */

import type { Turn } from "@acpd/client";

type Timed = { readonly [Name in "startedAt" | "completedAt" | "waitedMs" | "waitingSince"]?: Turn[Name] | undefined };

export interface TurnTime {
  /** Milliseconds of the agent. They do not grow while a question waits for its answer. */
  readonly worked: number;
  /** Milliseconds in which a question waited for its answer. */
  readonly waited: number;
}

/** Returns the time of a turn until its end, or until `now` while it runs; `undefined` for a turn that has not started. */
export function timeOf({ startedAt, completedAt, waitedMs, waitingSince }: Timed, now: number): TurnTime | undefined {
  if (startedAt == null) return undefined;
  const end = completedAt ?? now;
  const present = completedAt == null && waitingSince != null ? Math.max(0, end - waitingSince) : 0;
  const waited = (waitedMs ?? 0) + present;
  return { worked: Math.max(0, end - startedAt - waited), waited };
}

/** A shorter wait is not worth a word. */
const WORTH_SAYING = 1_000;

/** Returns whether the user is told how long a turn waited. */
export function isLongWait({ waited }: TurnTime): boolean {
  return waited >= WORTH_SAYING;
}
