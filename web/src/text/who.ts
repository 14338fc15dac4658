// Words for the author of an action.

import type { By } from "@acpd/client";

import { visibleLine } from "./bidi-guard.ts";

/** Describes the author of an action. */
export function who(by: By): string {
  switch (by.kind) {
    case "agent":
      return "the agent";
    case "daemon":
      return "acpd";
    case "policy":
      return by.rule != null
        ? `the policy, by the rule ${visibleLine(by.rule)}`
        : by.reason != null
          ? `the policy: ${visibleLine(by.reason)}`
          : "the policy";
    case "client":
      return `${visibleLine(by.principal)} (${visibleLine(by.client)})`;
    default:
      return "someone";
  }
}
