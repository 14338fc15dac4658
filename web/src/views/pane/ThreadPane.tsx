/** A thread: its header, the conversation, the plan, the questions, and the composer. */

import { useEffect, useMemo, useRef } from "preact/hooks";

import { go } from "../../app/route.ts";
import { see } from "../../app/seen.ts";
import { open, unarchive } from "../../app/threads.ts";
import { online, shared, standing, startsThreads } from "../../connection/connection.ts";
import type { OpenThread, Shown } from "../../connection/open-thread.ts";
import { agentNameOf } from "../../state/acp.ts";
import { queueOf } from "../../state/fold-turns.ts";
import { rowKeyOf } from "../../state/rows.ts";
import type { Question } from "../../state/thread.ts";
import { type ThreadActivity, nameOf } from "../../state/threads.ts";
import { waitsFor } from "../../state/waiting-question.ts";
import type { SignInCardProps } from "../agents/SignInCard.tsx";
import { lazy, usePreload } from "../parts/lazy.tsx";
import { StatusPill } from "../parts/StatusMark.tsx";
import { Head } from "../parts/Head.tsx";
import { ThreadPlace } from "../parts/ThreadPlace.tsx";
import { ThreadMenu } from "../sidebar/ThreadMenu.tsx";
import { layoutOf } from "../thread/questions/sheet.ts";
import { Composer, Conversation, PlanCard, promptCapabilitiesOf, TextDiff, UnifiedDiff } from "../thread/index.ts";
import type { SharedPlaceProps } from "../share/SharedPlace.tsx";
import type { ReceiptsProps } from "../thread/questions/Receipts.tsx";
import type { ThreadViewProps } from "../thread-props.ts";

import { layOut, listenForPrinting } from "./paper.ts";
import { Opening, type ThreadPaneProps } from "./Opening.tsx";
import { useEnds, useFocusOnOpen, useFoundWords, useSeek, useSignIn } from "./hooks.ts";

import "./pane.css";

const Approvals = lazy<ThreadViewProps>(() => import("../thread/questions/Approvals.tsx"));
const Receipts = lazy<ReceiptsProps>(() => import("../thread/questions/Receipts.tsx"));
const Queue = lazy<ThreadViewProps>(() => import("../thread/queue/Queue.tsx"));
const SharedPlace = lazy<SharedPlaceProps>(() => import("../share/SharedPlace.tsx"));
const SignInCard = lazy<SignInCardProps>(() => import("../agents/SignInCard.tsx"));

/** The most turns of a shared thread that a reader opens at its beginning: they are loaded for that. A longer one opens at its end. */
const READ_WHOLE = 200;

// The browser's own command prints the open thread; the page's commands import this module.
listenForPrinting();
export { layOut };

export default function ThreadPane({ threadId, target, find }: ThreadPaneProps) {
  const thread = open.value;
  if (!thread || thread.threadId !== threadId) {
    return <Opening threadId={threadId} />;
  }
  if (thread.failed.value) {
    return <Failed error={thread.failed.value} />;
  }
  const { value: shown } = thread.shown;
  return shown ? <Pane key={threadId} open={thread} shown={shown} target={target} find={find} /> : <Opening threadId={threadId} />;
}

