// The answer to a question that is about no item, for good: a form with what was filled in, or a permission that acpd itself
// asked for.

import type { Resolved } from "@acpd/client";

import { isObject } from "../../../state/acp.ts";
import { visible, visibleLine } from "../../../text/bidi-guard.ts";
import { dateAndTime } from "../../../text/format.ts";
import { Fold } from "../content/Fold.tsx";
import { Icon } from "../content/Icon.tsx";
import { write } from "../content/RawJson.tsx";
import { answerWords } from "./decision.ts";

export interface AnswerLineProps {
  answer: Resolved;
}

export function AnswerLine({ answer }: AnswerLineProps) {
  const { outcome, answers, title, seq, ts } = answer;
  const { said, by } = answerWords(answer);
  const filled = isObject(answers) ? Object.entries(answers) : [];
  const line = (
    <>
      <Icon name={outcome === "accepted" ? "check" : "cross"} />
      <span class="th-notice-text" dir="auto">
        <strong>{said}</strong> {visibleLine(title ?? "A question of the agent")}
      </span>
      <span class="th-decision" data-outcome={outcome} title={dateAndTime(ts)}>
        {by}
      </span>
    </>
  );
  return (
    <div class="th-notice th-answer" role="note" data-outcome={outcome}>
      {filled.length === 0 ? (
        <p class="th-notice-line">{line}</p>
      ) : (
        <Fold id={`answer/${seq}`} summary={line}>
          {() => (
            <dl class="th-given">
              {filled.map(([name, value]) => (
                <div key={name}>
                  <dt>{visibleLine(name)}</dt>
                  <dd dir="auto">{visible(write(value))}</dd>
                </div>
              ))}
            </dl>
          )}
        </Fold>
      )}
    </div>
  );
}
