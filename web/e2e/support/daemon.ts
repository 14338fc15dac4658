/** The real daemon with the fake agent, in its own directory. It stops at the end of its test file. */

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, open, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

import { type Client, connect, type ConnectOptions } from "@acpd/client";
import WebSocket from "ws";

const BUILT = fileURLToPath(new URL("../../../target/debug", import.meta.url));
const ACPD = process.env.ACPD_BIN ?? join(BUILT, "acpd");
export const FAKE_AGENT = process.env.ACPD_FAKE_AGENT ?? join(BUILT, "acpd-fake-agent");

export interface DaemonOptions {
  /** Flags of the fake agent. */
  agentArgs?: readonly string[];
  /** The agent's name in the configuration; `null` configures no agent. */
  agentName?: string | null;
  /** The agent's name for users. */
  agentTitle?: string;
  /** The name of the working directory for agents. */
  folder?: string;
  /** Lines of acpd.toml before its first table; only without an agent. */
  first?: readonly string[];
  /** Additional lines of acpd.toml. */
  config?: readonly string[];
  /** The daemon's PATH. */
  path?: string;
}

let made = 0;

/** Makes a new directory. Its name has a fixed number of digits, which are of equal width: layouts contain it. */
async function makeRoot(): Promise<string> {
  const root = join(tmpdir(), `acpd-web-${String(Date.now()).slice(-8)}${made++ % 10}`);
  await mkdir(root);
  return root;
}

export class Daemon {
  #child: ChildProcess | undefined;
  #listen = "127.0.0.1:0";
  readonly #clients: Client[] = [];

  private constructor(
    readonly root: string,
    private readonly path: string | undefined,
    private readonly folder: string,
  ) {}

  static async start(options: DaemonOptions = {}): Promise<Daemon> {
    const { agentName = "fake", agentArgs = ["--pace", "0"], agentTitle, folder = "work", config = [], path } = options;
    const daemon = new Daemon(await makeRoot(), path, folder);
    await mkdir(daemon.work);
    // The sandbox of an agent does not allow it to create directories next to the data directory.
    await mkdir(join(daemon.root, "sessions"));
    const agent = [
      `[agents.${agentName}]`,
      `command = ${JSON.stringify(FAKE_AGENT)}`,
      `args = ${JSON.stringify(agentArgs)}`,
      ...(agentTitle === undefined ? [] : [`title = ${JSON.stringify(agentTitle)}`]),
      `env = { FAKE_AGENT_STATE = ${JSON.stringify(join(daemon.root, "sessions"))} }`,
    ];
    const lines = agentName === null ? config : [...agent, ...config];
    await writeFile(join(daemon.root, "acpd.toml"), `${lines.join("\n")}\n`);
    await daemon.launch();
    return daemon;
  }

  /** The working directory for agents. */
  get work(): string {
    return join(this.root, this.folder);
  }

  /** The daemon's address, as `host:port`. */
  get address(): string {
    return this.#listen;
  }

  async token(): Promise<string> {
    return (await readFile(join(this.root, "data", "token"), "utf8")).trim();
  }

  /** Starts the daemon, at its previous address if it had one. */
  async launch(): Promise<void> {
    const log = await open(join(this.root, "stderr"), "a");
    const child = spawn(ACPD, ["serve"], {
      cwd: this.work,
      stdio: ["ignore", "pipe", log.fd],
      env: { ...this.env(), ACPD_LISTEN: this.#listen },
    });
    this.#child = child;
    const lines = createInterface(child.stdout ?? assert.fail("it has an output"));
    const said = await Promise.race([once(lines, "line"), once(child, "exit")]);
    await log.close();
    const address = /^acpd listens on http:\/\/(.*)$/.exec(String(said[0]))?.[1];
    if (address === undefined) {
      assert.fail(`${ACPD} does not listen: ${String(said[0])}\n${await this.log()}`);
    }
    this.#listen = address;
  }

  /** Stops the daemon, and waits until it has exited. */
  async kill(signal: "SIGKILL" | "SIGTERM" = "SIGTERM"): Promise<void> {
    const child = this.#child;
    if (!child) {
      return;
    }
    this.#child = undefined;
    const gone = once(child, "exit");
    child.kill(signal);
    await gone;
  }

  /** Runs `acpd` with these arguments; returns its output. */
  async run(...args: string[]): Promise<string> {
    const child = spawn(ACPD, args, { cwd: this.work, env: this.env(), stdio: ["ignore", "pipe", "inherit"] });
    const said: Buffer[] = [];
    child.stdout.on("data", (chunk: Buffer) => said.push(chunk));
    // At its exit, its output may not have been read yet.
    const [code] = (await once(child, "close")) as [number];
    assert.equal(code, 0, `acpd ${args.join(" ")} failed`);
    return Buffer.concat(said).toString();
  }

  /** Connects another client, besides the browser. */
  async client(name = "other", more: Partial<ConnectOptions> = {}): Promise<Client> {
    const client = connect({
      url: `http://${this.#listen}`,
      token: await this.token(),
      clientInfo: { name, version: "1" },
      capabilities: { approvals: true },
      WebSocket,
      ...more,
    });
    this.#clients.push(client);
    await client.ready();
    return client;
  }

  async log(): Promise<string> {
    return readFile(join(this.root, "stderr"), "utf8");
  }

  /** Stops the daemon and removes its directory. */
  async end(): Promise<void> {
    for (const client of this.#clients) {
      client.close();
    }
    await this.kill();
    assert.doesNotMatch(await this.log(), /panicked/);
    // Agents of a killed daemon may still write.
    await rm(this.root, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  }

  private env(): NodeJS.ProcessEnv {
    const { ACPD_TOKEN, ACPD_LOG, XDG_CONFIG_HOME, XDG_STATE_HOME, ...env } = process.env;
    return {
      ...env,
      ...(this.path !== undefined && { PATH: this.path }),
      HOME: this.root,
      ACPD_CONFIG: join(this.root, "acpd.toml"),
      ACPD_DATA_DIR: join(this.root, "data"),
    };
  }
}
