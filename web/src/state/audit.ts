/** The audit trail of a thread, from its events: each decision with its author, time and rule. Pure. */

import type { ThreadEvent } from "@acpd/client";

import { grounds, who } from "../text/who.ts";
import { heldFor, isRemembered } from "./scopes.ts";
import { inOneLine } from "./subjects.ts";

export interface AuditEntry {
  readonly seq: number;
  readonly ts: number;
  readonly effect: "allow" | "deny" | "void" | "note";
  /** The subject of the decision. */
  readonly subject: string;
  /** The author of the decision. */
  readonly who: string;
  /** The rule, or another reason. */
  readonly why?: string;
}

/** Returns a function that takes events in order, and returns the audit entry of each, if it is one. */
export function auditor(): (event: ThreadEvent) => AuditEntry | undefined {
  const titles = new Map<string, string>();
  let remembered: { seq: number; held: string | undefined } | undefined;
  return (event) => {
    switch (event.method) {
      case "item/commandExecution/requestApproval":
      case "item/fileChange/requestApproval":
      case "item/permissions/requestApproval":
        titles.set(event.params.requestId, inOneLine(event.params));
        return undefined;
      case "item/tool/requestUserInput":
        titles.set(event.params.requestId, event.params.title);
        return undefined;
      case "serverRequest/resolved": {
        const { seq, ts, requestId, outcome, by, reason } = event.params;
        const effects = { accepted: "allow", declined: "deny", cancelled: "void", void: "void" } as const;
        // An answer for every thread of the agent is stored after its question is settled.
        const held = (remembered?.seq === seq - 1 ? remembered.held : undefined) ?? (isRemembered(event.params) ? "remembered" : undefined);
        return {
          seq,
          ts,
          effect: effects[outcome],
          subject: titles.get(requestId) ?? "a question",
          who: who(by),
          why: grounds(by) ?? reason ?? held,
        };
      }
      case "policy/permitted": {
        const { seq, ts, subject, by, method } = event.params;
        return { seq, ts, effect: "allow", subject, who: who(by), why: grounds(by) ?? method };
      }
      case "thread/notice": {
        const { seq, ts, by, message } = event.params;
        // A notice with an author is a refusal.
        return by ? { seq, ts, effect: "deny", subject: message, who: who(by), why: grounds(by) } : undefined;
      }
      case "policy/remembered":
        remembered = { seq: event.params.seq, held: heldFor(event.params.answer) };
        return {
          ...place(event.params),
          effect: "note",
          subject: `Remembered${remembered.held === undefined ? "" : ` ${remembered.held}`}: ${words(event.params.answer)}`,
          who: "",
        };
      case "policy/revoked":
        return { ...place(event.params), effect: "note", subject: "A remembered answer was revoked", who: "" };
      case "thread/updated": {
        const { directories, by } = event.params;
        if (directories) {
          const all = [directories.cwd, ...directories.additionalDirectories];
          return { ...place(event.params), effect: "note", subject: `The thread works in ${all.join(", ")}`, who: by ? who(by) : "" };
        }
        return "policy" in event.params
          ? { ...place(event.params), effect: "note", subject: `The thread’s policy: ${words(event.params.policy)}`, who: "" }
          : undefined;
      }
      case "turn/interrupting":
        return { ...place(event.params), effect: "note", subject: "The turn was stopped", who: who(event.params.by) };
      default:
        return undefined;
    }
  };
}

function place({ seq, ts }: { seq: number; ts: number }): { seq: number; ts: number } {
  return { seq, ts };
}

function words(value: unknown): string {
  if (value == null) {
    return "none of its own";
  }
  const rule = (value as { rule?: unknown }).rule;
  return typeof value === "string" ? value : typeof rule === "string" ? rule : JSON.stringify(value);
}
