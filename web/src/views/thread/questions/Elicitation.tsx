// A question for information: a form by its schema, or a URL for the user to open.

import type { InputWanted, Resolved } from "@acpd/client";
import { useMemo, useRef, useState } from "preact/hooks";

import { destination } from "../../../text/safe-url.ts";
import { visible, visibleLine, visibleWords } from "../../../text/bidi-guard.ts";
import { isObject, text } from "../../../state/acp.ts";
import { Settled } from "./Approval.tsx";
import { CopyButton } from "../content/CopyButton.tsx";
import { FieldView } from "./Field.tsx";
import { answersOf, complaint, fieldsOf } from "./form.ts";
import { useFormDraft } from "./form-draft.ts";
import { Icon } from "../content/Icon.tsx";
import { QuestionCard, type QuestionFrame } from "./QuestionCard.tsx";
import { RawJson } from "../content/RawJson.tsx";

export interface ElicitationProps extends QuestionFrame {
  question: InputWanted;
  onAnswer: (answers: Record<string, unknown>) => void;
  /** For a URL: the user has opened it. */
  onAccept: () => void;
  onDecline: () => void;
  onCancel: () => void;
  resolved?: Resolved | undefined;
  /** Opens a URL in a new tab. */
  open?: (href: string) => void;
}

export function Elicitation(props: ElicitationProps) {
  const { question, resolved } = props;
  if (resolved !== undefined) return <Settled title={question.title} resolved={resolved} form />;
  return question.mode === "url" || question.url != null ? <Address {...props} /> : <Fields {...props} />;
}

/** Returns the props of the card that all of these questions share. */
function cardOf({ question, sending, error, others, barred, sheet }: ElicitationProps) {
  const title = visibleLine(question.title);
  return {
    ...{ sending, error, others, barred, sheet },
    requestId: question.requestId,
    class: "th-elicitation",
    icon: "question" as const,
    title: visible(question.title),
    // The title of a subagent's question begins with its name.
    alert: question.lane == null ? `The agent asks: ${title}` : title,
  };
}

/** Declining is an answer; cancelling is not. */
function Refusals({ off, onDecline, onCancel }: { off: boolean; onDecline: () => void; onCancel: () => void }) {
  return (
    <>
      <button type="button" class="button" disabled={off} onClick={onDecline}>
        Decline
      </button>
      <button type="button" class="button quiet" disabled={off} onClick={onCancel}>
        Dismiss
      </button>
    </>
  );
}

function Fields(props: ElicitationProps) {
  const { question, sending = false, barred, onAnswer, onDecline, onCancel } = props;
  const fields = useMemo(() => fieldsOf(question.schema), [question.schema]);
  const [form, fill] = useFormDraft(question.requestId, fields);
  const [touched, setTouched] = useState<ReadonlySet<string>>(new Set());
  const place = useRef<HTMLDivElement>(null);
  const off = sending || barred !== undefined;
  const schema = isObject(question.schema) ? question.schema : {};
  const description = text(schema.description) ?? "";

  const touch = (key: string) => setTouched((before) => (before.has(key) ? before : new Set(before).add(key)));
  const submit = (event: Event) => {
    event.preventDefault();
    if (off) return;
    const wrong = fields.find((field) => complaint(field, form[field.key]) !== undefined);
    if (wrong === undefined) {
      onAnswer(answersOf(fields, form));
      return;
    }
    setTouched(new Set(fields.map((field) => field.key)));
    const index = fields.indexOf(wrong);
    place.current?.querySelectorAll<HTMLElement>("[data-field]")[index]?.querySelector<HTMLElement>("input, select, textarea")?.focus();
  };
  return (
    <QuestionCard
      {...cardOf(props)}
      onSubmit={submit}
      answers={
        <>
          <button type="submit" class="button primary" disabled={off}>
            Send answer
          </button>
          <Refusals off={off} onDecline={onDecline} onCancel={onCancel} />
        </>
      }
    >
      <div class="th-fields" ref={place}>
        {description !== "" && <p class="th-quiet">{visibleWords(description)}</p>}
        {fields.map((field) => (
          <FieldView
            key={field.key}
            field={field}
            filled={form[field.key]}
            wrong={touched.has(field.key) ? complaint(field, form[field.key]) : undefined}
            off={off}
            onFill={(value) => fill(field.key, value)}
            onLeave={() => touch(field.key)}
          />
        ))}
        {fields.length === 0 && question.schema != null && Object.keys(schema.properties ?? {}).length === 0 && (
          <RawJson id={`${question.requestId}/schema`} label="What the agent asks for" value={question.schema} />
        )}
      </div>
    </QuestionCard>
  );
}

function openTab(href: string): void {
  window.open(href, "_blank", "noopener,noreferrer");
}

/** Shows the target of the URL before anything opens. */
function Address(props: ElicitationProps) {
  const { question, sending = false, barred, onAccept, onDecline, onCancel, open = openTab } = props;
  const [opened, setOpened] = useState(false);
  const url = question.url ?? "";
  const goal = destination(url);
  const off = sending || barred !== undefined;
  const refusals = <Refusals off={off} onDecline={onDecline} onCancel={onCancel} />;
  if (goal === undefined) {
    return (
      <QuestionCard {...cardOf(props)} answers={refusals}>
        <p class="error-text">Not a web address, not opened:</p>
        <pre class="th-pre">{visibleLine(url)}</pre>
      </QuestionCard>
    );
  }
  const go = () => {
    open(goal.href);
    setOpened(true);
  };
  const answers = (
    <>
      <button type="button" class={`button ${opened ? "" : "primary"}`} disabled={off} onClick={go}>
        <Icon name="link" />
        {opened ? "Open again" : `Open ${visibleLine(goal.host)}`}
      </button>
      {opened && (
        <button type="button" class="button primary" disabled={off} onClick={onAccept}>
          I’ve finished
        </button>
      )}
      {refusals}
    </>
  );
  return (
    <QuestionCard {...cardOf(props)} answers={answers}>
      <dl class="th-goal">
        <dt>Destination</dt>
        <dd class="th-goal-host">{visibleLine(goal.host)}</dd>
        <dt>Address</dt>
        <dd class="th-goal-url">
          <span class="mono">{visibleLine(goal.href)}</span>
          <CopyButton text={goal.href} what="address" />
        </dd>
      </dl>
      {goal.insecure && <p class="th-warning">The connection to this page is not encrypted.</p>}
      {goal.disguise !== undefined && (
        <p class="th-warning">
          “{visibleLine(goal.disguise)}” in this address is a user name, not where it leads.
        </p>
      )}
    </QuestionCard>
  );
}
