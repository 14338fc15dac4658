// The answers to a permission request. An option's kind determines its effect. The agent's name for it may claim the
// opposite, so it is only a quotation after the effect.

import type { Always, PermissionOption, QuestionAnswered } from "@acpd/client";

import { isAlways } from "../../../state/subjects.ts";
import { visibleLine } from "../../../text/bidi-guard.ts";

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

/** Returns the effect of an option, with the scope of an "always". */
export function effectOf(kind: string, always?: Always | null): string {
  const holds = isAlways(kind) && always != null && "holds" in always ? ` ${visibleLine(always.holds)}` : "";
  return meaningOf(kind) + holds;
}

/** Returns the agent's name for an option, if it says more than the kind. */
export function nameBeside({ kind, name }: PermissionOption): string | undefined {
  const said = name.trim();
  return said === "" || said.toLowerCase() === meaningOf(kind).toLowerCase() ? undefined : said;
}

/**
 * Returns the answer that chooses an option. It contains the kind that the user saw: the daemon rejects it if the
 * option has a different one.
 */
export function answerWith(option: PermissionOption | undefined): QuestionAnswered {
  if (option === undefined) return { decision: "cancel" };
  const { optionId, kind } = option;
  return { decision: KINDS[kind]?.decision ?? null, optionId, optionKind: kind };
}
