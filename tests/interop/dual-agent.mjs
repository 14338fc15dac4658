// An agent of both versions of ACP, on the official TypeScript SDK. It answers every prompt with the version that it speaks:
// node dual-agent.mjs

import { createRequire } from "node:module";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

// The packages are installed beside their lock file, in tests/node.
const packages = createRequire(new URL("../node/package.json", import.meta.url));
const load = (name) => import(pathToFileURL(packages.resolve(name)));
const v1 = await load("@agentclientprotocol/sdk");
const v2 = await load("@agentclientprotocol/sdk/experimental/v2");

/** Returns the session of a request. */
function find(sessions, id) {
  const session = sessions.get(id);
  if (!session) {
    throw v1.RequestError.resourceNotFound(id);
  }
  return session;
}

/** The agent of version 1. It stores nothing. */
function first() {
  const sessions = new Map();
  const { initialize, session } = v1.methods.agent;
  return v1
    .agent({ name: "dual-agent" })
    .onRequest(initialize, () => ({
      protocolVersion: v1.PROTOCOL_VERSION,
      agentInfo: { name: "dual-agent", version: "1" },
      agentCapabilities: { loadSession: false },
    }))
    .onRequest(session.new, () => {
      const sessionId = crypto.randomUUID();
      sessions.set(sessionId, {});
      return { sessionId };
    })
    .onRequest(session.prompt, async ({ params: { sessionId }, client }) => {
      find(sessions, sessionId);
      const content = { type: "text", text: "Hello from version 1." };
      const update = { sessionUpdate: "agent_message_chunk", content };
      await client.notify(v1.methods.client.session.update, { sessionId, update });
      return { stopReason: "end_turn" };
    })
    .onNotification(session.cancel, () => undefined);
}

/** The agent of version 2, whose turns end with an update. A prompt during a turn is refused. */
function second() {
  const sessions = new Map();
  const { auth, initialize, session } = v2.methods.agent;
  const show = (client, sessionId, update) =>
    client.notify(v2.methods.client.session.update, { sessionId, update });
  const state = ({ state }) => ({ sessionUpdate: "state_update", ...state });

  async function play(client, sessionId, prompt, messageId) {
    const found = sessions.get(sessionId);
    const asked = { sessionUpdate: "user_message", messageId, content: prompt };
    const content = [{ type: "text", text: "Hello from version 2." }];
    const said = { sessionUpdate: "agent_message", messageId: crypto.randomUUID(), content };
    found.history.push(asked, said);
    await show(client, sessionId, asked);
    await show(client, sessionId, state(found));
    await show(client, sessionId, said);
    found.state = { state: "idle", stopReason: found.cancelled ? "cancelled" : "end_turn" };
    await show(client, sessionId, state(found));
  }

  return v2
    .agent({ name: "dual-agent" })
    .onRequest(initialize, () => ({
      protocolVersion: v2.PROTOCOL_VERSION,
      info: { name: "dual-agent", version: "1" },
      capabilities: { session: {} },
    }))
    .onRequest(auth.logout, () => ({}))
    .onRequest(session.new, ({ params: { cwd } }) => {
      const sessionId = crypto.randomUUID();
      sessions.set(sessionId, { cwd, history: [], state: { state: "idle" } });
      return { sessionId };
    })
    .onRequest(session.list, ({ params: { cwd } }) => {
      const fits = ([, session]) => !cwd || session.cwd === cwd;
      const listed = [...sessions].filter(fits);
      return { sessions: listed.map(([sessionId, session]) => ({ sessionId, cwd: session.cwd })) };
    })
    .onRequest(session.resume, async ({ params: { sessionId, replayFrom }, client }) => {
      const found = find(sessions, sessionId);
      for (const update of replayFrom?.type === "start" ? found.history : []) {
        await show(client, sessionId, update);
      }
      await show(client, sessionId, state(found));
      return {};
    })
    .onRequest(session.close, ({ params: { sessionId } }) => {
      find(sessions, sessionId);
      return {};
    })
    .onRequest(session.prompt, ({ params: { sessionId, prompt }, client }) => {
      const found = find(sessions, sessionId);
      if (found.state.state !== "idle") {
        throw v2.RequestError.invalidRequest("the session has a turn");
      }
      found.state = { state: "running" };
      found.cancelled = false;
      const messageId = crypto.randomUUID();
      // The response is sent before the updates.
      setTimeout(() => play(client, sessionId, prompt, messageId), 0);
      return { messageId };
    })
    .onNotification(session.cancel, ({ params: { sessionId } }) => {
      find(sessions, sessionId).cancelled = true;
    });
}

const stream = v1.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin));
v2.agentProtocolRouter().withV1(first()).withV2(second()).connect(stream);
