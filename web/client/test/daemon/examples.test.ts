import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFile, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { Daemon, Seen } from "../support/daemon.js";

const BUILT = fileURLToPath(new URL("../examples/", import.meta.url));
const PACKAGE = fileURLToPath(new URL("../../", import.meta.url));

/** Runs an example in the agent's folder, as a user does; returns what it printed. */
function run(daemon: Daemon, name: string, args: string[] = [], status = 0, env: NodeJS.ProcessEnv = {}) {
  return start(daemon, [process.execPath, join(BUILT, `${name}.js`), ...args], status, env);
}

async function start(daemon: Daemon, [command = "", ...args]: string[], status = 0, env: NodeJS.ProcessEnv = {}) {
  const child = spawn(command, args, {
    cwd: daemon.work,
    env: { ...process.env, ACPD_URL: daemon.url, ACPD_TOKEN: await daemon.token(), ...env },
    stdio: ["ignore", "pipe", "pipe"],
    timeout: 60_000,
  });
  const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")]);
  assert.equal(code, status, `${out}\n${err}`);
  return { out, err, lines: out.split("\n").filter(Boolean) };
}

test("run", async (t) => {
  const daemon = await Daemon.start(t);
  const { out } = await run(daemon, "run", ["say hello; permission kind=edit; elicit; say bye"]);
  assert.match(out, /^hello.*rejected \(reject_once\).*decline.*bye\n$/s);
  // The demo turn asks as well, and the example ends.
  assert.notEqual((await run(daemon, "run")).out.trim(), "");
});

test("approve", async (t) => {
  const daemon = await Daemon.start(t);
  const script = "permission kind=edit path=notes.md; permission kind=edit path=/etc/hosts; permission kind=execute; elicit";
  const { lines } = await run(daemon, "approve", [script]);
  const words = lines.map((line) => line.split(":")[0]);
  assert.deepEqual(words, ["allowed", "declined", "declined", "not answered", "the turn completed"]);
  // Neither a link out of the folder, nor anything but a change, is allowed.
  await symlink("/etc", join(daemon.work, "link"));
  const others = "permission kind=edit path=link/hosts; permission kind=delete path=notes.md; permission kind=edit path=..notes.md";
  const answers = (await run(daemon, "approve", [others])).lines.map((line) => line.split(":")[0]);
  assert.deepEqual(answers, ["declined", "declined", "allowed", "the turn completed"]);
  // The demo turn, whatever it asks.
  assert.equal((await run(daemon, "approve")).lines.at(-1), "the turn completed");
});

test("follow", async (t) => {
  const daemon = await Daemon.start(t);
  const client = await daemon.client();
  const threadId = await daemon.thread(client);
  const seen = new Seen(client, threadId);
  const first = await client.call("turn/start", { threadId, text: "say one" });
  await seen.turn(first.turn.id);
  const before = seen.events.length;
  const numbers = (lines: string[]) => lines.map((line) => Number(line.split(" ")[0]));
  const range = (first: number, length: number) => Array.from({ length }, (_, index) => first + index);
  assert.deepEqual(numbers((await run(daemon, "follow", [threadId])).lines), range(1, before));
  // Nothing is new.
  assert.equal((await run(daemon, "follow", [threadId])).out, "");
  // A running turn is followed to its end, from where the last run stopped.
  await client.call("turn/start", { threadId, text: "stream n=20 ms=20" });
  const { lines } = await run(daemon, "follow", [threadId]);
  assert.deepEqual(numbers(lines), range(before + 1, lines.length));
  assert(lines.some((line) => line.endsWith(" turn/completed")));
});

test("threads", async (t) => {
  const daemon = await Daemon.start(t);
  const client = await daemon.client();
  const threads: string[] = [];
  while (threads.length < 25) {
    threads.push(await daemon.thread(client));
  }
  const [threadId = ""] = threads;
  const seen = new Seen(client, threadId);
  const { turn } = await client.call("turn/start", { threadId, text: "say marmalade" });
  await seen.turn(turn.id);
  const { lines } = await run(daemon, "threads");
  assert.deepEqual(lines.map((line) => line.split(" ")[0]).sort(), threads.sort());
  assert.match((await run(daemon, "threads", ["marmalade"])).out, new RegExp(`^${threadId} agentMessage .*marmalade`, "m"));
  assert.equal((await run(daemon, "threads", ["nothingofthis"])).out, "");
});

test("ci", async (t) => {
  const daemon = await Daemon.start(t);
  assert.equal((await run(daemon, "ci", ["say fine"])).out, "fine\n");
  assert.match((await run(daemon, "ci", ["error message=broken"], 1)).err, /the turn is failed: .*broken/);
  assert.match((await run(daemon, "ci", ["permission kind=execute"], 8)).err, /declined, because no user is here to ask/);
  const wrong = await run(daemon, "ci", ["say fine"], 1, { ACPD_TOKEN: "0".repeat(64) });
  assert.equal(wrong.err, "the daemon does not let this client in (401): check the token\n");
  await daemon.kill("SIGTERM");
  const { err } = await run(daemon, "ci", ["say fine"], 6);
  assert.match(err, /^the daemon cannot be reached \(.*ECONNREFUSED.*\): is it running, and is the address right\?\n$/);
});

test("export", async (t) => {
  const daemon = await Daemon.start(t);
  const client = await daemon.client();
  const threadId = await daemon.thread(client);
  const seen = new Seen(client, threadId);
  const { turn } = await client.call("turn/start", { threadId, text: "say marmalade" });
  await seen.turn(turn.id);
  await run(daemon, "export", [threadId, "thread.md"]);
  assert.match(await readFile(join(daemon.work, "thread.md"), "utf8"), /marmalade/);
  assert.match((await run(daemon, "export", [`${threadId.slice(0, -1)}x`], 1)).err, /cannot be exported/);
});

test("the package can be installed", async (t) => {
  const daemon = await Daemon.start(t);
  // As "npm install ./acpd/web/client ws" in the README, but without the network.
  await writeFile(join(daemon.work, "package.json"), '{ "private": true, "type": "module" }');
  await start(daemon, ["npm", "install", "--offline", "--no-audit", "--no-fund", PACKAGE]);
  await symlink(join(PACKAGE, "node_modules", "ws"), join(daemon.work, "node_modules", "ws"));
  await copyFile(join(BUILT, "run.js"), join(daemon.work, "run.js"));
  assert.equal((await start(daemon, [process.execPath, "run.js", "say installed"])).out, "installed\n");
});

test("the snippets of the package are examples", async () => {
  const folder = join(PACKAGE, "examples");
  const names = (await readdir(folder)).filter((name) => name.endsWith(".ts"));
  const sources = await Promise.all(names.map((name) => readFile(join(folder, name), "utf8")));
  const page = await readFile(join(PACKAGE, "README.md"), "utf8");
  const snippets = [...page.matchAll(/```(?:ts|js)\n([^]*?)```/g)].map(([, snippet = ""]) => snippet);
  assert.notEqual(snippets.length, 0);
  for (const snippet of snippets) {
    assert(sources.some((source) => source.includes(snippet)), snippet);
  }
});
