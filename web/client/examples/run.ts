/** Runs one prompt and prints the answer: node run.ts [PROMPT]. */

import { APPROVALS, connect } from "@acpd/client";
import WebSocket from "ws"; // for Node; browsers have a built-in one

const client = connect({
  url: process.env.ACPD_URL ?? "http://127.0.0.1:4127",
  token: process.env.ACPD_TOKEN, // the content of "token" in the data directory of the daemon
  clientInfo: { name: "run.ts" },
  capabilities: { approvals: true },
  WebSocket,
});
// The client answers nothing by default, and a question without an answer would keep the turn waiting.
for (const method of APPROVALS) {
  client.answer(method, () => ({ decision: "decline" }));
}
client.answer("item/tool/requestUserInput", () => ({ dismissed: true }));

await client.ready({ timeoutMs: 5_000 });
const text = process.argv.slice(2).join(" ") || "Show me what you can do";
const { thread } = await client.call("thread/start", { agentType: "demo", cwd: process.cwd(), text });
for await (const { method, params } of client.follow(thread.id, { after: 0 })) {
  if (method === "item/agentMessage/delta") {
    process.stdout.write(params.text ?? "");
  } else if (method === "turn/completed") {
    process.stdout.write("\n");
    break;
  }
}
client.close();
