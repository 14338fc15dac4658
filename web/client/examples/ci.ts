/**
 * Runs a prompt in CI: node ci.ts PROMPT. The exit code is that of "acpd run": 0 if the turn completed, 1 if it did not, 6 if
 * there is no daemon, and 8 if a question was declined.
 */

import { AcpdError, APPROVALS, connect, type Turn } from "@acpd/client";
import WebSocket from "ws";

/** No prompt may take longer, in milliseconds. */
const LIMIT_MS = 600_000;

const declined: string[] = [];
const client = connect({
  url: process.env.ACPD_URL ?? "http://127.0.0.1:4127",
  token: process.env.ACPD_TOKEN, // the content of "token" in the data directory of the daemon
  clientInfo: { name: "ci.ts" },
  capabilities: { approvals: true },
  WebSocket,
});
for (const method of APPROVALS) {
  client.answer(method, ({ title }) => {
    declined.push(title);
    return { decision: "decline" };
  });
}
client.answer("item/tool/requestUserInput", () => ({ dismissed: true }));

async function run(text: string): Promise<Turn> {
  await client.ready({ timeoutMs: 5_000 });
  const { thread } = await client.call("thread/start", { agentType: "demo", cwd: process.cwd(), text });
  const signal = AbortSignal.timeout(LIMIT_MS);
  for await (const { method, params } of client.follow(thread.id, { after: 0, signal })) {
    if (method === "item/agentMessage/delta") {
      process.stdout.write(params.text ?? "");
    } else if (method === "turn/completed") {
      process.stdout.write("\n");
      return params.turn;
    }
  }
  throw new Error(`the turn took longer than ${LIMIT_MS} ms`);
}

try {
  const { status, error } = await run(process.argv.slice(2).join(" "));
  for (const title of declined) {
    console.error(`declined, because no user is here to ask: ${title}`);
  }
  if (status !== "completed") {
    console.error(`the turn is ${status}: ${error ?? "no reason"}`);
  }
  process.exitCode = status !== "completed" ? 1 : declined.length > 0 ? 8 : 0;
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = error instanceof AcpdError && error.code === "disconnected" ? 6 : 1;
}
client.close();
