// The plans of the running turn, if it has any. After the turn's end, they are in the conversation.

import { hasContent, idOf } from "../../../state/plans.ts";
import type { ThreadViewProps } from "../../thread-props.ts";
import { PlanView } from "../content/Plan.tsx";

/** Height of a window in which the conversation needs the room, in pixels. */
const LOW = 600;

export function PlanCard({ thread }: ThreadViewProps) {
  const { turnId } = thread.head;
  const turn = turnId == null ? undefined : thread.turns.find(({ id }) => id === turnId);
  const plans = (turn?.plans ?? []).filter(hasContent);
  if (plans.length === 0) return null;
  // One line is enough while a question is open, in a low window, and for each of several plans.
  const open = plans.length === 1 && thread.questions.length === 0 && innerHeight >= LOW;
  return (
    <div class="th-plans">
      {plans.map((plan) => (
        <PlanView key={idOf(plan)} plan={plan} open={open} />
      ))}
    </div>
  );
}
