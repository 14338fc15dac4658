// A permission request. It shows all actions in full, as the daemon reads them; the agent's description follows, marked
// as such. No button has the focus or a default, so an answer requires a deliberate click.

import type { Always, Approval as Asked, PermissionOption, Resolved } from "@acpd/client";
import { useId } from "preact/hooks";

import { heading, inOneLine, isAlways } from "../../../state/subjects.ts";
import { visibleLine } from "../../../text/bidi-guard.ts";
import { AgentsWords } from "./AgentsWords.tsx";
import { effectOf, iconOf, nameBeside } from "./answers.ts";
import { Icon } from "../content/Icon.tsx";
import { who } from "../content/Notice.tsx";
import { Subjects } from "./Subjects.tsx";

export interface ApprovalProps {
  question: Asked;
  /** Receives the chosen option; `undefined` if the user chooses none and cancels the question. */
  onAnswer: (option: PermissionOption | undefined) => void;
  /** Whether the answer is being sent. */
  sending?: boolean;
  /** Why the daemon rejected the last answer. */
  error?: string | undefined;
  /** The other subscribers who receive the question. */
  others?: readonly string[];
  /** The answer, if the question is resolved. */
  resolved?: Resolved | undefined;
  /** Why this user cannot answer. */
  barred?: string | undefined;
}

export function Approval(props: ApprovalProps) {
  const { question, onAnswer, sending = false, error, others = [], resolved, barred } = props;
  const title = useId();
  if (resolved !== undefined) return <Settled title={inOneLine(question)} resolved={resolved} options={question.options} />;
  const off = sending || barred !== undefined;
  return (
    <section class="th-card th-approval" role="group" aria-labelledby={title} aria-busy={sending}>
      <p class="sr-only" role="alert">
        The agent asks for permission: {heading(question.subjects)}
      </p>
      <header class="th-approval-head">
        <Icon name="shield" />
        <h3 id={title}>Allow the agent to {heading(question.subjects)}?</h3>
      </header>
      <div class="th-subject">
        <Subjects id={question.requestId} subjects={question.subjects} />
        <AgentsWords question={question} />
      </div>
      <AlsoAsked others={others} />
      {question.always != null && "notRemembered" in question.always && (
        <p class="th-quiet">acpd does not remember an answer: {visibleLine(question.always.notRemembered)}</p>
      )}
      {error !== undefined && (
        <p class="error-text" role="alert">
          {error}
        </p>
      )}
      {barred !== undefined && <p class="th-quiet">{barred}</p>}
      <div class="th-answers">
        {question.options.map((option) => (
          <button
            key={option.optionId}
            type="button"
            class={`button ${looks(option.kind)}`}
            disabled={off}
            onClick={() => onAnswer(option)}
          >
            <Icon name={iconOf(option.kind)} />
            <Label option={option} always={question.always} />
            {question.agentRemembers?.includes(option.optionId) && (
              <span class="th-tag">the agent may remember this answer itself</span>
            )}
          </button>
        ))}
        {question.options.length === 0 && (
          <button type="button" class="button" disabled={off} onClick={() => onAnswer(undefined)}>
            Cancel: the agent offers no answers
          </button>
        )}
        {sending && <span class="th-spinner" role="status" aria-label="Sending the answer" />}
      </div>
    </section>
  );
}

/** Lists the other subscribers, who may answer first. */
export function AlsoAsked({ others }: { others: readonly string[] }) {
  if (others.length === 0) return null;
  // Two pages of the same user have the same name.
  return <p class="th-quiet">Also asked: {[...new Set(others)].map(visibleLine).join(", ")}</p>;
}

/** The effect of the answer, followed by the agent's name for it. */
function Label({ option, always }: { option: PermissionOption; always: Always | null | undefined }) {
  const name = nameBeside(option);
  return (
    <span>
      {effectOf(option.kind, always)}
      {name !== undefined && <span class="th-agents-name"> “{visibleLine(name)}”</span>}
    </span>
  );
}

/** Only a single approval gets the primary style. */
function looks(kind: string): string {
  if (kind === "allow_once") return "primary";
  return iconOf(kind) === "cross" ? "danger" : "";
}

const OUTCOMES = {
  accepted: { said: "Allowed", icon: "check" },
  declined: { said: "Refused", icon: "cross" },
  cancelled: { said: "Cancelled", icon: "cross" },
  void: { said: "No longer needed", icon: "info" },
} as const;

interface SettledProps {
  title: string;
  resolved: Resolved;
  options?: readonly PermissionOption[];
}

/** An answered question: the answer and its author. */
export function Settled({ title, resolved, options = [] }: SettledProps) {
  const { said, icon } = OUTCOMES[resolved.outcome] ?? OUTCOMES.void;
  const option = options.find((one) => one.optionId === resolved.optionId);
  const sent = options.find((one) => one.optionId === resolved.sentOptionId);
  const always = isAlways(option?.kind ?? resolved.optionKind);
  return (
    <p class="th-settled" role="status" data-outcome={resolved.outcome}>
      <Icon name={icon} />
      <span class="th-settled-what">
        <strong>{said}</strong> {always && <span class="th-tag">always</span>} {visibleLine(title)}
      </span>
      <span class="th-quiet">
        {option !== undefined && `“${visibleLine(option.name)}” `}
        {resolved.outcome === "void" ? visibleLine(resolved.reason ?? "") : `by ${who(resolved.by)}`}
        {sent !== undefined && `; acpd remembers it, the agent was sent “${visibleLine(sent.name)}”`}
      </span>
    </p>
  );
}
