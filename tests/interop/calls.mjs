// The official TypeScript SDK makes the calls that it reads from standard input, a line of JSON each:
//   {"on": 1, "id": 7, "call": "session/new", "params": {…}}   a request; without `id` a notification
// `on` numbers connections, which are opened on first use. A call does not wait for those before it. Each answer is written
// as {"answer": 7, "result": …} or {"answer": 7, "error": {code, message, data}}, beside the frames.

import { createInterface } from "node:readline";
import { client, methods, open, tell } from "./connection.mjs";

const connections = new Map();

function connection(on) {
  if (!connections.has(on)) {
    const app = client({ name: "interop" }).onNotification(methods.client.session.update, () => undefined);
    connections.set(on, open(app, on));
  }
  return connections.get(on);
}

async function request({ on, id, call, params }) {
  try {
    tell({ answer: id, result: await connection(on).agent.request(call, params) });
  } catch ({ code, message, data }) {
    tell({ answer: id, error: { code, message, data } });
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const told = JSON.parse(line);
  if (told.id === undefined) {
    await connection(told.on).agent.notify(told.call, told.params);
  } else {
    // What fails is answered, so nobody need wait.
    request(told);
  }
}
for (const { end } of connections.values()) {
  await end();
}
