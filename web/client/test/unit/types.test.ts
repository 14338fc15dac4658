import { test } from "node:test";

import type { Client, Result } from "@acpd/client";

/** Is never called: that it compiles, and that its faults are faults, is the test. */
export async function typed(client: Client): Promise<void> {
  const { data }: Result<"thread/list"> = await client.call("thread/list");
  await client.call("thread/list", { limit: 1 });
  await client.call("agent/list", {}, { timeoutMs: 1 });
  await client.call("turn/start", { threadId: data[0]?.id ?? "", text: "hello" });
  // @ts-expect-error: what "the thread of this connection" is, a client that reconnects cannot know
  await client.call("turn/start", { text: "hello" });
  // @ts-expect-error: it needs params
  await client.call("turn/interrupt");
  // @ts-expect-error: there is no such method
  await client.call("thread/burn", {});
  // @ts-expect-error: the handshake is not the user's
  await client.call("initialize", { clientInfo: { name: "x" } });
  client.on("item/agentMessage/delta", ({ text, seq }) => text.slice(seq));
  // @ts-expect-error: it has no such member
  client.on("turn/started", ({ text }) => text);
  await client.call("thread/search", { query: "in all threads" });
  client.answer("item/tool/requestUserInput", ({ schema }) => ({ answers: schema }));
  // @ts-expect-error: no answer to a question
  client.answer("item/fileChange/requestApproval", () => "yes");
  for await (const { method, params } of client.follow("t")) {
    if (method === "turn/completed") {
      params.turn.status satisfies string;
    } else if (method === "item/fileChange/requestApproval") {
      params.options.length satisfies number;
    }
  }
}

test("the types are those of the protocol", () => {});
