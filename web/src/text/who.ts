// Words for the author of an action.

import type { By } from "@acpd/client";

import { visibleLine } from "./bidi-guard.ts";

/** Programs that have a better name than their own. */
const PROGRAMS: Readonly<Record<string, string>> = { "acpd-web": "web", "acpd-cli": "command line" };

/** The principal of the owner, who may use many devices. Tokens for a device have names of their own. */
const OWNER = "owner";

/** Describes the author of an action: "owner (web)", "phone", "rule Bash(git *)". */
export function who(by: By): string {
  switch (by.kind) {
    case "agent":
      return "the agent";
    case "daemon":
      return "acpd";
    case "policy":
      return by.rule != null ? `rule ${visibleLine(by.rule)}` : policyOf(by.scope);
    case "client": {
      const principal = visibleLine(by.principal);
      const isNamed = by.principal !== OWNER && by.client === "acpd-web";
      return isNamed ? principal : `${principal} (${PROGRAMS[by.client] ?? visibleLine(by.client)})`;
    }
    default:
      return "someone";
  }
}

/** Returns the grounds of a policy: where its rule is written, else its reason. */
export function grounds(by: By): string | undefined {
  if (by.kind !== "policy") return undefined;
  return by.rule != null && by.scope != null ? policyOf(by.scope) : (by.reason ?? undefined);
}

function policyOf(scope: string | null | undefined): string {
  return scope == null ? "the policy" : `the ${visibleLine(scope)}’s policy`;
}
