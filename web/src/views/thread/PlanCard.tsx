// The thread's plan, where it has one.

import type { ThreadViewProps } from "../thread-props.ts";
import { Plan } from "./Plan.tsx";

export function PlanCard({ thread }: ThreadViewProps) {
  return <Plan entries={thread.head.plan ?? []} />;
}
