// The thread's plan, if it has one.

import type { ThreadViewProps } from "../../thread-props.ts";
import { Plan } from "../content/Plan.tsx";

export function PlanCard({ thread }: ThreadViewProps) {
  // One line is enough while no turn runs, or while a question is open.
  const open = thread.head.turnId != null && thread.questions.length === 0;
  return <Plan entries={thread.head.plan ?? []} open={open} />;
}
