// Connections of the official TypeScript SDK, over the way that $INTEROP names. Every frame is written to standard output.

import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

// The packages are installed beside their lock file, in tests/node.
const packages = createRequire(new URL("../node/package.json", import.meta.url));
const load = (name) => import(pathToFileURL(packages.resolve(name)));
const sdk = await load("@agentclientprotocol/sdk");
export const { client, methods, PROTOCOL_VERSION } = sdk;
const { createHttpStream } = await load("@agentclientprotocol/sdk/experimental/http-client");
const { createWebSocketStream } = await load("@agentclientprotocol/sdk/experimental/ws-client");
const { WebSocket } = packages("ws");

export const part = JSON.parse(process.env.INTEROP);
const headers = part.token ? { Authorization: `Bearer ${part.token}` } : {};
export const tell = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

/** The SDK's own stream; what the SDK leaves to its user when it ends is in `end`. */
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
      return { ...sdk.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout)), end };
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

/** Connects `app`; `on` numbers the connection in what is written. */
export function open(app, on) {
  const raw = stream();
  const connection = app.connect(told(raw, on));
  const end = async () => {
    connection.close();
    tell({ step: "ended", code: await raw.end?.() });
  };
  return { agent: connection.agent, end };
}
