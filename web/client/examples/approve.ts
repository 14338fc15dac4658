/** Answers an agent's questions: allows changes to files below this folder, and declines everything else. */

import { realpathSync } from "node:fs";
import { isAbsolute, relative, sep } from "node:path";

import { type Approval, APPROVALS, type CallSubject, connect, type QuestionAnswered } from "@acpd/client";
import WebSocket from "ws";

function isAllowed(subject: CallSubject): boolean {
  // What the daemon will do, not what the agent says about it.
  if (subject.type !== "file" || subject.access !== "edit") {
    return false;
  }
  // A link below the folder can lead out of it.
  return [subject.path, subject.realPath ?? subject.path].every(isBelow);
}

function isBelow(path: string): boolean {
  const way = relative(realpathSync("."), path);
  return way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

function decide({ title, subjects }: Approval): QuestionAnswered {
  const allowed = subjects.length > 0 && subjects.every(isAllowed);
  console.log(`${allowed ? "allowed" : "declined"}: ${title}`);
  return { decision: allowed ? "accept" : "decline" };
}

const client = connect({
  url: process.env.ACPD_URL ?? "http://127.0.0.1:4127",
  token: process.env.ACPD_TOKEN, // the content of "token" in the data directory of the daemon
  clientInfo: { name: "approve.ts" },
  capabilities: { approvals: true },
  WebSocket,
});
for (const method of APPROVALS) {
  client.answer(method, decide);
}
client.answer("item/tool/requestUserInput", ({ title }) => {
  console.log(`not answered: ${title}`);
  return { dismissed: true };
});

await client.ready({ timeoutMs: 5_000 });
const text = process.argv.slice(2).join(" ") || "Show me what you can do";
const { thread } = await client.call("thread/start", { agentType: "demo", cwd: process.cwd(), text });
for await (const { method, params } of client.follow(thread.id, { after: 0 })) {
  if (method === "turn/completed") {
    console.log(`the turn ${params.turn.status}`);
    break;
  }
}
client.close();
