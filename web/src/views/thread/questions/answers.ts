// The answers to a permission request. An option's kind determines its effect. The agent's name for it may claim the
// opposite, so it is only a quotation after the effect.

import type { Always, PermissionOption, QuestionAnswered, Scope } from "@acpd/client";

import { scopeWords } from "../../../state/scopes.ts";
import { isAlways } from "../../../state/subjects.ts";
import { shownEffect } from "../../../text/format.ts";

const KINDS: Record<string, { meaning: string; decision: string; icon: "check" | "cross" }> = {
  allow_once: { meaning: "Allow once", decision: "accept", icon: "check" },
  allow_always: { meaning: "Always allow", decision: "acceptForSession", icon: "check" },
  reject_once: { meaning: "Reject", decision: "decline", icon: "cross" },
  reject_always: { meaning: "Always reject", decision: "declineForSession", icon: "cross" },
};

/** Returns the effect of an option of this kind. */
export function meaningOf(kind: string): string {
  return KINDS[kind]?.meaning ?? "Other answer";
}

/** Returns the icon of an option of this kind. */
export function iconOf(kind: string): "check" | "cross" | "info" {
  return KINDS[kind]?.icon ?? "info";
}

/** Returns the effect of an option; for an "always" that acpd remembers, with what it covers and for how long. */
export function effectOf(kind: string, always?: Always | null, cwd = ""): string {
  if (!isAlways(kind) || always == null || !("holds" in always)) return meaningOf(kind);
  return `${kind === "allow_always" ? "Allow" : "Reject"} ${shownEffect(always.holds, cwd)} ${scopeWords("session")}`;
}

/** Other names that say no more than the kind. */
const SAME: Record<string, readonly string[]> = {
  allow_once: ["allow"],
  allow_always: ["allow always"],
  reject_once: ["reject once"],
  reject_always: ["reject always"],
};

/** Returns the agent's name for an option, if it says more than the kind, or something else. */
export function nameBeside({ kind, name }: PermissionOption): string | undefined {
  const said = name.trim();
  const same = [meaningOf(kind).toLowerCase(), ...((Object.hasOwn(SAME, kind) && SAME[kind]) || [])];
  return said === "" || same.includes(said.toLowerCase()) ? undefined : said;
}

/**
 * Returns the answer that chooses an option. It contains the kind that the user saw: the daemon rejects it if the
 * option has a different one. Without a scope, an "always" is remembered for the session.
 */
export function answerWith(option: PermissionOption | undefined, scope?: Scope): QuestionAnswered {
  if (option === undefined) return { decision: "cancel" };
  const { optionId, kind } = option;
  return { decision: KINDS[kind]?.decision ?? null, optionId, optionKind: kind, ...(scope && { scope }) };
}
