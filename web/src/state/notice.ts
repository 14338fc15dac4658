/** The title and text of a notification: of the page, and of the service worker, which shows what was pushed. Pure. */

import type { TurnStatus, WaitingQuestion } from "@acpd/client";

import { visibleName, visibleOrder } from "../text/bidi-guard.ts";
import { endOf, nameOf } from "./threads.ts";
import { questionLine, waitsFor } from "./waiting-question.ts";

/** What has happened in a thread. */
export interface News {
  readonly type: "waiting" | "done" | "failed";
  readonly name?: string | null;
  /** The agent's name for users. */
  readonly agent: string;
  readonly cwd: string;
  readonly question?: WaitingQuestion | null;
  /** Status of the ended turn. */
  readonly status?: TurnStatus | null;
  /** Why the turn failed. */
  readonly error?: string | null;
}

export interface NotificationText {
  readonly title: string;
  readonly body: string;
}

/** Maximum length of a name or an error in a notification, in characters. Operating systems show less. */
const LENGTH = 200;

/** Describes what has happened. */
export function noticeOf(news: News): NotificationText {
  const name = shownName(news.name);
  const agent = oneLine(visibleName(news.agent));
  switch (news.type) {
    case "waiting":
      return {
        title: news.question?.type === "input" ? `${name} asks a question` : `${name} is ${waitsFor(news.question)}`,
        body: news.question ? questionLine(news.question, news.cwd) : `${agent} needs an answer.`,
      };
    case "failed":
      return { title: `${name} has failed`, body: news.error?.trim() ? oneLine(news.error) : outcome(news.status) };
    case "done":
      return { title: `${name} is done`, body: `${agent} has finished.` };
  }
}

/** Returns a thread's name as notifications show it. */
export function shownName(name: string | null | undefined): string {
  return oneLine(nameOf({ name }));
}

function outcome(status: TurnStatus | null | undefined): string {
  const words = endOf({ live: "failed", lastTurnStatus: status, lastTurnCutOff: status === "interrupted" });
  return words ?? "Last turn failed";
}

/** Returns the first line of a text, with reordering characters made visible. */
function oneLine(text: string): string {
  const [line = ""] = text.trim().split(/[\n\r\v\f\u0085]/, 1);
  // A character has at most two units.
  const letters = [...visibleOrder(line.slice(0, 2 * LENGTH + 2))];
  return letters.length <= LENGTH ? letters.join("") : `${letters.slice(0, LENGTH - 1).join("")}…`;
}
