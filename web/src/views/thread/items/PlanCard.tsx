// The plan of the running turn, if it has one. After the turn's end, the plan is in the conversation.

import type { ThreadState } from "../../../state/thread.ts";
import type { ThreadViewProps } from "../../thread-props.ts";
import { Plan } from "../content/Plan.tsx";

export function PlanCard({ thread }: ThreadViewProps) {
  // One line is enough while a question is open.
  return <Plan entries={runningPlan(thread)} open={thread.questions.length === 0} />;
}

/** Returns the plan of the running turn. A thread that was just opened does not tell which turn has made its plan. */
function runningPlan({ head, turns }: ThreadState) {
  if (head.turnId == null) return [];
  const known = turns.findLast(({ plan }) => plan !== undefined);
  return (known === undefined || known.id === head.turnId ? head.plan : undefined) ?? [];
}
