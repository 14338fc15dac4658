/** For how long an answer is remembered: the same words in questions, decisions and policies. Pure. */

import type { Resolved, Role, Scope } from "@acpd/client";

import { isAlways } from "./subjects.ts";

const WORDS: Readonly<Record<string, string>> = {
  session: "for this session",
  thread: "for this thread",
  agent: "for every thread of this agent",
};

/** Describes the duration of an answer. */
export function scopeWords(scope: string): string {
  return WORDS[scope] ?? scope;
}

/** Describes the duration of a remembered answer, as an event or a list of the daemon has it. */
export function heldFor(answer: unknown): string | undefined {
  const scope = (answer as { scope?: unknown } | null)?.scope;
  return typeof scope === "string" ? scopeWords(scope) : undefined;
}

/**
 * Returns whether acpd remembers an "always" answer. It then sends the agent another option; an answer that it cannot remember
 * goes to the agent as it is. A question of acpd's own is about no item of the agent, and has only answers that acpd can remember.
 */
export function isRemembered(answer: Resolved, kind: string | null | undefined = answer.optionKind): boolean {
  return isAlways(kind) && (answer.sentOptionId != null || answer.itemId == null);
}

/** Returns the scopes that a role may choose, besides the session. */
export function widerScopes(role: Role): readonly Scope[] {
  return role === "owner" ? ["thread", "agent"] : role === "observer" ? [] : ["thread"];
}

/** A role that may create such an answer may revoke it. */
export function mayRevoke(role: Role, scope: string): boolean {
  return scope === "session" ? role !== "observer" : widerScopes(role).some((one) => one === scope);
}
