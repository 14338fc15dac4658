// The agent asks whether it may do something. Everything that would be done stands here in full, as the daemon reads it; the
// agent's own words for it stand below, marked as such. Nothing is focused and nothing is preset: an answer takes a deliberate press.

import type { Always, Approval as Asked, PermissionOption, Resolved } from "@acpd/client";
import { useId } from "preact/hooks";

import { heading, inOneLine, isAlways } from "../../state/subjects.ts";
import { visibleLine } from "../../text/bidi-guard.ts";
import { AgentsWords } from "./AgentsWords.tsx";
import { effectOf, iconOf, nameBeside } from "./answers.ts";
import { Icon } from "./Icon.tsx";
import { who } from "./Notice.tsx";
import { Subjects } from "./Subjects.tsx";

export interface ApprovalProps {
  question: Asked;
  /** An option's id; nothing means that none of them is picked, and the question is cancelled. */
  onAnswer: (option: PermissionOption | undefined) => void;
  /** The answer is on its way. */
  sending?: boolean;
  /** Why the last answer was not taken. */
  error?: string | undefined;
  /** Who else is asked. */
  others?: readonly string[];
  /** How it was answered. */
  resolved?: Resolved | undefined;
  /** Why this person cannot answer. */
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

/** Who else may answer first. */
export function AlsoAsked({ others }: { others: readonly string[] }) {
  if (others.length === 0) return null;
  // Two pages of the same person look alike.
  return <p class="th-quiet">Also asked: {[...new Set(others)].map(visibleLine).join(", ")}</p>;
}

/** What the answer does, and behind it what the agent calls it. */
function Label({ option, always }: { option: PermissionOption; always: Always | null | undefined }) {
  const name = nameBeside(option);
  return (
    <span>
      {effectOf(option.kind, always)}
      {name !== undefined && <span class="th-agents-name"> “{visibleLine(name)}”</span>}
    </span>
  );
}

/** Only a yes to this one thing is the plain way on. */
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

/** A question that is answered: what was said, and by whom. */
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
