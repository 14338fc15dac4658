/** The notification for what was pushed: its texts, its buttons, and what a click needs. Pure. */

import { type NotificationText, noticeOf, shownName } from "../state/notice.ts";
import type { ThreadActivity } from "../state/threads.ts";
import { questionLine, type RowAnswer, rowAnswers } from "../state/waiting-question.ts";
import type { Payload } from "./payload.ts";

/** An answer that a button of a notification gives. */
export interface ButtonAnswer {
  readonly requestId: string;
  readonly optionId: string;
  readonly optionKind: string;
}

/** The names of the buttons. */
export type Action = "allow" | "reject";

/** What a notification carries for its clicks. The page reads it as well, to close notifications that are out of date. */
export interface NoticeData {
  /** The thread that a click opens; without one, a click opens acpd. */
  readonly threadId?: string;
  /** The thread's name. */
  readonly name?: string;
  /** Whether the thread waits for an answer, so that a click shows the question. */
  readonly waiting?: boolean;
  readonly answers?: Readonly<Partial<Record<Action, ButtonAnswer>>>;
  /** When it was shown, in milliseconds since the epoch. */
  readonly shownAt?: number;
}

/**
 * Time for which a notification must have been shown before its buttons answer, in milliseconds. It may have taken the place of
 * another question, and a press that was meant for that one must not answer.
 */
const SETTLE_MS = 1_000;

/** Returns the answer that a button gives if it is pressed now. Without one, a press opens the thread. */
export function pressed({ answers, shownAt = Infinity }: NoticeData, action: string, now: number): ButtonAnswer | undefined {
  const isSettled = now - shownAt >= SETTLE_MS;
  return isSettled && (action === "allow" || action === "reject") ? answers?.[action] : undefined;
}

/**
 * Time after which the page's list is newer than a notification, in milliseconds. A question can be pushed before the page has
 * heard of it.
 */
export const LIST_MS = 10_000;

/**
 * Returns whether a notification asks for an answer that its thread does not need any more. `live` is what the thread does by the
 * page's list, and `isEnded` whether the page has seen it wait before.
 */
export function isStale({ waiting, shownAt = 0 }: NoticeData, live: ThreadActivity | undefined, isEnded: boolean, now: number): boolean {
  // A thread that the page does not know may wait.
  const isOver = live !== undefined && live !== "waiting";
  return waiting === true && isOver && (isEnded || now - shownAt >= LIST_MS);
}

export interface Pushed extends NotificationText {
  /** Notifications with the same tag replace each other. */
  readonly tag: string;
  /** Whether it stays until the user does something. */
  readonly requireInteraction: boolean;
  readonly actions: readonly { readonly action: Action; readonly title: string }[];
  readonly data: NoticeData;
}

/**
 * Maximum length of a question with buttons, in bytes of UTF-8, which is never less than its width in columns. Operating
 * systems cut the text of a notification after two to four lines of about 45 columns, and a user must not allow what was
 * cut off.
 */
const ANSWERABLE = 100;

/** Describes the notification for a payload, or for one that could not be read: browsers require that each push shows one. */
export function notificationOf(payload: Payload | undefined): Pushed {
  const plain = { requireInteraction: false, actions: [], data: {} };
  if (payload === undefined) {
    return { title: "acpd has news", body: "Open acpd to see what has happened.", tag: "acpd", ...plain };
  }
  if (payload.type === "test") {
    return { title: "acpd can reach this device", body: "This is a test.", tag: "acpd-test", ...plain };
  }
  if (payload.type === "signOut") {
    const body = payload.canStay
      ? "Open acpd to stay signed in. Otherwise this device receives no more notifications."
      : "After that, sign in again to receive notifications on this device.";
    return { title: "You will be signed out of acpd within a day", body, tag: "acpd-sign-out", ...plain };
  }
  const { threadId, news } = payload;
  const answers = answersOf(payload);
  return {
    ...noticeOf(news),
    tag: threadId,
    requireInteraction: news.type === "waiting",
    actions: [
      ...(answers.allow ? [{ action: "allow" as const, title: "Allow once" }] : []),
      ...(answers.reject ? [{ action: "reject" as const, title: "Reject" }] : []),
    ],
    data: { threadId, name: shownName(news.name), waiting: news.type === "waiting", answers },
  };
}

/** Returns the answers that buttons may give: to a question about one effect, which the notification shows as a whole. */
function answersOf({ news: { question, cwd }, canAnswer }: Payload & { type: "news" }): NonNullable<NoticeData["answers"]> {
  // Between several effects in one line, nothing would mark where one ends.
  if (!canAnswer || question?.subjects?.length !== 1 || new TextEncoder().encode(questionLine(question, cwd)).length > ANSWERABLE) {
    return {};
  }
  const { requestId } = question;
  const { allow, reject } = rowAnswers(question, cwd) ?? {};
  const answer = ({ option: { optionId, kind } }: RowAnswer): ButtonAnswer => ({ requestId, optionId, optionKind: kind });
  return { ...(allow && { allow: answer(allow) }), ...(reject && { reject: answer(reject) }) };
}

/** Returns whether the buttons of a notification answer this question. Another one may have taken its place. */
export function asksFor({ answers }: NoticeData, requestId: string): boolean {
  return Object.values(answers ?? {}).some((answer) => answer.requestId === requestId);
}

/** Returns whether the refusal of an answer may be shown in place of what its thread shows: it must not replace other news. */
export function mayRefuse(shown: readonly NoticeData[], requestId: string): boolean {
  return shown.length === 0 || shown.some((data) => asksFor(data, requestId));
}

/** Returns what is shown if an answer was not accepted. */
export function refusalOf({ threadId, name, waiting }: NoticeData, sentence: string): Pushed {
  return {
    title: name ?? "acpd",
    body: sentence,
    tag: threadId ?? "acpd",
    requireInteraction: false,
    actions: [],
    data: { threadId, name, waiting },
  };
}
