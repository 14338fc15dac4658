/**
 * Folds a thread's events into its state. Comes in: what `thread/resume` answered, older pages, then every event once
 * and in order. Goes out: a new state, which shares with the one before whatever did not change. It is pure: no clock,
 * no network, no page.
 */

import type { Json, Subscriber, Thread, ThreadEvent, ThreadResumed, Turn } from "@acpd/client";

import { foldHead } from "./fold-head.ts";
import { foldItems, named } from "./fold-items.ts";
import { changeTurn } from "./fold-turns.ts";
import type { Decision, FoldedTurn, ThreadState } from "./thread.ts";

/** Decisions and notices that are kept; older ones stand in the log. */
const KEPT = 500;

/** What was handed to the fold does not fit what it has: the thread must be opened anew. */
export class OutOfOrder extends Error {
  override readonly name = "OutOfOrder";
}

/** The state that the daemon's answer stands for. */
export function openThread({ thread, latestSeq }: ThreadResumed): ThreadState {
  const { turns, cursor, ...head } = thread;
  return {
    threadId: thread.id,
    seq: latestSeq,
    head,
    turns: foldPage(turns ?? []),
    older: cursor ?? undefined,
    questions: [],
    decisions: [],
    notices: [],
    steering: [],
    others: [],
  };
}

/** Puts a page of older turns before those that are there. */
export function prependOlder(state: ThreadState, page: Pick<Thread, "turns" | "cursor">): ThreadState {
  const known = new Set(state.turns.flatMap((turn) => turn.items.map((item) => item.itemId)));
  const knownTurns = new Set(state.turns.map((turn) => turn.id));
  const fresh = (page.turns ?? []).filter(
    (turn) =>
      // The page may overlap with what is there if turns were dropped meanwhile.
      !(turn.id != null && knownTurns.has(turn.id)) && !(turn.items ?? []).some((item) => known.has(item.itemId)),
  );
  return { ...state, turns: [...foldPage(fresh), ...state.turns], older: page.cursor ?? undefined };
}

/** What was learnt about the agent elsewhere, if its own word has not come yet. */
export function learn(state: ThreadState, initialize: Json): ThreadState {
  return state.initialize === undefined ? { ...state, initialize } : state;
}

/** Who else follows the thread from now on. */
export function withOthers(state: ThreadState, others: readonly Subscriber[]): ThreadState {
  return { ...state, others };
}

/** What this page has sent for a turn that waits. */
export function remind(state: ThreadState, turnId: string, words: string): ThreadState {
  return changeTurn(state, turnId, (turn) => ({ ...turn, words }));
}

/** Takes an event in. One that is known already changes nothing; a gap is an error. */
export function fold(state: ThreadState, event: ThreadEvent): ThreadState {
  const seq = event.params.seq ?? undefined;
  if (event.params.threadId !== state.threadId) {
    throw new OutOfOrder(`an event of thread ${event.params.threadId} came to ${state.threadId}`);
  }
  if (seq !== undefined) {
    if (seq <= state.seq) {
      // A question that is asked again has its old number: it is open, whatever the page knew.
      return isQuestion(event) ? foldEvent(state, event) : state;
    }
    if (seq !== state.seq + 1) {
      throw new OutOfOrder(`event ${seq} came after ${state.seq}`);
    }
  }
  const next = foldEvent(state, event);
  return seq === undefined ? next : { ...next, seq, head: { ...next.head, latestSeq: seq } };
}

function isQuestion({ method }: ThreadEvent): boolean {
  return method.endsWith("/requestApproval") || method === "item/tool/requestUserInput";
}

