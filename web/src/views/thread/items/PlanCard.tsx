// The plan of the running turn, if it has one. After the turn's end, the plan is in the conversation.

import type { ThreadViewProps } from "../../thread-props.ts";
import { Plan } from "../content/Plan.tsx";

/** Height of a window in which the conversation needs the room, in pixels. */
const LOW = 600;

export function PlanCard({ thread }: ThreadViewProps) {
  const { turnId } = thread.head;
  const turn = turnId == null ? undefined : thread.turns.find(({ id }) => id === turnId);
  // One line is enough while a question is open, and in a low window.
  return <Plan entries={turn?.plan ?? []} open={thread.questions.length === 0 && innerHeight >= LOW} />;
}
