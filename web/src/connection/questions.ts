/**
 * The daemon's questions to this page, which are requests. The daemon repeats them when a thread is opened or a
 * connection breaks, but not the thread's events. Their responses can express more than the methods (decline or
 * cancel), so the page prefers them.
 */

import type { Client, QuestionAnswered, QuestionMethod } from "@acpd/client";

import type { Question } from "../state/thread.ts";

const METHODS: readonly QuestionMethod[] = [
  "item/commandExecution/requestApproval",
  "item/fileChange/requestApproval",
  "item/permissions/requestApproval",
  "item/tool/requestUserInput",
];

interface Held {
  readonly question: Question;
  readonly answer: (answer: QuestionAnswered | undefined) => void;
}

interface Asked {
  readonly held: Map<string, Held>;
  readonly listeners: Set<(question: Question) => void>;
}

const asked = new WeakMap<Client, Asked>();

function of(client: Client): Asked {
  let here = asked.get(client);
  if (!here) {
    asked.set(client, (here = { held: new Map(), listeners: new Set() }));
  }
  return here;
}

/** Keeps every question open until the user answers it. */
export function holdQuestions(client: Client): void {
  const { held, listeners } = of(client);
  for (const method of METHODS) {
    client.answer(method, (params, { signal }) => {
      return new Promise<QuestionAnswered | undefined>((answer) => {
        const question = { method, params } as Question;
        held.set(params.requestId, { question, answer });
        signal.addEventListener("abort", () => {
          held.delete(params.requestId);
          answer(undefined);
        });
        for (const listener of [...listeners]) {
          listener(question);
        }
      });
    });
  }
}

/**
 * Calls `listener` for each question to this page, starting with the open ones. Returns a function that unsubscribes.
 */
export function onQuestion(client: Client, listener: (question: Question) => void): () => void {
  const { held, listeners } = of(client);
  for (const { question } of [...held.values()]) {
    listener(question);
  }
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/** Answers a question if this page has received it; returns whether it has. */
export function answerHeld(client: Client, requestId: string, answer: QuestionAnswered): boolean {
  const { held } = of(client);
  const one = held.get(requestId);
  held.delete(requestId);
  one?.answer(answer);
  return one !== undefined;
}
