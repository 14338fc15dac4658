/** What a waiting thread wants, in its row of the list: each action in full, as long as there is room. */

import type { WaitingQuestion } from "@acpd/client";

import { askerOf, wishesOf } from "../../state/waiting-question.ts";

export function RowQuestion({ question, cwd }: { question: WaitingQuestion; cwd: string }) {
  const { more } = question;
  const asker = askerOf(question);
  return (
    <span class="row-question">
      {asker !== undefined && (
        <span class="row-wish">
          <bdi>{asker}</bdi>:
        </span>
      )}
      {wishesOf(question, cwd).map(({ verb, what, code }, at) => (
        <span key={at} class="row-wish">
          {verb !== "" && `${verb.charAt(0).toUpperCase()}${verb.slice(1)} `}
          <bdi class={code ? "mono" : undefined} dir={code ? "ltr" : "auto"}>
            {what}
          </bdi>
        </span>
      ))}
      {more > 0 && <span class="row-wish">and {more} more</span>}
    </span>
  );
}
