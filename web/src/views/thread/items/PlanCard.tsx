// The thread's plan, where it has one.

import type { ThreadViewProps } from "../../thread-props.ts";
import { Plan } from "../content/Plan.tsx";

export function PlanCard({ thread }: ThreadViewProps) {
  // While nothing goes on, or something else is asked of the person, a line of it is enough.
  const open = thread.head.turnId != null && thread.questions.length === 0;
  return <Plan entries={thread.head.plan ?? []} open={open} />;
}
