// Who allowed or rejected a tool call, for good.

import { useContext } from "preact/hooks";

import { Waiting } from "../content/context.ts";
import { decisionWords } from "./decision.ts";

export function DecisionChip({ itemId }: { itemId: string }) {
  const answer = useContext(Waiting).answers?.get(itemId);
  const said = answer && decisionWords(answer);
  if (!answer || said === undefined) return null;
  return (
    <span class="th-decision" data-outcome={answer.outcome} title={new Date(answer.ts).toLocaleString()}>
      {said}
    </span>
  );
}
