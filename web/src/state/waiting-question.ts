/**
 * The oldest open question of a waiting thread, as lists show it, and which of its answers a list may offer: only those
 * to a question that one line shows as a whole. Pure.
 */

import type { CallSubject, PermissionOption, WaitingQuestion } from "@acpd/client";

import { visibleLine } from "../text/bidi-guard.ts";
import { shownPath } from "../text/format.ts";
import { isHarmless } from "./harmless.ts";
import { deed } from "./subjects.ts";

/** One action of a question, as a list shows it. */
export interface Wish {
  readonly verb: string;
  /** Its object, with invisible characters escaped. */
  readonly what: string;
  /** Whether the object is code. */
  readonly code: boolean;
}

/** Describes the actions of a question, or quotes its title. */
export function wishesOf({ subjects, title }: WaitingQuestion, cwd: string): Wish[] {
  if (subjects == null || subjects.length === 0) {
    return [{ verb: "", what: visibleLine(title), code: false }];
  }
  return subjects.map((subject) => {
    const { verb, what } = deed(subject);
    const said = subject.type === "file" ? shownPath(what, cwd) : visibleLine(what);
    const host = subject.type === "fetch" && subject.host != null ? ` from the host ${visibleLine(subject.host)}` : "";
    return { verb, what: said + host, code: ["command", "commandLine", "file", "fetch"].includes(subject.type) };
  });
}

/** Says what a thread waits for. Without its question, that may be anything. */
export function waitsFor(question: Pick<WaitingQuestion, "type"> | null | undefined): string {
  if (question == null) {
    return "waiting for you";
  }
  return question.type === "permission" ? "waiting for approval" : "asks a question";
}

/** Returns the subagent that asks, if its name is not in the title already. */
export function askerOf({ asker, subjects }: WaitingQuestion): string | undefined {
  return asker == null || subjects == null || subjects.length === 0 ? undefined : visibleLine(asker);
}

/** Returns a question in one line, for notifications and labels. */
export function questionLine(question: WaitingQuestion, cwd: string): string {
  const said = wishesOf(question, cwd).map(({ verb, what }) => (verb === "" ? what : `${verb} ${what}`));
  const line = said.join("; ");
  const asker = askerOf(question);
  if (asker !== undefined) {
    return `${asker}: ${line}${question.more > 0 ? ` (and ${question.more} more)` : ""}`;
  }
  return line.charAt(0).toUpperCase() + line.slice(1) + (question.more > 0 ? ` (and ${question.more} more)` : "");
}

export interface RowAnswer {
  readonly option: PermissionOption;
  /** The digit that presses it: its place among all answers, as on the question's card. */
  readonly digit: number;
}

export interface RowAnswers {
  readonly allow?: RowAnswer;
  readonly reject?: RowAnswer;
}

/**
 * Returns the answers that a list may offer, provided that it shows the wishes in full; `undefined` if the question must
 * be opened. An "always" is never among them, and what is not known to be harmless can only be rejected.
 */
export function rowAnswers(question: WaitingQuestion, cwd: string): RowAnswers | undefined {
  const { type, subjects, options, more, asker } = question;
  if (type !== "permission" || more > 0 || !isOneReading(asker ?? "") || !subjects?.length || !options || !subjects.every((one) => isPlain(one, cwd))) {
    return undefined;
  }
  const allow = subjects.every(isHarmless) ? once(options, "allow_once") : undefined;
  const reject = once(options, "reject_once");
  return allow === undefined && reject === undefined ? undefined : { ...(allow && { allow }), ...(reject && { reject }) };
}

/** Returns the only option of a kind: between two, only their names would decide. */
function once(options: readonly PermissionOption[], kind: string): RowAnswer | undefined {
  const [at, ...others] = options.flatMap((option, index) => (option.kind === kind ? [index] : []));
  return at === undefined || others.length > 0 ? undefined : { option: options[at]!, digit: at + 1 };
}

/** Returns whether a verb and its object are the whole subject, in characters that have one reading. */
function isPlain(subject: CallSubject, cwd: string): boolean {
  switch (subject.type) {
    case "command":
    case "commandLine":
      return (subject.env ?? []).length === 0 && subject.cwd === cwd && isOneReading(deed(subject).what);
    case "file":
      return (
        ["read", "search", "delete"].includes(subject.access) &&
        subject.realPath == null &&
        !subject.diff &&
        subject.arguments == null &&
        isOneReading(subject.path)
      );
    case "fetch":
      return isOneReading(subject.url) && isOneReading(subject.host ?? "");
    case "mcp":
      return subject.arguments == null && subject.tool != null && isOneReading(`${subject.server}${subject.tool}`);
    case "tool":
      return subject.arguments == null && subject.name != null && isOneReading(`${subject.kind}${subject.name}`);
    default:
      return false;
  }
}

/** Letters of scripts that are written from right to left: beside others, they change the order on the screen. */
const RIGHT_TO_LEFT = /[\u0590-\u08FF\uFB1D-\uFDFF\uFE70-\uFEFE\u{10800}-\u{10FFF}\u{1E800}-\u{1EFFF}]/u;

function isOneReading(text: string): boolean {
  return visibleLine(text) === text && !RIGHT_TO_LEFT.test(text);
}
