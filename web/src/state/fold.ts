/**
 * Folds a thread's events into its state. In: the response to `thread/resume`, older pages, then every event once and
 * in order. Out: a new state, which shares all unchanged parts with the previous one. Pure: no clock, no network, no
 * page.
 */

import type { Json, Subscriber, Thread, ThreadEvent, ThreadResumed, Turn } from "@acpd/client";

import { contentText, objects, suggestedText } from "./acp.ts";
import { foldHead, nameFrom } from "./fold-head.ts";
import { foldItems, named } from "./fold-items.ts";
import { byPrompt, changeTurn, inOrder } from "./fold-turns.ts";
import { foldLanes } from "./lanes.ts";
import { addAnswer, addNotice, notesOf, prependNotes, withoutDropped } from "./notes.ts";
import { plansOf, withoutPlan, withPlan } from "./plans.ts";
import type { Decision, FoldedTurn, ThreadState } from "./thread.ts";

/** Maximum number of decisions in the state; the log contains older ones. */
const KEPT = 500;

/** Maximum number of follow-ups that the agent has not received, as in the daemon. */
const STEERS = 64;

/** The input does not fit the state: the thread must be loaded again. */
export class OutOfOrder extends Error {
  override readonly name = "OutOfOrder";
}

/** Returns the initial state from the daemon's response. */
export function openThread({ thread, latestSeq }: ThreadResumed): ThreadState {
  const { turns, cursor, lastTurnStatus: _, lastTurnCutOff: __, interrupting, steering, plan, plans, ...head } = thread;
  const state: ThreadState = {
    threadId: thread.id,
    seq: latestSeq,
    head: { ...head, ...plansOf({ plan, plans }) },
    turns: inOrder(foldPage(turns ?? [])),
    older: cursor ?? undefined,
    questions: [],
    decisions: [],
    ...notesOf(turns ?? []),
    steering: (steering ?? []).map(({ seq, turnId, text }) => ({ seq, turnId: turnId ?? undefined, text })),
    lanes: {},
    others: [],
  };
  return interrupting ? changeTurn(state, head.turnId ?? undefined, (turn) => ({ ...turn, interrupting: true })) : state;
}

/** Adds a page of older turns before the loaded ones. The page must fit the state: see `OlderTurns`. */
export function prependOlder(state: ThreadState, page: Pick<Thread, "turns" | "cursor">): ThreadState {
  const known = new Set(state.turns.flatMap((turn) => turn.items.map((item) => item.itemId)));
  const loaded = new Map(state.turns.map((turn) => [turn.id, turn]));
  // The page overlaps with the loaded turns if a turn is too large for one page, if its events arrived before the page,
  // or if turns were dropped meanwhile.
  const older = foldPage(page.turns ?? []).map((turn) => {
    const items = turn.items.filter((item) => !known.has(item.itemId));
    const part = loaded.get(turn.id);
    return part ? { ...turn, ...part, items: [...items, ...part.items] } : { ...turn, items };
  });
  const paged = new Set(older.map(({ id }) => id));
  const turns = state.turns.filter(({ id }) => !paged.has(id));
  return {
    ...state,
    turns: inOrder([...older, ...turns]),
    older: page.cursor ?? undefined,
    ...prependNotes(state, notesOf(page.turns ?? [])),
  };
}

/** Adds the agent's `initialize` response from the log, unless an event has already provided it. */
export function learn(state: ThreadState, initialize: Json): ThreadState {
  return state.initialize === undefined ? { ...state, initialize } : state;
}

/** Sets the other subscribers of the thread. */
export function withOthers(state: ThreadState, others: readonly Subscriber[]): ThreadState {
  return { ...state, others };
}

