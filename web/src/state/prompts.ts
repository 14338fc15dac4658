/** The prompts of a thread's turns: which message began a turn, and what it contained. */

import type { AcpObject } from "@acpd/client";

import { objects } from "./acp.ts";
import { byPrompt, queueOf } from "./fold-turns.ts";
import type { FoldedTurn, ThreadState } from "./thread.ts";

/** Returns the blocks of the prompt that started a turn. */
export function promptOf(turn: FoldedTurn): AcpObject[] {
  const said = messageOf(turn);
  return objects(said?.type === "userMessage" ? said.content : turn.input);
}

/** Returns the message that began a turn. Messages of agents to their subagents do not count. */
function messageOf({ items }: FoldedTurn) {
  return items.find((item) => item.type === "userMessage" && item.lane == null);
}

/** Returns the turn that a message of the user began. Messages that were sent into a running turn began none. */
export function turnBegunBy(thread: ThreadState, itemId: string): (FoldedTurn & { id: string }) | undefined {
  return thread.turns.find((turn): turn is FoldedTurn & { id: string } => turn.id != null && messageOf(turn)?.itemId === itemId);
}

/** Returns the first turn that a rewind to a turn removes, of those with a message of the user. */
export function firstRemoved({ turns }: Pick<ThreadState, "turns">, lastKept: string): FoldedTurn | undefined {
  return turns.find((turn) => byPrompt(turn.id, lastKept) > 0 && messageOf(turn) !== undefined);
}

/** Returns the turn before another one, in the order in which a rewind or a fork counts them, of the loaded turns. */
export function turnBefore({ turns }: Pick<ThreadState, "turns">, turnId: string): string | undefined {
  const before = turns.flatMap(({ id }) => (id != null && byPrompt(id, turnId) < 0 ? [id] : []));
  return before.reduce<string | undefined>((last, id) => (byPrompt(id, last) > 0 ? id : last), undefined);
}

/** What is known of an edited message and of what sending it changes. */
export interface Edited {
  /** Whether its turn has left the conversation, so that nothing can be replaced. */
  readonly gone: boolean;
  /** Whether it began the conversation. */
  readonly first: boolean;
  /** Whether its turn is older than the loaded ones. */
  readonly isMissing: boolean;
  /** Number of turns behind its own that leave the conversation with it; `undefined` if its turn is missing. */
  readonly later: number | undefined;
  /** Why it cannot be sent now. */
  readonly waits: string | undefined;
}

/** Returns what sending a message in place of a turn's prompt changes. */
export function editedState(thread: Pick<ThreadState, "turns" | "older" | "head">, turnId: string): Edited {
  const { turns, older, head } = thread;
  const before = turnBefore(thread, turnId);
  const isLoaded = turns.some(({ id }) => id === turnId);
  // It may be older than the loaded turns.
  const gone = !isLoaded && (older === undefined || before !== undefined);
  const isMissing = !isLoaded && !gone;
  return {
    gone,
    first: before === undefined && older === undefined,
    isMissing,
    later: isMissing ? undefined : turns.filter(({ id }) => id != null && byPrompt(id, turnId) > 0).length,
    // A new message is queued. What is not loaded may have been removed, or have attachments.
    waits: gone ? undefined : isMissing ? "Load the earlier message to send this." : waitsFor(head.turnId != null, queueOf(thread).length),
  };
}

function waitsFor(running: boolean, queued: number): string | undefined {
  if (running) return "A turn is running. Stop it to send this.";
  if (queued > 0) return "Messages are queued. Remove them to send this.";
  return undefined;
}
