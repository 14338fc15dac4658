/** Answers to the questions of waiting threads from a list, without following the threads. */

import type { Client, PermissionOption, WaitingQuestion } from "@acpd/client";
import { computed, effect, signal } from "@preact/signals";

import { client, sentence } from "../connection/connection.ts";
import { who } from "../text/who.ts";
import { announce } from "./live-region.ts";
import { listSections, waiting } from "./threads.ts";
import { toast } from "./toasts.ts";
import { noteAnswer } from "./waiting-walk.ts";

/**
 * Time for which the open questions must not have changed before an answer counts, in milliseconds. When they change,
 * rows move, and a press that was meant for another row must not answer.
 */
export const SETTLE_MS = 500;

/** Whether the rows of waiting threads have kept their places for a while. */
export const settled = signal(false);

/** The open questions in the order of the views of waiting threads. */
const openQuestions = computed(() => waiting.value.map(({ id, question }) => `${id} ${question?.requestId}`).join("\n"));
/** The rows of the list down to the last one that waits. Other pinned threads are between and above them. */
const rowsOfQuestions = computed(() => {
  const rows = (listSections.value ?? []).flatMap(({ key, threads }) => threads.map(({ id, live }) => ({ row: `${key} ${id}`, live })));
  const last = rows.findLastIndex(({ live }) => live === "waiting");
  return rows.slice(0, last + 1).map(({ row }) => row).join("\n");
});
let timer: ReturnType<typeof setTimeout> | undefined;
effect(() => {
  void [openQuestions.value, rowsOfQuestions.value];
  settled.value = false;
  clearTimeout(timer);
  timer = setTimeout(() => (settled.value = true), SETTLE_MS);
});

/** Answers a question; returns whether the answer was accepted. The row changes by the event of the answer. */
export async function answerFromList(
  threadId: string,
  { requestId }: WaitingQuestion,
  { optionId, kind }: PermissionOption,
): Promise<boolean> {
  const now = client.peek();
  try {
    if (!now) {
      throw new Error("there is no connection");
    }
    const approved = kind.startsWith("allow");
    noteAnswer(requestId);
    await now.call("item/approve", { requestId, optionId, optionKind: kind, approved });
    announce(approved ? "Allowed once" : "Rejected");
    return true;
  } catch (error) {
    noteAnswer(requestId, false);
    const isLate = ["already_resolved", "not_found"].includes((error as { code?: string }).code ?? "");
    const words = isLate && now ? await tooLate(now, threadId, requestId) : `Couldn’t answer: ${sentence(error)}`;
    toast(words, isLate ? {} : { kind: "error" });
    return false;
  }
}

/** Number of turns in which an earlier answer is looked for. */
const TURNS = 2;

async function tooLate(now: Client, threadId: string, requestId: string): Promise<string> {
  const read = await now.call("thread/read", { threadId, includeTurns: true, limit: TURNS }).catch(() => undefined);
  const answers = (read?.thread.turns ?? []).flatMap((turn) => turn.answers ?? []);
  const answer = answers.find((one) => one.requestId === requestId);
  if (answer === undefined) {
    return "Already answered";
  }
  return answer.outcome === "void" ? "No longer needed" : `Already answered by ${who(answer.by)}`;
}
