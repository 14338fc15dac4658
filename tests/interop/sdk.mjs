// The official TypeScript SDK plays the part in $INTEROP over the way that is named there:
// docs/testing.md, "Interoperability".

import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";
import { World } from "./world.mjs";

// The packages are installed beside their lock file, in tests/node.
const packages = createRequire(new URL("../node/package.json", import.meta.url));
const load = (name) => import(pathToFileURL(packages.resolve(name)));
const { client, methods, ndJsonStream, PROTOCOL_VERSION } = await load("@agentclientprotocol/sdk");
const { createHttpStream } = await load("@agentclientprotocol/sdk/experimental/http-client");
const { createWebSocketStream } = await load("@agentclientprotocol/sdk/experimental/ws-client");
const { WebSocket } = packages("ws");

const part = JSON.parse(process.env.INTEROP);
const headers = { Authorization: `Bearer ${part.token}` };
const tell = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

// How many connections there were; each has its own ids of requests.
let connections = 0;

/** The SDK's own stream over `part.way`; what the SDK leaves to its user when it ends is in `end`. */
function stream() {
  switch (part.way) {
    case "stdio": {
      const [command, ...args] = part.command;
      const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
      const gone = new Promise((resolve) => child.on("exit", resolve));
      const end = () => {
        child.stdin.end();
        return gone;
      };
      return { ...ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout)), end };
    }
    case "websocket":
      return createWebSocketStream(part.url, { headers, WebSocket });
    case "http":
      return createHttpStream(part.url, { headers });
    default:
      throw new Error(`no way is called ${part.way}`);
  }
}

/** The same stream, whose every frame is told. */
function told({ readable, writable }, on) {
  const tap = (name) =>
    new TransformStream({
      transform(frame, out) {
        tell({ on, [name]: frame });
        out.enqueue(frame);
      },
    });
  const outgoing = tap("sent");
  outgoing.readable.pipeTo(writable).catch(() => undefined);
  return { readable: readable.pipeThrough(tap("got")), writable: outgoing.writable };
}

/** A connection that has been greeted. */
async function connect(world) {
  const on = ++connections;
  const raw = stream();
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
  const connection = app.connect(told(raw, on));
  const hello = await connection.agent.request(methods.agent.initialize, {
    protocolVersion: PROTOCOL_VERSION,
    clientInfo: { name: "interop", version: "1" },
    clientCapabilities: part.lend
      ? { fs: { readTextFile: true, writeTextFile: true }, terminal: true }
      : {},
  });
  tell({ step: "hello", version: hello.protocolVersion, load: hello.agentCapabilities.loadSession });
  const end = async () => {
    connection.close();
    tell({ step: "ended", code: await raw.end?.() });
  };
  return { agent: connection.agent, end };
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
