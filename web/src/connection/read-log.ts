/**
 * Reads a thread's log from its beginning, over a connection of its own so that what is live does not have to wait. For
 * what the latest pages do not have: the audit trail, and what an agent said when it was started.
 */

import { connect, type ThreadEvent } from "@acpd/client";

import { CLIENT_INFO } from "./connection.ts";
import { PageSocket } from "./page-key.ts";

/** Hands on every event until `onEvent` answers false, or the log's end as it is now. */
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
