// Who allowed or rejected a tool call, for good.

import type { By, Resolved } from "@acpd/client";
import { useContext } from "preact/hooks";

import { visibleLine } from "../../../text/bidi-guard.ts";
import { clock } from "../../../text/format.ts";
import { Waiting } from "../content/context.ts";

const SAID: Partial<Record<Resolved["outcome"], string>> = { accepted: "Allowed", declined: "Rejected", cancelled: "Cancelled" };

export function DecisionChip({ itemId }: { itemId: string }) {
  const answer = useContext(Waiting).answers?.get(itemId);
  const said = answer && SAID[answer.outcome];
  if (!answer || said === undefined) return null;
  return (
    <span class="th-decision" data-outcome={answer.outcome} title={new Date(answer.ts).toLocaleString()}>
      {said} {by(answer.by)}, {clock(answer.ts)}
    </span>
  );
}

function by(who: By): string {
  switch (who.kind) {
    case "client":
      return `by ${visibleLine(who.principal)} (${visibleLine(who.client)})`;
    case "policy":
      return "by the policy";
    case "agent":
      return "by the agent";
    default:
      return "by acpd";
  }
}
