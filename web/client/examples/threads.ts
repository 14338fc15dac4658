/** Lists all threads, or searches them: node threads.ts [WORDS]. */

import { connect, type Result } from "@acpd/client";
import WebSocket from "ws";

const client = connect({
  url: process.env.ACPD_URL ?? "http://127.0.0.1:4127",
  token: process.env.ACPD_TOKEN, // the content of "token" in the data directory of the daemon
  clientInfo: { name: "threads.ts" },
  WebSocket,
});
await client.ready({ timeoutMs: 5_000 });
const query = process.argv.slice(2).join(" ");
if (query) {
  const { data } = await client.call("thread/search", { query });
  for (const { threadId, kind, snippet } of data) {
    console.log(threadId, kind, snippet.map(({ text }) => text).join(""));
  }
} else {
  let cursor: string | null = null;
  do {
    const page: Result<"thread/list"> = await client.call("thread/list", { limit: 20, cursor });
    for (const { id, updatedAt, status, name } of page.data) {
      console.log(id, new Date(updatedAt).toISOString(), status, name ?? "");
    }
    cursor = page.nextCursor ?? null;
  } while (cursor);
}
client.close();
