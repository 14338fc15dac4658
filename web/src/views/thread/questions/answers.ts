// The answers to a permission request: what each does is what its kind says. The agent's own name for it may say the
// opposite, so it is only ever a quotation behind that.

import type { Always, PermissionOption, QuestionAnswered } from "@acpd/client";

import { isAlways } from "../../../state/subjects.ts";
import { visibleLine } from "../../../text/bidi-guard.ts";

const KINDS: Record<string, { meaning: string; decision: string; icon: "check" | "cross" }> = {
  allow_once: { meaning: "Allow once", decision: "accept", icon: "check" },
  allow_always: { meaning: "Always allow", decision: "acceptForSession", icon: "check" },
  reject_once: { meaning: "Reject", decision: "decline", icon: "cross" },
  reject_always: { meaning: "Always reject", decision: "declineForSession", icon: "cross" },
};

/** What an option of this kind does. */
export function meaningOf(kind: string): string {
  return KINDS[kind]?.meaning ?? "Other answer";
}

/** The icon of an option of this kind. */
export function iconOf(kind: string): "check" | "cross" | "info" {
  return KINDS[kind]?.icon ?? "info";
}

/** What an option does, and for what an "always" holds. */
export function effectOf(kind: string, always?: Always | null): string {
  const holds = isAlways(kind) && always != null && "holds" in always ? ` ${visibleLine(always.holds)}` : "";
  return meaningOf(kind) + holds;
}

/** The agent's name for an option, where it says more than the kind. */
export function nameBeside({ kind, name }: PermissionOption): string | undefined {
  const said = name.trim();
  return said === "" || said.toLowerCase() === meaningOf(kind).toLowerCase() ? undefined : said;
}

/** The answer that picks an option, with what the person took it for: the daemon refuses it if the option is another one. */
export function answerWith(option: PermissionOption | undefined): QuestionAnswered {
  if (option === undefined) return { decision: "cancel" };
  const { optionId, kind } = option;
  return { decision: KINDS[kind]?.decision ?? null, optionId, optionKind: kind };
}
