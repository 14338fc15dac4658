// The open questions of the agent.

import type { QuestionAnswered, Role, Subscriber } from "@acpd/client";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import { formDraft, keepDraft } from "../../../app/drafts.ts";
import { focusWhenThere } from "../../../app/focus.ts";
import { goOnAfterAnswer, noteAnswer } from "../../../app/waiting-walk.ts";
import { CLIENT_INFO } from "../../../connection/client-info.ts";
import { shared, standing } from "../../../connection/connection.ts";
import { callOf } from "../../../state/lanes.ts";
import { widerScopes } from "../../../state/scopes.ts";
import { heading } from "../../../state/subjects.ts";
import type { Question } from "../../../state/thread.ts";
import type { ThreadViewProps } from "../../thread-props.ts";
import { answerWith } from "./answers.ts";
import { Approval } from "./Approval.tsx";
import { lazy } from "../../parts/lazy.tsx";
import { CurrentThread, type ThreadContext } from "../content/context.ts";
import { diffStyle } from "../content/settings.ts";
import { visibleLine } from "../../../text/bidi-guard.ts";
import { who } from "../../../text/who.ts";
import type { ElicitationProps } from "./Elicitation.tsx";
import { layoutOf, showSheet } from "./sheet.ts";

/** Agents rarely ask for forms. */
const Elicitation = lazy<ElicitationProps>(() =>
  import("./Elicitation.tsx").then(({ Elicitation }) => ({ default: Elicitation })),
);

export default function Approvals(props: ThreadViewProps) {
  // Answers of one thread must not appear as new in another.
  return <Questions key={props.thread.threadId} {...props} />;
}

function Questions({ thread, actions, role, online }: ThreadViewProps) {
  const style = diffStyle.value;
  const folds = useMemo(() => new Map<string, boolean>(), [thread.threadId]);
  const context = useMemo(
    (): ThreadContext => ({
      cwd: thread.head.cwd,
      diffStyle: style,
      setDiffStyle: (next) => {
        diffStyle.value = next;
      },
      folds,
      terminal: () => undefined,
    }),
    [thread.head.cwd, style, folds],
  );
  const asked = useMemo(() => others(thread.others), [thread.others, standing.value]);
  const layout = layoutOf(thread.questions);
  if (thread.questions.length === 0) return null;
  // The title of a form begins with the name already.
  const askerOf = ({ params }: Question) => (params.lane != null && "subjects" in params ? callOf(thread.lanes[params.lane]) : undefined);
  if (layout === "folded") return <Folded question={thread.questions[0]!} asker={askerOf(thread.questions[0]!)} />;
  // A sheet shows one question.
  const shown = layout === "sheet" ? thread.questions.slice(0, 1) : thread.questions;
  const place = thread.questions.length > 1 ? `1 of ${thread.questions.length}` : "";
  return (
    <CurrentThread.Provider value={context}>
      <div class={`th-questions is-${shown.length === 1 ? "one" : "many"}`} aria-label="Questions of the agent" role="region">
        {shown.map((question) => (
          <Asked
            key={question.params.requestId}
            question={question}
            role={role}
            barred={barred(role, online)}
            asker={askerOf(question)}
            others={asked}
            sheet={layout === "sheet" ? place : undefined}
            onAnswer={(answer) => actions.answer(question, answer)}
          />
        ))}
      </div>
    </CurrentThread.Provider>
  );
}

/** The line in place of a folded sheet. */
function Folded({ question, asker }: { question: Question; asker: string | undefined }) {
  const { params } = question;
  const open = () => {
    showSheet(params.requestId, true);
    focusWhenThere("[data-question]");
  };
  return (
    <button type="button" class="button th-folded" onClick={open}>
      <span class="truncate">
        <strong>{shared.value ? "Waiting for an answer:" : "Waiting for you:"}</strong> {asker !== undefined && `${asker}: `}
        {"subjects" in params ? heading(params.subjects) : visibleLine(params.title)}
      </span>
      <span class="th-folded-open">Show</span>
    </button>
  );
}

/** Names the other subscribers who receive the questions, except for the user's own pages. */
function others(subscribers: readonly Subscriber[]): readonly string[] {
  const { value: me } = standing;
  return subscribers
    .filter(({ mayAnswer }) => mayAnswer)
    .filter(({ principal, client }) => !(me.name === "in" && me.session.principal === principal && client === CLIENT_INFO.name))
    .map(({ principal, client }) => who({ kind: "client", principal, client }));
}

function barred(role: Role, online: boolean): string | undefined {
  if (shared.peek() !== undefined) return "Waiting for an answer.";
  if (role === "observer") return "View only. Someone else needs to answer.";
  return online ? undefined : "Not connected. You can answer after reconnecting.";
}

interface AskedProps {
  question: Question;
  role: Role;
  barred: string | undefined;
  /** The subagent that asks, unless it is the main agent. */
  asker: string | undefined;
  /** The other subscribers who receive the question. */
  others: readonly string[];
  /** In a sheet: which of how many questions it is. */
  sheet: string | undefined;
  onAnswer: (answer: QuestionAnswered) => Promise<void>;
}

function Asked({ question, role, barred: why, asker, others, sheet, onAnswer }: AskedProps) {
  const [sending, setSending] = useState(false);
  const [error, setError] = useState<string>();
  const { requestId, threadId } = question.params;
  // Where the user answered. The card disappears with the focus, which must not be lost.
  const pressed = useRef<HTMLElement | undefined>(undefined);
  const byKeys = useRef(false);
  useEffect(
    () => () => {
      const hasFocus = document.activeElement?.closest<HTMLElement>("[data-question]")?.dataset.question === requestId;
      if (pressed.current !== undefined || hasFocus) {
        requestAnimationFrame(() => goOnAfterAnswer(threadId, byKeys.current));
      }
    },
    [],
  );
  const answer = async (answered: QuestionAnswered) => {
    pressed.current = document.activeElement instanceof HTMLElement ? document.activeElement : undefined;
    byKeys.current = pressed.current?.matches(":focus-visible") === true;
    setSending(true);
    setError(undefined);
    noteAnswer(requestId);
    try {
      // The card disappears with the event of the answer, which contains its author.
      await onAnswer(answered);
      keepDraft(formDraft(requestId), "");
    } catch (problem) {
      noteAnswer(requestId, false);
      setError(problem instanceof Error ? problem.message : String(problem));
      requestAnimationFrame(() => pressed.current?.focus());
    } finally {
      setSending(false);
    }
  };
  const state = { sending, error, others, barred: why, asker, sheet };
  if (question.method === "item/tool/requestUserInput") {
    return (
      <Elicitation
        question={question.params}
        {...state}
        onAnswer={(answers) => void answer({ answers })}
        onAccept={() => void answer({ decision: "accept" })}
        onDecline={() => void answer({ decision: "decline" })}
        onCancel={() => void answer({ decision: "cancel" })}
      />
    );
  }
  return (
    <Approval
      question={question.params}
      {...state}
      scopes={widerScopes(role)}
      onAnswer={(option, scope) => void answer(answerWith(option, scope))}
    />
  );
}