/** Folds one event. A known event changes nothing; a gap throws an error. */
export function fold(state: ThreadState, event: ThreadEvent): ThreadState {
  const seq = event.params.seq ?? undefined;
  if (event.params.threadId !== state.threadId) {
    throw new OutOfOrder(`an event of thread ${event.params.threadId} came to ${state.threadId}`);
  }
  if (seq !== undefined) {
    if (seq <= state.seq) {
      // A repeated question has its old number: it is open, even if the page has seen its event.
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
  const next = withLanesOf(foldHead(state, event), event, state.head.sessionId);
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
      return waiting({
        ...next,
        questions: [...next.questions, { method: event.method, params: event.params } as ThreadState["questions"][0]],
        head: { ...next.head, pendingRequestIds },
      }, event.params.ts);
    }
    case "serverRequest/resolved": {
      const { requestId } = event.params;
      const question = next.questions.find(({ params }) => params.requestId === requestId);
      const { head } = next;
      const answered = {
        ...decided(addAnswer(next, event.params), { method: event.method, params: event.params, question }),
        questions: question ? next.questions.filter((other) => other !== question) : next.questions,
        head: { ...head, pendingRequestIds: head.pendingRequestIds.filter((id) => id !== requestId) },
      };
      return answered.head.pendingRequestIds.length === 0 ? notWaiting(answered, event.params.ts) : answered;
    }
    case "thread/updated": {
      const initialize = event.params.agent?.initialize;
      return initialize == null ? next : { ...next, initialize };
    }
    case "policy/permitted": {
      const { turnId } = event.params;
      const counted =
        turnId == null ? next : changeTurn(next, turnId, (turn) => ({ ...turn, permitted: (turn.permitted ?? 0) + 1 }));
      return decided(counted, { method: event.method, params: event.params });
    }
    case "policy/remembered":
    case "policy/revoked":
      return decided(next, { method: event.method, params: event.params } as Decision);
    case "thread/notice":
      return addNotice(next, event.params);
    case "turn/steering": {
      const { seq, text, turnId } = event.params;
      return { ...next, steering: [...next.steering, { seq, text, turnId: turnId ?? undefined }].slice(-STEERS) };
    }
    case "turn/queued": {
      const { turn } = event.params;
      const text = contentText(objects(turn.input));
      // A follow-up that the agent did not accept.
      const at = next.steering.findIndex((words) => words.text === text);
      const queued = at < 0 ? next : { ...next, steering: next.steering.toSpliced(at, 1) };
      return changeTurn(queued, turn.id ?? undefined, (old) => ({ ...old, ...stripTurn(turn) }));
    }
    case "thread/suggestions/updated":
      return { ...next, suggestions: event.params.suggestions.map(({ prompt }) => suggestedText(prompt)) };
    case "item/userMessage":
      // What was suggested was about this prompt. A turn without a prompt leaves it as it is, and so do messages to subagents.
      return foldItems(event.params.lane == null ? withoutSuggestions(next) : next, event);
    case "turn/started":
      // From now on, the prompt is a message of the turn.
      return sorted(
        changeTurn(next, event.params.turn.id ?? undefined, ({ input: _, ...turn }) => ({
          ...turn,
          ...stripTurn(event.params.turn),
        })),
      );
    case "turn/completed": {
      const { turn, tokenUsage } = event.params;
      const over = changeTurn(next, turn.id ?? undefined, ({ interrupting, waitingSince: _, ...old }) => ({
        ...old,
        ...stripTurn(turn),
        ...(tokenUsage ? { tokenUsage } : {}),
      }));
      // Follow-ups for this turn only can no longer be delivered.
      return { ...sorted(over), steering: over.steering.filter((words) => words.turnId !== turn.id) };
    }
    case "turn/interrupting":
      return changeTurn(next, event.params.turnId ?? undefined, (turn) => ({ ...turn, interrupting: true }));
    case "turn/plan/updated": {
      const { turnId, lane } = event.params;
      // Agents may send a plan after the end of a turn. The turn keeps the plan that it had. A subagent's plan is not the turn's.
      return turnId == null || lane != null ? next : changeTurn(next, turnId, (turn) => withPlan(turn, event.params));
    }
    case "turn/plan/removed": {
      const { turnId, planId, lane } = event.params;
      return turnId == null || lane != null ? next : changeTurn(next, turnId, (turn) => withoutPlan(turn, planId));
    }
    case "thread/rolledBack":
      return rolledBack(next, event.params.lastKeptTurnId ?? undefined);
    case "thread/deleted":
      return { ...next, deleted: true };
    default:
      return foldItems(next, event);
  }
}

