// The official TypeScript SDK plays the part in $INTEROP over the way that is named there:
// docs/testing.md, "Interoperability".

import { client, methods, open, part, PROTOCOL_VERSION, tell } from "./connection.mjs";
import { World } from "./world.mjs";

// How many connections there were; each has its own ids of requests.
let connections = 0;

/** A connection that has been greeted. */
async function connect(world) {
  const app = client({ name: "interop" })
    .onNotification(methods.client.session.update, ({ params }) => world.shown(params))
    .onRequest(methods.client.session.requestPermission, ({ params }) => world.permission(params));
  if (part.lend) {
    const { fs, terminal } = methods.client;
    app
      .onRequest(fs.readTextFile, ({ params }) => world.read(params))
      .onRequest(fs.writeTextFile, ({ params }) => world.write(params))
      .onRequest(terminal.create, ({ params }) => world.create(params))
      .onRequest(terminal.output, ({ params }) => world.output(params))
      .onRequest(terminal.waitForExit, ({ params }) => world.exit(params))
      .onRequest(terminal.kill, ({ params }) => world.kill(params))
      .onRequest(terminal.release, ({ params }) => world.release(params));
  }
  const connection = open(app, ++connections);
  const hello = await connection.agent.request(methods.agent.initialize, {
    protocolVersion: PROTOCOL_VERSION,
    clientInfo: { name: "interop", version: "1" },
    clientCapabilities: part.lend
      ? { fs: { readTextFile: true, writeTextFile: true }, terminal: true }
      : {},
  });
  tell({ step: "hello", version: hello.protocolVersion, load: hello.agentCapabilities.loadSession });
  return connection;
}

async function play(agent, world, sessionId, turn) {
  world.begin(turn, () => agent.notify(methods.agent.session.cancel, { sessionId }));
  const prompt = [{ type: "text", text: turn.prompt }];
  const { stopReason } = await agent.request(methods.agent.session.prompt, { sessionId, prompt });
  tell({ step: "turn", name: turn.name, stopReason, said: world.said });
}

const world = new World();
const { session } = methods.agent;
const where = { cwd: part.cwd, mcpServers: [] };
const first = await connect(world);
const { sessionId } = await first.agent.request(session.new, where);
for (const turn of part.turns) {
  await play(first.agent, world, sessionId, turn);
}
const { sessions } = await first.agent.request(session.list, {});
tell({ step: "listed", sessions: sessions.map((listed) => listed.sessionId), session: sessionId });
await first.end();

const second = await connect(world);
world.begin({}, () => undefined);
await second.agent.request(session.load, { sessionId, ...where });
tell({ step: "loaded", said: world.said });
await play(second.agent, world, sessionId, part.after);
await second.agent.request(session.close, { sessionId });
tell({ step: "closed" });
await second.end();