function foldEvent(state: ThreadState, event: ThreadEvent): ThreadState {
  const next = foldHead(state, event);
  switch (event.method) {
    case "item/commandExecution/requestApproval":
    case "item/fileChange/requestApproval":
    case "item/permissions/requestApproval":
    case "item/tool/requestUserInput": {
      const { requestId } = event.params;
      if (next.questions.some(({ params }) => params.requestId === requestId)) {
        return next;
      }
      const pendingRequestIds = next.head.pendingRequestIds.includes(requestId)
        ? next.head.pendingRequestIds
        : [...next.head.pendingRequestIds, requestId];
      return {
        ...next,
        questions: [...next.questions, { method: event.method, params: event.params } as ThreadState["questions"][0]],
        head: { ...next.head, pendingRequestIds },
      };
    }
    case "serverRequest/resolved": {
      const { requestId } = event.params;
      const question = next.questions.find(({ params }) => params.requestId === requestId);
      const { head } = next;
      return {
        ...decided(next, { method: event.method, params: event.params, question }),
        questions: question ? next.questions.filter((other) => other !== question) : next.questions,
        head: { ...head, pendingRequestIds: head.pendingRequestIds.filter((id) => id !== requestId) },
      };
    }
    case "thread/updated": {
      const initialize = event.params.agent?.initialize;
      return initialize == null ? next : { ...next, initialize };
    }
    case "policy/permitted":
    case "policy/remembered":
    case "policy/revoked":
      return decided(next, { method: event.method, params: event.params } as Decision);
    case "thread/notice": {
      const lastTurn = next.turns.findLast((turn) => turn.items.length > 0);
      const afterItemId = lastTurn?.items.at(-1)?.itemId;
      return { ...next, notices: [...next.notices, { notice: event.params, afterItemId }].slice(-KEPT) };
    }
    case "turn/steering": {
      const { seq, text, turnId } = event.params;
      return { ...next, steering: [...next.steering, { seq, text, turnId: turnId ?? undefined }] };
    }
    case "turn/queued":
    case "turn/started":
      return changeTurn(next, event.params.turn.id ?? undefined, (turn) => ({ ...turn, ...stripTurn(event.params.turn) }));
    case "turn/completed": {
      const { turn, tokenUsage } = event.params;
      const over = changeTurn(next, turn.id ?? undefined, ({ interrupting, ...old }) => ({
        ...old,
        ...stripTurn(turn),
        ...(tokenUsage ? { tokenUsage } : {}),
      }));
      // Words that were for this turn alone have nobody to hear them any more.
      return { ...over, steering: over.steering.filter((words) => words.turnId !== turn.id) };
    }
    case "turn/interrupting":
      return changeTurn(next, event.params.turnId ?? undefined, (turn) => ({ ...turn, interrupting: true }));
    case "turn/diff/updated":
      return changeTurn(next, event.params.turnId ?? undefined, (turn) => ({ ...turn, diff: event.params.diff }));
    case "thread/rolledBack":
      return rolledBack(next, event.params.lastKeptTurnId ?? undefined);
    case "thread/deleted":
      return { ...next, deleted: true };
    default:
      return foldItems(next, event);
  }
}

function decided(state: ThreadState, decision: Decision): ThreadState {
  return { ...state, decisions: [...state.decisions, decision].slice(-KEPT) };
}

/** Turns after `lastKept` are gone; what stood outside of turns between them is, too. */
function rolledBack(state: ThreadState, lastKept: string | undefined): ThreadState {
  if (lastKept === undefined) {
    return { ...state, turns: [], older: undefined };
  }
  const at = state.turns.findIndex((turn) => turn.id === lastKept);
  // The last kept turn is older than what was loaded: all of this is gone, and `older` leads there.
  return { ...state, turns: at < 0 ? [] : state.turns.slice(0, at + 1) };
}

function foldPage(turns: readonly Turn[]): FoldedTurn[] {
  return turns.map((turn) => {
    const items = (turn.items ?? []).map(named);
    return { ...stripTurn(turn), key: turn.id ?? `outside-${items[0]?.itemId ?? "nothing"}`, items };
  });
}

/** Without its items, and without what says nothing, so that an event does not wipe out what is known. */
function stripTurn({ items: _, ...turn }: Turn): Omit<Turn, "items"> {
  return Object.fromEntries(Object.entries(turn).filter(([, value]) => value != null)) as unknown as Omit<Turn, "items">;
}
