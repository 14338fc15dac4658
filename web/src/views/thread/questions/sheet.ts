// Questions in a narrow or low window: one at a time, in a sheet that covers the conversation until the user folds it. A reader
// of a shared thread cannot answer, so a sheet opens only on request.

import { cramped, foldedQuestion } from "../../../app/layout.ts";
import { shared } from "../../../connection/connection.ts";
import type { Question } from "../../../state/thread.ts";

/** Returns how open questions are shown. Views that call it follow changes. */
export function layoutOf(questions: readonly Question[]): "none" | "cards" | "sheet" | "folded" {
  const first = questions[0]?.params.requestId;
  if (first === undefined) return "none";
  if (!cramped.value) return "cards";
  return (foldedQuestion.value === first) === mayAnswer() ? "folded" : "sheet";
}

/** Opens or folds the sheet of a question. */
export function showSheet(requestId: string, shown: boolean): void {
  foldedQuestion.value = shown === mayAnswer() ? undefined : requestId;
}

function mayAnswer(): boolean {
  return shared.value === undefined;
}
