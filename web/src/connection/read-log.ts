/**
 * Reads a thread's log from its start. A separate connection keeps live events from waiting. Used for data that the
 * latest turns do not contain: the audit trail, and the agent's `initialize` response.
 */

import { connect, type ThreadEvent } from "@acpd/client";

import { CLIENT_INFO } from "./connection.ts";
import { PageSocket } from "./page-key.ts";

/** Calls `onEvent` for every event, until it returns false or the current end of the log is reached. */
export async function readLog(
  threadId: string,
  onEvent: (event: ThreadEvent) => boolean | void,
  signal?: AbortSignal,
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
    if (thread.latestSeq === 0) {
      return;
    }
    for await (const event of client.follow(threadId, { after: 0, signal })) {
      if (onEvent(event) === false || (event.params.seq ?? 0) >= thread.latestSeq) {
        return;
      }
    }
  } finally {
    signal?.removeEventListener("abort", close);
    client.close();
  }
}
