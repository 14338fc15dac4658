/**
 * The user's actions in a thread. Views call these and change nothing themselves: the effects arrive as events. Each
 * promise rejects with an `AcpdError` whose message is a sentence for the user.
 */

import type { AcpObject, ConfigValue, QuestionAnswered } from "@acpd/client";

import type { Question } from "./thread.ts";

/** Delivery of a prompt while a turn runs; without a running turn, both are the same. */
export type Delivery = "queue" | "steer";

export interface ThreadActions {
  /** Sends a prompt: text, then further ACP content blocks (images, files). */
  send(text: string, blocks: readonly AcpObject[], delivery: Delivery): Promise<void>;
  /** Sends a prompt in place of the one that began a turn: that turn and the later ones leave the conversation, or nothing changes. */
  sendInstead(turnId: string, text: string, blocks: readonly AcpObject[]): Promise<void>;
  /** Starts the agent of an idle thread, so that the next turn begins sooner; once per opening. */
  startAgent(): void;
  /** Returns the unified diff of an ended turn. */
  readDiff(turnId: string): Promise<string>;
  /** Interrupts the running turn and pauses the queue, or removes a queued turn. */
  interrupt(turnId?: string): Promise<void>;
  /** Ends the running turn without waiting for the agent, which is terminated. */
  stopNow(): Promise<void>;
  /** Types into the terminal of a running command. */
  typeIn(terminalId: string, text: string): Promise<void>;
  /** Ends a running command. */
  endCommand(terminalId: string): Promise<void>;
  /** Lets the thread's agent use a further folder, for which it starts anew. */
  addFolder(directory: string): Promise<void>;
  /** Puts queued turns first, in this order; pauses or continues the queue. */
  arrangeQueue(turnIds: readonly string[], paused?: boolean): Promise<void>;
  /** Replaces the prompt of a queued turn: its text, then other ACP content blocks. */
  editQueued(turnId: string, text: string, others: readonly AcpObject[]): Promise<void>;
  /** Sends the prompt of a queued turn into the running turn. */
  steerQueued(turnId: string): Promise<void>;
  /** Answers a permission request or a form. */
  answer(question: Question, answer: QuestionAnswered): Promise<void>;
  setMode(modeId: string): Promise<void>;
  setConfig(configId: string, value: ConfigValue): Promise<void>;
  /** Loads the turns before the first loaded one. */
  loadOlder(): Promise<void>;
  /** Loads older turns until one of them is loaded, or it is certain that it was removed. */
  loadTurn(turnId: string): Promise<void>;
  /** Forks a new thread after the turn. */
  fork(turnId: string): Promise<void>;
  /** Forks a new thread that ends before the turn. `prepare` is called with its id before it is shown. */
  forkBefore(turnId: string, prepare: (threadId: string) => void): Promise<void>;
  /** Drops the turns after this one. */
  rollback(turnId: string): Promise<void>;
}