function withLanesOf(state: ThreadState, event: ThreadEvent, sessionId: string | null | undefined): ThreadState {
  const lanes = foldLanes(state.lanes, event, sessionId);
  return lanes === state.lanes ? state : { ...state, lanes };
}

/** Drops what the agent suggests. */
export function withoutSuggestions(state: ThreadState): ThreadState {
  const { suggestions, ...rest } = state;
  return suggestions === undefined ? state : rest;
}

/** The running turn waits for the user as long as a question is open, whichever it is. */
function waiting(state: ThreadState, since: number): ThreadState {
  return changeRunning(state, (turn) => (turn.waitingSince == null ? { ...turn, waitingSince: since } : turn));
}

function notWaiting(state: ThreadState, now: number): ThreadState {
  return changeRunning(state, (turn) => {
    const { waitingSince, ...rest } = turn;
    // Clocks can be set back.
    // As in a loaded turn, none is no member.
    const waited = waitingSince == null ? 0 : Math.max(0, now - waitingSince);
    return waitingSince == null ? turn : waited === 0 ? rest : { ...rest, waitedMs: (rest.waitedMs ?? 0) + waited };
  });
}

function changeRunning(state: ThreadState, change: (turn: FoldedTurn) => FoldedTurn): ThreadState {
  const { turnId } = state.head;
  return turnId != null && state.turns.some(({ id }) => id === turnId) ? changeTurn(state, turnId, change) : state;
}

function sorted(state: ThreadState): ThreadState {
  const turns = inOrder(state.turns);
  return turns === state.turns ? state : { ...state, turns };
}

function decided(state: ThreadState, decision: Decision): ThreadState {
  return { ...state, decisions: [...state.decisions, decision].slice(-KEPT) };
}

/** Removes the turns whose prompts came after that of `lastKept`. What happened before the first turn stays. */
function rolledBack(state: ThreadState, lastKept: string | undefined): ThreadState {
  const { head } = state;
  if (lastKept === undefined) {
    const prompts = state.turns.flatMap(({ items }) => items.flatMap((item) => (item.type === "userMessage" && item.lane == null ? [item.text] : [])));
    // A name that came from the first prompt is gone with it.
    const name = prompts.some((text) => nameFrom(text ?? "") === head.name) ? undefined : head.name;
    const turns = state.turns.filter(({ id }) => id == null);
    return {
      ...state,
      ...withoutDropped(state, turns),
      turns,
      older: undefined,
      lastKept,
      steering: [],
      head: { ...head, name, turnCount: 0 },
    };
  }
  // If the last kept turn is older than the loaded ones, all of these are gone, and `older` leads to it.
  const turns = state.turns.filter(({ id }) => byPrompt(id, lastKept) <= 0);
  const dropped = new Set(state.turns.flatMap(({ id }) => (byPrompt(id, lastKept) > 0 ? (id ?? []) : [])));
  return {
    ...state,
    ...withoutDropped(state, turns),
    turns,
    lastKept,
    steering: [],
    head: { ...head, turnCount: head.turnCount - dropped.size },
  };
}

function foldPage(turns: readonly Turn[]): FoldedTurn[] {
  return turns.map((turn) => {
    const items = (turn.items ?? []).map(named);
    const whole = { ...stripTurn(turn), key: turn.id ?? `outside-${items[0]?.itemId ?? "nothing"}`, items };
    // Items before the first turn wait for nothing.
    return turn.id == null ? { ...whole, status: "completed" } : whole;
  });
}

/** Returns a turn without its items and empty members, so that an event does not erase known values. */
function stripTurn({ items: _, notices: __, answers: ___, plan, plans, ...turn }: Turn): Omit<FoldedTurn, "items" | "key"> {
  const known = Object.entries(turn).filter(([, value]) => value != null);
  return { ...Object.fromEntries(known), ...plansOf({ plan, plans }) } as unknown as Omit<FoldedTurn, "items" | "key">;
}
