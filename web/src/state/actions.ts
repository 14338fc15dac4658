/**
 * What a person can do in a thread. Views call these and change nothing themselves: what comes of it arrives as an
 * event. Each promise fails with an `AcpdError` whose message is a sentence for the person.
 */

import type { AcpObject, ConfigValue, QuestionAnswered } from "@acpd/client";

import type { Question } from "./thread.ts";

/** How a prompt is delivered while a turn runs; without one running, all are the same. */
export type Delivery = "queue" | "steer";

export interface ThreadActions {
  /** Sends a prompt: text, then further ACP content blocks (images, files). */
  send(text: string, blocks: readonly AcpObject[], delivery: Delivery): Promise<void>;
  /** Stops the running turn, or takes back the queued one that is named. */
  interrupt(turnId?: string): Promise<void>;
  /** Answers a permission request or a form. */
  answer(question: Question, answer: QuestionAnswered): Promise<void>;
  setMode(modeId: string): Promise<void>;
  setConfig(configId: string, value: ConfigValue): Promise<void>;
  /** Loads turns before the first that is there. */
  loadOlder(): Promise<void>;
  /** Splits a new thread off after the turn. */
  fork(turnId: string): Promise<void>;
  /** Drops the turns after this one. */
  rollback(turnId: string): Promise<void>;
}
