/** A thread: its header, the conversation, the plan, the questions, and the composer. */

import { useEffect, useMemo, useState } from "preact/hooks";

import { announce } from "../../app/live-region.ts";
import { go } from "../../app/route.ts";
import { open, see, unarchive } from "../../app/threads.ts";
import { online, standing } from "../../connection/connection.ts";
import type { OpenThread, Shown } from "../../connection/open-thread.ts";
import { folderOf, type ThreadActivity, nameOf } from "../../state/threads.ts";
import { StatusPill } from "../parts/StatusMark.tsx";
import { Head } from "../parts/Head.tsx";
import { ThreadMenu } from "../sidebar/ThreadMenu.tsx";
import { Approvals, Composer, Conversation, PlanCard, promptCapabilitiesOf, Queue } from "../thread/index.ts";
import type { ThreadViewProps } from "../thread-props.ts";

import "./pane.css";

export function ThreadPane({ threadId, target }: { threadId: string; target?: string }) {
  const thread = open.value;
  if (!thread || thread.threadId !== threadId) {
    return <Waiting />;
  }
  if (thread.failed.value) {
    return <Failed error={thread.failed.value} />;
  }
  const { value: shown } = thread.shown;
  return shown ? <Pane key={threadId} open={thread} shown={shown} target={target} /> : <Waiting />;
}

function Pane({ open: thread, shown, target }: { open: OpenThread; shown: Shown; target?: string }) {
  const { thread: state, rows } = shown;
  const { head } = state;
  const { value: who } = standing;
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
    const look = () => see(state.threadId, head.updatedAt, state.seq);
    look();
    document.addEventListener("visibilitychange", look);
    return () => document.removeEventListener("visibilitychange", look);
  }, [head.updatedAt, head.status]);

  useEffect(() => {
    if (target !== undefined) {
      void thread.seek(target);
    }
  }, [thread, target]);

  useEnds(last?.id ?? undefined, last?.status);

  const promptCapabilities = useMemo(
    () => (state.initialize === undefined ? undefined : promptCapabilitiesOf(state.initialize)),
    [state.initialize],
  );
  const rowOf = (itemId: string) =>
    rows.find((row) => row.kind === "item" && row.children.some((child) => child.itemId === itemId))?.key ?? itemId;
  const props: ThreadViewProps = {
    thread: state,
    rows,
    actions: thread,
    role,
    online: online.value,
    // Nested items appear in their parent's row.
    target: target === undefined ? undefined : rowOf(target),
    toEnd: thread.sent.value,
  };
  return (
    <div class="pane">
      <Head
        title={nameOf(head)}
        sub={
          <>
            <span>{head.agentType}</span>
            <span class="truncate mono" title={head.cwd}>
              {folderOf(head.cwd)}
            </span>
          </>
        }
      >
        <StatusPill live={live} />
        <ThreadMenu thread={head} />
      </Head>
      {head.archived && (
        <p class="pane-note">
          This thread is archived.
          <button type="button" class="button" onClick={() => void unarchive(state.threadId)}>
            Take it out
          </button>
        </p>
      )}
      {state.deleted && <p class="pane-note">This thread was deleted.</p>}
      {rows.length > 0 ? (
        <Conversation {...props} />
      ) : (
        <div class="pane-empty">
          <p>Nothing was said yet.</p>
        </div>
      )}
      <div class="pane-foot">
        <PlanCard {...props} />
        <Queue {...props} />
        <Approvals {...props} />
        <Composer {...props} promptCapabilities={promptCapabilities} />
      </div>
    </div>
  );
}

/** Announces the end of a turn to users who do not see the conversation. */
function useEnds(turnId: string | undefined, status: string | undefined): void {
  const [was, setWas] = useState({ turnId, status });
  useEffect(() => {
    if (was.turnId === turnId && was.status === "running" && status !== "running" && status !== undefined) {
      announce(status === "completed" ? "The agent has finished" : `The turn is ${status}`);
    }
    setWas({ turnId, status });
  }, [turnId, status]);
}

function Waiting() {
  return (
    <div class="pane">
      <Head title="Thread" />
      <p class="empty" role="status">
        {online.value ? "Opening…" : "Waiting for the daemon…"}
      </p>
    </div>
  );
}

function Failed({ error }: { error: Error }) {
  return (
    <div class="pane">
      <Head title="Thread" />
      <div class="empty" role="alert">
        <p>It cannot be shown: {error.message}</p>
        <p>
          <button type="button" class="button" onClick={() => go({ view: "home" })}>
            New thread
          </button>
        </p>
      </div>
    </div>
  );
}
