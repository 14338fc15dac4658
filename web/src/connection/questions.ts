/**
 * The questions that the daemon puts to this page as requests of its own. A request's answer can say more than the
 * methods can (a decline apart from a cancel), so that it is used where there is one.
 */

import type { Client, QuestionAnswered, QuestionMethod } from "@acpd/client";

const METHODS: readonly QuestionMethod[] = [
  "item/commandExecution/requestApproval",
  "item/fileChange/requestApproval",
  "item/permissions/requestApproval",
  "item/tool/requestUserInput",
];

type Answers = Map<string, (answer: QuestionAnswered | undefined) => void>;
const asked = new WeakMap<Client, Answers>();

/** Leaves every question open until the person answers it. */
export function holdQuestions(client: Client): void {
  const answers: Answers = new Map();
  asked.set(client, answers);
  for (const method of METHODS) {
    client.answer(method, ({ requestId }, { signal }) => {
      return new Promise<QuestionAnswered | undefined>((resolve) => {
        answers.set(requestId, resolve);
        signal.addEventListener("abort", () => {
          answers.delete(requestId);
          resolve(undefined);
        });
      });
    });
  }
}

/** Answers a question if it was put to this page; whether it was. */
export function answerHeld(client: Client, requestId: string, answer: QuestionAnswered): boolean {
  const resolve = asked.get(client)?.get(requestId);
  asked.get(client)?.delete(requestId);
  resolve?.(answer);
  return resolve !== undefined;
}
