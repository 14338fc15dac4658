/**
 * Reads a thread's log, which starts no agent. A separate connection keeps live events from waiting. Used for data that the
 * latest turns do not contain: the audit trail, and what the lookups below find.
 */

import { connect, type Json, type ThreadEvent } from "@acpd/client";

import type { Question } from "../state/thread.ts";

import { CLIENT_INFO } from "./client-info.ts";
import { PageSocket } from "./page-key.ts";

/** Calls `onEvent` for every event after `after`, until it returns false or the current end of the log is reached. */
export async function readLog(
  threadId: string,
  onEvent: (event: ThreadEvent) => boolean | void,
  signal?: AbortSignal,
  after = 0,
): Promise<void> {
  const client = connect({
    url: "/",
    clientInfo: CLIENT_INFO,
    WebSocket: PageSocket,
    page: null,
    onError: (error) => console.warn(error),
  });
  const close = () => client.close();
  signal?.addEventListener("abort", close);
  try {
    await client.ready();
    const { thread } = await client.call("thread/read", { threadId });
    if (thread.latestSeq <= after) {
      return;
    }
    for await (const event of client.follow(threadId, { after, signal, startAgent: false })) {
      if (onEvent(event) === false || (event.params.seq ?? 0) >= thread.latestSeq) {
        return;
      }
    }
  } finally {
    signal?.removeEventListener("abort", close);
    client.close();
  }
}

/** Returns the agent's `initialize` response, from the agent's start. */
export async function findInitialize(threadId: string, signal: AbortSignal): Promise<Json | undefined> {
  let found: Json | undefined;
  const look = (event: ThreadEvent) => {
    found = event.method === "thread/updated" ? (event.params.agent?.initialize ?? undefined) : undefined;
    return found === undefined;
  };
  await readLog(threadId, look, signal).catch(() => {});
  return found;
}

/** Calls `onQuestion` for each of these questions. */
export async function findQuestions(
  threadId: string,
  ids: Iterable<string>,
  onQuestion: (question: Question) => void,
  signal: AbortSignal,
): Promise<void> {
  const missing = new Set(ids);
  const look = (event: ThreadEvent) => {
    if ("requestId" in event.params && "title" in event.params && missing.delete(event.params.requestId)) {
      onQuestion(event as Question);
    }
    return missing.size > 0;
  };
  if (missing.size > 0) {
    await readLog(threadId, look, signal).catch(() => {});
  }
}
