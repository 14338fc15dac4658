// What the user can do about the last turn if it did not end well: send its prompt again, edit it first, or let the agent
// continue.

import type { AcpObject, Turn } from "@acpd/client";
import { useContext, useState } from "preact/hooks";

import { contentText, objects } from "../../../state/acp.ts";
import type { ThreadActions } from "../../../state/actions.ts";
import { promptOf } from "../../../state/prompts.ts";
import type { FoldedTurn } from "../../../state/thread.ts";
import { isUserCommand } from "../../../state/tool-calls.ts";
import { visibleWords } from "../../../text/bidi-guard.ts";
import { editAsNew } from "../composer/edit-message.ts";
import { Waiting } from "../content/context.ts";

/** The prompt with which an agent continues a turn that was broken off. */
const CONTINUE = "Continue";

interface RetryProps {
  turn: FoldedTurn;
  threadId: string;
  actions: Pick<ThreadActions, "send">;
  /** Whether a card below signs in, and sends the prompt again. */
  wantsSignIn?: boolean;
}

export function Retry({ turn, threadId, actions, wantsSignIn = false }: RetryProps) {
  const { lastTurn } = useContext(Waiting);
  const [sending, setSending] = useState(false);
  const [problem, setProblem] = useState<string>();
  const broken = isBroken(turn);
  if (lastTurn !== turn.key || !(broken || isCutShort(turn)) || hasOnlyCommands(turn)) return null;
  const blocks = promptOf(turn);
  const text = contentText(blocks);
  const others = blocks.filter(({ type }) => type !== "text");
  const send = (words: string, more: readonly AcpObject[]) => {
    setSending(true);
    setProblem(undefined);
    actions
      .send(words, more, "queue")
      .catch((why: unknown) => setProblem(why instanceof Error ? why.message : String(why)))
      .finally(() => setSending(false));
  };
  return (
    <div class="th-retry">
      {canContinue(turn) && (
        <button type="button" class="button" disabled={sending} onClick={() => send(CONTINUE, [])}>
          Continue
        </button>
      )}
      {broken && !wantsSignIn && blocks.length > 0 && (
        <button type="button" class="button" disabled={sending} onClick={() => send(text, others)}>
          {turn.startedAt == null ? "Send" : "Try again"}
        </button>
      )}
      {blocks.length > 0 && (
        <button type="button" class="button quiet" onClick={() => editAsNew(threadId, turn)}>
          Edit as a new message
        </button>
      )}
      {problem !== undefined && (
        <span class="error-text" role="alert">
          {problem}
        </span>
      )}
    </div>
  );
}

/** The prompt of a turn that ended before it was sent to the agent. */
export function Unsent({ turn }: { turn: FoldedTurn }) {
  if (turn.startedAt != null) return null;
  const text = contentText(objects(turn.input));
  if (text === "") return null;
  return (
    <div class="th-user th-steering" role="group" aria-label="Message that was not sent">
      <div class="th-user-text" dir="auto">
        {visibleWords(text)}
      </div>
    </div>
  );
}

/** Returns whether a turn has no part of the agent: users ran commands in it. */
function hasOnlyCommands({ items }: FoldedTurn): boolean {
  return items.length > 0 && items.every(isUserCommand);
}

/** Returns whether a turn ended for a reason that is not the agent's or the user's decision. */
function isBroken({ status, error }: Pick<Turn, "status" | "error">): boolean {
  return status === "failed" || (status === "interrupted" && error != null);
}

/** Returns whether the agent refused the prompt, or a limit ended the turn: the same prompt would end the same way. */
function isCutShort({ status, stopReason }: Pick<Turn, "status" | "stopReason">): boolean {
  return status === "refused" || status === "limited" || LIMITS.has(stopReason ?? "");
}

const LIMITS = new Set(["refusal", "max_tokens", "max_turn_requests"]);

/** Returns whether the agent can go on where it was. After a refusal it cannot: it drops the prompt that it refused. */
function canContinue({ status, startedAt, stopReason }: Pick<Turn, "status" | "startedAt" | "stopReason">): boolean {
  if (status === "refused" || stopReason === "refusal") return false;
  return startedAt != null && (status === "interrupted" || status === "limited" || LIMITS.has(stopReason ?? ""));
}
