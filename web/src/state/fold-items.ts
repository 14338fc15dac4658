/** Folds events about items: messages, thoughts, tool calls, file changes, commands. */

import type { AcpObject, Item, ItemOutcome, Message, ThreadEvent, ToolCall, ToolStatus } from "@acpd/client";

import { changeTurn } from "./fold-turns.ts";
import type { ThreadState } from "./thread.ts";

/** Maximum length of a command's kept output, in UTF-16 units; the start is dropped. */
export const OUTPUT_CHARS = 256 * 1024;

type Output = Extract<ThreadEvent, { method: "item/terminalCommand/output" }>["params"];

/** Folds one event; returns the state unchanged if the event concerns no item. */
export function foldItems(state: ThreadState, event: ThreadEvent): ThreadState {
  switch (event.method) {
    case "item/started":
    case "item/toolCall/started":
    case "item/fileChange/started":
    case "item/terminalCommand/started":
      return begin(state, event.params.turnId, withoutUpdateName(stripEnvelope(event.params) as unknown as Item), event.params.ts);
    case "item/userMessage": {
      const { itemId, turnId, lane, text, content } = event.params;
      if (lane != null) {
        // Messages to a subagent arrive in pieces, as its own do.
        const [block] = content;
        return change(state, turnId, itemId, (item) => withDelta(item, text, block?.type === "text" ? undefined : block));
      }
      const said = change(state, turnId, itemId, (item) => ({ ...item, text, content }) as Item);
      // A queued follow-up has reached the running turn.
      const at = said.steering.findIndex((words) => words.turnId === (turnId ?? undefined) && words.text === text);
      return at < 0 ? said : { ...said, steering: said.steering.toSpliced(at, 1) };
    }
    case "item/agentMessage/delta":
    case "item/agentThought/delta": {
      const { itemId, turnId, text, content } = event.params;
      return change(state, turnId, itemId, (item) => withDelta(item, text, content ?? undefined));
    }
    case "item/updated": {
      const { itemId, turnId, toolCall, status } = event.params;
      return change(state, turnId, itemId, (item) =>
        item.type === "toolCall" ? withUpdate(item, toolCall ?? undefined, status) : item,
      );
    }
    case "item/terminalCommand/output": {
      return change(state, event.params.turnId, event.params.itemId, (item) => withOutput(item, event.params));
    }
    case "thread/terminal/waiting":
    case "thread/terminal/input": {
      const { itemId, turnId } = event.params;
      const secret = event.method === "thread/terminal/waiting" ? event.params.secret : undefined;
      return itemId == null ? state : change(state, turnId, itemId, (item) => withWaiting(item, secret));
    }
    case "item/completed":
    case "item/toolCall/completed":
    case "item/fileChange/completed":
    case "item/terminalCommand/completed": {
      const { itemId, turnId } = event.params;
      const whole = stripEnvelope(event.params) as unknown as Item & { outcome: ItemOutcome };
      return change(state, turnId, itemId, (item) => ({ ...withWaiting(item, undefined), ...whole }) as Item);
    }
    default:
      return state;
  }
}

function begin(state: ThreadState, turnId: string | null | undefined, item: Item, ts: number): ThreadState {
  // The rest of a message belongs to its turn, which may be on an older page.
  if (turnId != null && state.older !== undefined && state.turns.every(({ id }) => id !== turnId)) {
    return state;
  }
  return changeTurn(state, turnId ?? undefined, (turn) =>
    turn.items.some(({ itemId }) => itemId === item.itemId)
      ? turn
      : { ...turn, items: [...turn.items, isMessage(item) && turn.imported !== true ? { ...item, startedAt: ts } : item] },
  );
}

function isMessage(item: Item): item is Item & Message {
  return item.type === "agentMessage" || item.type === "agentThought" || item.type === "userMessage";
}

/** Changes one item. An unknown item belongs to a turn that was not loaded, or was dropped. */
function change(
  state: ThreadState,
  turnId: string | null | undefined,
  itemId: string,
  change: (item: Item) => Item,
): ThreadState {
  const has = (turn: ThreadState["turns"][0]) => turn.items.findLastIndex((item) => item.itemId === itemId);
  // An item that started in a turn may end outside of it, so the named turn may not contain it.
  const turnAt = state.turns.findLastIndex((turn) => turn.id == turnId && has(turn) >= 0);
  const at = turnAt >= 0 ? turnAt : state.turns.findLastIndex((turn) => has(turn) >= 0);
  const turn = state.turns[at];
  if (!turn) {
    return state;
  }
  const itemAt = has(turn);
  const old = turn.items[itemAt]!;
  const item = change(old);
  if (item === old) {
    return state;
  }
  return { ...state, turns: state.turns.with(at, { ...turn, items: turn.items.with(itemAt, item) }) };
}

