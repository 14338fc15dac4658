/** Folds events about the thread as a whole: name, status, plans, mode, options, commands, tokens. */

import type { AcpObject, ThreadEvent, ThreadUpdated } from "@acpd/client";

import { withoutPlan, withoutPlans, withPlan } from "./plans.ts";
import type { ThreadHead, ThreadState } from "./thread.ts";
import { withCost } from "./usage.ts";

const NOTHING = { inputTokens: 0, outputTokens: 0, totalTokens: 0 };

export function foldHead(state: ThreadState, event: ThreadEvent): ThreadState {
  const head = change(state.head, event);
  return head === state.head ? state : { ...state, head };
}

function change(head: ThreadHead, event: ThreadEvent): ThreadHead {
  switch (event.method) {
    case "thread/started": {
      return { ...head, ...event.params.thread };
    }
    case "thread/status/changed":
      return { ...head, status: event.params.status };
    case "item/userMessage":
      // A thread without a name gets its first prompt as a name, as in the daemon's list.
      return head.name == null && head.turnCount <= 1 && event.params.lane == null ? { ...head, name: nameFrom(event.params.text) } : head;
    case "thread/archived":
      return { ...head, archived: true };
    case "thread/unarchived":
      return { ...head, archived: false };
    case "thread/deleted":
      return { ...head, status: "deleting" };
    case "thread/tokenUsage/updated": {
      const { used, size, cost, threadCost } = event.params;
      const old = head.tokenUsage;
      return {
        ...head,
        tokenUsage: { used: used ?? old?.used, size: size ?? old?.size, cost: cost ?? old?.cost },
        ...(threadCost != null && { spent: { ...NOTHING, ...head.spent, costs: [...withCost(head.spent?.costs ?? [], threadCost)] } }),
      };
    }
    // A subagent's plan is not the thread's.
    case "turn/plan/updated":
      return event.params.lane == null ? withPlan(head, event.params) : head;
    case "turn/plan/removed":
      return event.params.lane == null ? withoutPlan(head, event.params.planId) : head;
    case "turn/queued": {
      const id = event.params.turn.id ?? event.params.turnId;
      return id && !head.queuedTurnIds.includes(id)
        ? { ...head, queuedTurnIds: [...head.queuedTurnIds, id], turnCount: head.turnCount + 1 }
        : head;
    }
    case "turn/queue/changed":
      return { ...head, queuedTurnIds: event.params.queuedTurnIds, queuePaused: event.params.paused };
    case "turn/started": {
      const id = event.params.turn.id;
      return {
        ...head,
        turnId: id,
        updatedAt: event.params.ts,
        turnCount: id && head.queuedTurnIds.includes(id) ? head.turnCount : head.turnCount + 1,
        ...withoutQueued(head, id),
      };
    }
    case "turn/completed": {
      const { id } = event.params.turn;
      return {
        ...head,
        updatedAt: event.params.ts,
        turnId: head.turnId === id ? undefined : head.turnId,
        ...withoutQueued(head, id),
      };
    }
    case "thread/rolledBack":
      return withoutPlans({ ...head, tokenUsage: undefined, sessionId: undefined });
    case "thread/updated":
      return updated(head, event.params);
    default:
      return head;
  }
}

/** Removes a turn from the queue. An empty queue is not paused. */
function withoutQueued({ queuedTurnIds: all, queuePaused }: ThreadHead, id: string | null | undefined) {
  const queuedTurnIds = all.filter((queued) => queued !== id);
  return { queuedTurnIds, queuePaused: queuedTurnIds.length > 0 && queuePaused === true };
}

function updated(head: ThreadHead, params: ThreadUpdated): ThreadHead {
  const next: { -readonly [K in keyof ThreadHead]: ThreadHead[K] } = { ...head };
  const { agent, availableCommandsUpdate, configOptionUpdate, modeId } = params;
  if ("name" in params) {
    next.name = params.name;
  }
  if ("metadata" in params) {
    next.metadata = params.metadata;
  }
  if (params.pinned != null) {
    next.pinned = params.pinned;
  }
  if (params.directories) {
    next.cwd = params.directories.cwd;
    next.additionalDirectories = params.directories.additionalDirectories;
  }
  if ("policy" in params) {
    next.policy = params.policy;
  }
  if (availableCommandsUpdate) {
    next.availableCommandsUpdate = availableCommandsUpdate;
  }
  if (Array.isArray(configOptionUpdate?.configOptions)) {
    next.configOptions = withOwn(head, configOptionUpdate.configOptions as AcpObject[]);
  }
  if (agent) {
    const session = (agent.session ?? {}) as { modes?: AcpObject | null; configOptions?: AcpObject[] | null };
    next.sessionId = agent.sessionId;
    if (session.modes) {
      next.modes = session.modes;
      next.modeId = typeof session.modes.currentModeId === "string" ? session.modes.currentModeId : head.modeId;
    }
    if (session.configOptions) {
      next.configOptions = withOwn(head, session.configOptions);
    }
  }
  if (modeId != null) {
    next.modeId = modeId;
  }
  if (next.modeId !== head.modeId) {
    // A new session may begin in another mode.
    next.configOptions = next.configOptions?.map((option) =>
      option.id === OWN_MODE ? { ...option, currentValue: next.modeId } : option,
    );
  }
  if (params.modelId != null) {
    next.configOptions = next.configOptions?.map((option) =>
      option.id === OWN_MODEL ? { ...option, currentValue: params.modelId } : option,
    );
  }
  return next;
}

/** Maximum length of a name from a prompt, in characters. */
const NAME_LETTERS = 80;
/** Beginnings of prompts that say nothing about the thread. */
const EMPTY_WORDS = /^(?:please|please,|can you|could you|would you|hi,|hi!|hello,|hey,) /i;

/** Returns the name of a thread from its first prompt, as the daemon forms it. */
export function nameFrom(prompt: string): string | undefined {
  let line = prompt.split("\n").map((part) => part.trim()).find((part) => part !== "");
  for (let said = line === undefined ? null : EMPTY_WORDS.exec(line); said !== null; said = EMPTY_WORDS.exec(line!)) {
    line = line!.slice(said[0].length).trimStart();
  }
  const letters = line === undefined ? [] : [...line];
  if (letters.length <= NAME_LETTERS) {
    return line;
  }
  // It ends after a word, unless that word is very long.
  const begin = letters.slice(0, NAME_LETTERS - 1);
  const word = letters[NAME_LETTERS - 1] === " " ? -1 : begin.lastIndexOf(" ");
  return `${begin.slice(0, word >= NAME_LETTERS / 2 ? word : undefined).join("").replace(/[\s,;:-]+$/, "")}…`;
}

/** Options that the daemon adds for agents with modes or models instead. */
const OWN_MODE = "acpd.mode";
const OWN_MODEL = "acpd.model";

/** Returns the agent's options, and the daemon's existing ones unless the agent's replace them. */
function withOwn(head: ThreadHead, options: readonly AcpObject[]): AcpObject[] {
  const own = (head.configOptions ?? []).filter(
    ({ id, category }) => (id === OWN_MODE || id === OWN_MODEL) && !options.some((other) => other.category === category),
  );
  return [...options, ...own];
}