function Pane({ open: thread, shown, target, find }: { open: OpenThread; shown: Shown } & Omit<ThreadPaneProps, "threadId">) {
  const { thread: state, rows } = shown;
  const { head } = state;
  const { value: who } = standing;
  const isShared = shared.value !== undefined;
  const role = who.name === "in" ? who.session.role : "observer";
  const last = state.turns.findLast(({ id, status }) => id != null && status !== "queued");
  const live: ThreadActivity =
    head.status === "waiting" || head.status === "running"
      ? head.status
      : last?.status === "failed"
        ? "failed"
        : "idle";

  // A visible thread counts as seen, also when the page becomes visible again.
  useEffect(() => {
    const look = () => see(state.threadId, head.updatedAt);
    look();
    document.addEventListener("visibilitychange", look);
    return () => document.removeEventListener("visibilitychange", look);
  }, [head.updatedAt, head.status]);

  const seeking = useSeek(thread, target);
  useFoundWords(target === undefined ? undefined : find);
  useFocusOnOpen();
  useEnds(last?.id ?? undefined, last?.status);
  usePreload(Approvals, Queue, UnifiedDiff, TextDiff);
  // Answers are visible for a moment.
  const asked = useRef(false);
  asked.current ||= state.questions.length > 0;

  const { wantsSignIn, isSignedIn } = useSignIn(state, role);
  const promptCapabilities = useMemo(
    () => (state.initialize === undefined ? undefined : promptCapabilitiesOf(state.initialize)),
    [state.initialize],
  );
  const props: ThreadViewProps = {
    thread: state,
    rows,
    actions: thread,
    role,
    online: online.value,
    // Nested items appear in their parent's row.
    target: target === undefined ? undefined : rowKeyOf(rows, target),
    toEnd: thread.sent.value,
    fromStart: isShared && head.turnCount <= READ_WHOLE,
  };
  return (
    <div class={layoutOf(state.questions) === "sheet" ? "pane has-sheet" : "pane"} data-thread={state.threadId}>
      <Head
        title={nameOf(head)}
        sub={
          isShared ? (
            <SharedPlace agent={agentNameOf(state.initialize) ?? head.agentType} cwd={head.cwd} createdAt={head.createdAt} />
          ) : (
            <ThreadPlace agentType={head.agentType} cwd={head.cwd} />
          )
        }
      >
        <Chip live={live} question={state.questions[0]} wantsSignIn={wantsSignIn && !isSignedIn} />
        <ThreadMenu thread={head} />
      </Head>
      {head.archived && (
        <p class="pane-note">
          This thread is archived.
          {(role === "operator" || role === "owner") && (
            <button type="button" class="button" onClick={() => void unarchive(state.threadId)}>
              Unarchive
            </button>
          )}
        </p>
      )}
      {state.deleted && <p class="pane-note">This thread was deleted.</p>}
      <div class="pane-body">
        {seeking && <div class="progress-line" role="progressbar" aria-label="Loading the search result" />}
        {rows.length > 0 ? (
          <Conversation {...props} />
        ) : (
          <div class="pane-empty">
            <p>No messages yet</p>
          </div>
        )}
        {asked.current && <Receipts thread={state} />}
      </div>
      <div class="pane-foot">
        <PlanCard {...props} />
        {wantsSignIn && <SignInCard thread={state} actions={thread} isSignedIn={isSignedIn} />}
        {queueOf(state).length > 0 && <Queue {...props} />}
        {asked.current && <Approvals {...props} />}
        <Composer {...props} promptCapabilities={promptCapabilities} />
      </div>
    </div>
  );
}

/** Says in the header what needs the user. The conversation shows all else. */
function Chip({ live, question, wantsSignIn }: { live: ThreadActivity; question: Question | undefined; wantsSignIn: boolean }) {
  if (wantsSignIn && live !== "running") {
    return <StatusPill live="waiting" says="waits for a sign-in" />;
  }
  if (live === "waiting") {
    const type = question?.method === "item/tool/requestUserInput" ? "input" : "permission";
    return <StatusPill live={live} says={waitsFor(question && { type })} />;
  }
  return live === "failed" ? <StatusPill live={live} /> : null;
}

function isMissing(error: Error): boolean {
  return (error as { code?: string }).code === "not_found";
}

function Failed({ error }: { error: Error }) {
  return (
    <div class="pane">
      <Head title="Thread" />
      <div class="empty" role="alert">
        <p>{isMissing(error) ? "This thread does not exist. It may have been deleted." : `Couldn’t open the thread: ${error.message}`}</p>
        {shared.value === undefined && (
          <p>
            <button type="button" class="button" onClick={() => go({ view: "home" })}>
              {startsThreads.value ? "New thread" : "Threads"}
            </button>
          </p>
        )}
      </div>
    </div>
  );
}
