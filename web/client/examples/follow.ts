/**
 * Follows a thread and resumes where it stopped: node follow.ts THREAD [CURSOR_FILE]. Prints what happened since the last run,
 * and follows a running turn to its end.
 */

import { existsSync, readFileSync, writeFileSync } from "node:fs";

import { connect } from "@acpd/client";
import WebSocket from "ws";

const [threadId = "", cursorFile = `${threadId}.cursor`] = process.argv.slice(2);
const after = existsSync(cursorFile) ? Number(readFileSync(cursorFile, "utf8")) : 0;

const client = connect({
  url: process.env.ACPD_URL ?? "http://127.0.0.1:4127",
  token: process.env.ACPD_TOKEN, // the content of "token" in the data directory of the daemon
  clientInfo: { name: "follow.ts" },
  WebSocket,
});
await client.ready({ timeoutMs: 5_000 });
const events = client.follow(threadId, { after, startAgent: false });
const { thread, latestSeq } = await events.resumed;
let isRunning = thread.status === "running" || thread.status === "waiting";
// The client reconnects whenever necessary, and no event is missing or comes twice.
while (isRunning || (events.cursor ?? 0) < latestSeq) {
  const { value: event } = await events.next();
  if (!event) {
    break;
  }
  console.log(event.params.seq, event.method);
  // Without its number, a program that is stopped here receives the event again.
  writeFileSync(cursorFile, String(events.cursor));
  if (event.method === "turn/completed" && event.params.seq > latestSeq) {
    isRunning = false;
  }
}
client.close();
