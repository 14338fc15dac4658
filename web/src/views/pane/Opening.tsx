/** A thread whose events, or whose code, are being loaded. */

import { threads } from "../../app/threads.ts";
import { online } from "../../connection/connection.ts";
import { nameOf } from "../../state/threads.ts";
import { Head } from "../parts/Head.tsx";
import { ThreadPlace } from "../parts/ThreadPlace.tsx";

import "./opening.css";

export interface ThreadPaneProps {
  threadId: string;
  /** The item to show. */
  target?: string;
  /** The words to mark in it. */
  find?: string;
}

export function Opening({ threadId }: Pick<ThreadPaneProps, "threadId">) {
  const known = threads.value?.find(({ id }) => id === threadId);
  return (
    <div class="pane">
      <Head title={known ? nameOf(known) : "Thread"} sub={known && <ThreadPlace agentType={known.agentType} cwd={known.cwd} />} />
      <div class="skeleton" aria-hidden="true">
        {[...Array(9).keys()].map((line) => (
          <span key={line} />
        ))}
      </div>
      <p class="sr-only" role="status">
        {online.value ? "Opening…" : "Waiting for the daemon…"}
      </p>
    </div>
  );
}
