// Who allowed or rejected a tool call, for good.

import type { Resolved } from "@acpd/client";
import { useContext } from "preact/hooks";

import { dateAndTime } from "../../../text/format.ts";
import { Waiting } from "../content/context.ts";
import { decisionWords } from "./decision.ts";

/** Shows the answer about the call, else `answer`, which acpd itself asked for. */
export function DecisionChip({ itemId, answer: own }: { itemId: string; answer?: Resolved | undefined }) {
  const answer = useContext(Waiting).answers?.get(itemId) ?? own;
  const said = answer && decisionWords(answer);
  if (!answer || said === undefined) return null;
  return (
    <span class="th-decision" data-outcome={answer.outcome} title={dateAndTime(answer.ts)}>
      {said}
    </span>
  );
}