function withDelta(item: Item, text: string, content: AcpObject | undefined): Item {
  if (!isMessage(item)) {
    return item;
  }
  const blocks = item.content ?? [];
  const last = blocks.at(-1);
  let next: AcpObject[];
  if (content) {
    next = [...blocks, content];
  } else if (last?.type === "text" && typeof last.text === "string") {
    next = blocks.with(-1, { ...last, text: last.text + text });
  } else {
    next = [...blocks, { type: "text", text }];
  }
  return { ...item, text: (item.text ?? "") + text, content: next };
}

/**
 * Appends a chunk of output. A completed item already has all of it. A chunk outside of the log that skipped bytes is
 * the end of the output so far, so it replaces what is shown: the skipped part may contain it.
 */
function withOutput(item: Item, { text, skippedBytes, seq }: Output): Item {
  if (item.type !== "terminalCommand" || item.outcome != null) {
    return item;
  }
  const skipped = (skippedBytes ?? 0) > 0;
  const output = skipped && seq == null ? text : (item.output ?? "") + text;
  const cut = output.length > OUTPUT_CHARS;
  // Drop half of it at a time, so that a flood does not copy everything for each chunk.
  return {
    ...item,
    ...(item.waiting === true && { waiting: false, secret: false }),
    output: cut ? output.slice(-OUTPUT_CHARS / 2) : output,
    truncated: cut || skipped || item.truncated,
  };
}

/** Notes whether a running command waits for input, and for a secret. */
function withWaiting(item: Item, secret: boolean | undefined): Item {
  const waiting = secret !== undefined;
  const isSame = item.type !== "terminalCommand" || item.outcome != null || (!waiting && item.waiting !== true);
  return isSame ? item : { ...item, waiting, secret: secret === true };
}

const STEPS: readonly ToolStatus[] = ["pending", "in_progress", "completed", "failed"];

/** Applies ACP's `tool_call_update`: omitted or null members are unchanged, and a status never goes back. */
function withUpdate<T extends Item & ToolCall>(item: T, update: AcpObject | undefined, status: ToolStatus): T {
  const toolCall: AcpObject = { ...item.toolCall };
  for (const [key, value] of Object.entries(update ?? {})) {
    if (value !== null && key !== "sessionUpdate" && key !== "status") {
      toolCall[key] = value;
    }
  }
  // An update after the end of the item, as of a turn that was interrupted, brings content only.
  const over = item.outcome != null || item.status === "completed" || item.status === "failed";
  const next = !over && STEPS.indexOf(status) >= STEPS.indexOf(item.status) ? status : item.status;
  return named({ ...item, status: next, toolCall });
}

/**
 * Copies a tool call's title and kind to the item, and the item's status to the call. Events contain them in both places;
 * in loaded turns, the call has the status of a last update that came too late.
 */
export function named<T extends Item>(item: T): T {
  if (item.type !== "toolCall" || !item.toolCall) {
    return item;
  }
  const { title, kind, toolCallId } = item.toolCall;
  const text = (value: unknown, old: string | null | undefined) => (typeof value === "string" ? value : old);
  return {
    ...item,
    toolCall: { ...item.toolCall, status: item.status },
    title: text(title, item.title),
    name: text(title, item.name),
    kind: text(kind, item.kind),
    toolCallId: text(toolCallId, item.toolCallId),
  };
}

/** Removes the name of ACP's update from a tool call: it describes the update, not the call. */
function withoutUpdateName<T extends Item>(item: T): T {
  if (item.type !== "toolCall" || !item.toolCall) {
    return item;
  }
  const { sessionUpdate: _, ...toolCall } = item.toolCall;
  return { ...item, toolCall };
}

/** Returns an event's item members as loaded turns have them: without the envelope and without empty members. */
function stripEnvelope(params: object): Record<string, unknown> {
  const envelope = ["seq", "threadId", "ts", "turnId", "messageId"];
  return Object.fromEntries(
    Object.entries(params).filter(([key, value]) => value != null && !envelope.includes(key)),
  );
}
