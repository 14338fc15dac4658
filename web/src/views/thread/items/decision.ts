// Words for the answer to a question of the agent.

import type { Resolved } from "@acpd/client";

import { isRemembered } from "../../../state/scopes.ts";
import { dayAndClock } from "../../../text/format.ts";
import { who } from "../../../text/who.ts";

type Words = Readonly<Partial<Record<Resolved["outcome"], string>>>;

const ONCE: Words = { accepted: "Allowed", declined: "Rejected", cancelled: "Cancelled" };
const REMEMBERED: Words = { ...ONCE, accepted: "Allowed and remembered", declined: "Rejected and remembered" };
/** A form allows nothing. */
const FORM: Words = { accepted: "Answered", declined: "Declined", cancelled: "Dismissed" };

/** Returns the answer, its author and its time: "Allowed by owner (web), 16:59"; `undefined` if there was no answer. */
export function decisionWords(answer: Resolved): string | undefined {
  const said = (isRemembered(answer) ? REMEMBERED : ONCE)[answer.outcome];
  return said && `${said} by ${who(answer.by)}, ${dayAndClock(answer.ts)}`;
}

/** Returns the answer to a question that is about no item: a form, or a permission that acpd itself asked for. */
export function answerWords(answer: Resolved): { said: string; by: string } {
  const isForm = answer.optionId == null;
  const said = isForm ? FORM[answer.outcome] : (isRemembered(answer) ? REMEMBERED : ONCE)[answer.outcome];
  return { said: said ?? "No longer needed", by: `by ${who(answer.by)}, ${dayAndClock(answer.ts)}` };
}
