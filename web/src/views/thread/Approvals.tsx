// What the agent asks and nobody has answered yet, and who has answered what was asked in the latest turn.

import type { QuestionAnswered, Role, Subscriber } from "@acpd/client";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import { inOneLine } from "../../state/subjects.ts";
import type { Decision, Question, ThreadState } from "../../state/thread.ts";
import type { ThreadViewProps } from "../thread-props.ts";
import { answerWith } from "./answers.ts";
import { Approval, Settled } from "./Approval.tsx";
import { Elicitation } from "./Elicitation.tsx";
import { Surroundings, type ThreadContext } from "./context.ts";
import { who } from "./Notice.tsx";
import { diffStyle } from "./settings.ts";

/** Milliseconds for which an answered question is still shown, so that nobody wonders where it went. */
const SHOWN = 12_000;

export function Approvals(props: ThreadViewProps) {
  // Answers of one thread are no news in another.
  return <Questions key={props.thread.threadId} {...props} />;
}

function Questions({ thread, actions, role, online }: ThreadViewProps) {
  const settled = useSettled(thread);
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
  const asked = useMemo(() => thread.others.filter((other) => other.mayAnswer).map(named), [thread.others]);
  if (thread.questions.length === 0 && settled.length === 0) return null;
  return (
    <Surroundings.Provider value={context}>
      <div class="th-questions" aria-label="Questions of the agent" role="region">
        {settled.map(({ params, question }) => (
          <Settled
            key={params.requestId}
            title={"subjects" in question.params ? inOneLine(question.params) : question.params.title}
            resolved={params}
            options={"options" in question.params ? question.params.options : []}
          />
        ))}
        {thread.questions.map((question) => (
          <Asked
            key={question.params.requestId}
            question={question}
            barred={barred(role, online)}
            others={asked}
            onAnswer={(answer) => actions.answer(question, answer)}
          />
        ))}
      </div>
    </Surroundings.Provider>
  );
}

function named({ principal, client }: Subscriber): string {
  return who({ kind: "client", principal, client });
}

function barred(role: Role, online: boolean): string | undefined {
  if (role === "observer") return "You cannot answer: your role is observer.";
  return online ? undefined : "Not connected. You can answer after reconnecting.";
}

interface AskedProps {
  question: Question;
  barred: string | undefined;
  /** Who else is asked. */
  others: readonly string[];
  onAnswer: (answer: QuestionAnswered) => Promise<void>;
}

function Asked({ question, barred: why, others, onAnswer }: AskedProps) {
  const [sending, setSending] = useState(false);
  const [error, setError] = useState<string>();
  // Pressed by a key: whoever works by keys alone is not to lose their place when the card goes.
  const pressed = useRef<HTMLElement | undefined>(undefined);
  useEffect(() => () => void (pressed.current && goOn()), []);
  const answer = async (answered: QuestionAnswered) => {
    const at = document.activeElement;
    pressed.current = at instanceof HTMLElement && at.matches(":focus-visible") ? at : undefined;
    setSending(true);
    setError(undefined);
    try {
      // The card goes when the event says that the question is answered: by whom, it says too.
      await onAnswer(answered);
    } catch (problem) {
      setError(problem instanceof Error ? problem.message : String(problem));
      requestAnimationFrame(() => pressed.current?.focus());
    } finally {
      setSending(false);
    }
  };
  const state = { sending, error, others, barred: why };
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
      onAnswer={(option) => void answer(answerWith(option))}
    />
  );
}

/** On to what comes next, if the person is nowhere else meanwhile. */
function goOn(): void {
  requestAnimationFrame(() => {
    if (document.activeElement === document.body) {
      const next = document.querySelector<HTMLElement>(".th-composer-area") ?? document.querySelector<HTMLElement>(".pane [role=feed]");
      next?.focus();
    }
  });
}

type ResolvedDecision = Extract<Decision, { method: "serverRequest/resolved" }> & { question: Question };

/** Questions that were answered while the page looked on: each for a while. */
function useSettled(thread: ThreadState): readonly ResolvedDecision[] {
  const [seen] = useState(() => new Set(thread.decisions));
  const [shown, setShown] = useState<readonly ResolvedDecision[]>([]);
  useEffect(() => {
    const fresh = thread.decisions.filter((decision): decision is ResolvedDecision => {
      if (seen.has(decision)) return false;
      seen.add(decision);
      return decision.method === "serverRequest/resolved" && decision.question !== undefined;
    });
    if (fresh.length === 0) return;
    setShown((before) => [...before, ...fresh].slice(-3));
    // Not taken back when the thread changes again: each goes when its own time is over.
    setTimeout(() => setShown((before) => before.filter((one) => !fresh.includes(one))), SHOWN);
  }, [thread.decisions]);
  return shown;
}
