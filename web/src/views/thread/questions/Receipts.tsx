// The answers to questions, each for a moment above the composer. They take no room and no clicks: the conversation keeps them.

import { useEffect, useRef, useState } from "preact/hooks";

import { heldFor } from "../../../state/scopes.ts";
import { inOneLine } from "../../../state/subjects.ts";
import type { Decision, Question, ThreadState } from "../../../state/thread.ts";
import { Settled } from "./Approval.tsx";

import "./questions.css";

/** Milliseconds for which an answer is visible. */
const SHOWN = 3_000;
/** Maximum number of visible answers. */
const MOST = 3;

export interface ReceiptsProps {
  thread: Pick<ThreadState, "threadId" | "head" | "decisions">;
}

export default function Receipts({ thread }: ReceiptsProps) {
  // Answers of one thread must not appear as new in another.
  return <List key={thread.threadId} thread={thread} />;
}

function List({ thread: { head, decisions } }: ReceiptsProps) {
  const shown = useSettled(decisions);
  return (
    <div class="th-receipts" role="status">
      {shown.map(({ params, question }) => (
        <Settled
          key={params.requestId}
          title={"subjects" in question.params ? inOneLine(question.params, head.cwd) : question.params.title}
          form={question.method === "item/tool/requestUserInput"}
          resolved={params}
          options={"options" in question.params ? question.params.options : []}
          held={heldOf(decisions, params.seq)}
        />
      ))}
    </div>
  );
}

/** Returns for how long the answer of an event is remembered: the event before it says so. */
function heldOf(decisions: readonly Decision[], seq: number): string | undefined {
  const before = decisions.find(({ method, params }) => method === "policy/remembered" && params.seq === seq - 1);
  return before?.method === "policy/remembered" ? heldFor(before.params.answer) : undefined;
}

type ResolvedDecision = Extract<Decision, { method: "serverRequest/resolved" }> & { question: Question };

/** Returns questions that were answered since the page opened the thread, each for a while. */
function useSettled(decisions: readonly Decision[]): readonly ResolvedDecision[] {
  const [seen] = useState(() => new WeakSet<Decision>(decisions));
  const [shown, setShown] = useState<readonly ResolvedDecision[]>([]);
  const timers = useRef(new Set<ReturnType<typeof setTimeout>>());
  useEffect(() => () => timers.current.forEach(clearTimeout), []);
  useEffect(() => {
    const fresh = decisions.filter((decision): decision is ResolvedDecision => {
      if (seen.has(decision)) return false;
      seen.add(decision);
      return decision.method === "serverRequest/resolved" && decision.question !== undefined;
    });
    if (fresh.length === 0) return;
    setShown((before) => [...before, ...fresh].slice(-MOST));
    // Not cleared when the thread changes again: each disappears after its own time.
    const timer = setTimeout(() => {
      timers.current.delete(timer);
      setShown((before) => before.filter((one) => !fresh.includes(one)));
    }, SHOWN);
    timers.current.add(timer);
  }, [decisions]);
  return shown;
}
