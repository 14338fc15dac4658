/** The real daemon with the fake agent, in a directory of its own. */

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, mkdir, open, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type test from "node:test";
import { fileURLToPath } from "node:url";

import { type Client, connect, type ConnectOptions, type ThreadEvent } from "@acpd/client";
import WebSocket from "ws";

/** How long anything may take. Only failures do. */
const PATIENCE_MS = 60_000;

const BUILT = fileURLToPath(new URL("../../../../target/debug", import.meta.url));
const ACPD = process.env.ACPD_BIN ?? join(BUILT, "acpd");
const FAKE_AGENT = process.env.ACPD_FAKE_AGENT ?? join(BUILT, "acpd-fake-agent");

/** A daemon that runs until its test is over. */
export class Daemon {
  #child: ChildProcess | undefined;
  #listen = "127.0.0.1:0";
  readonly #clients: Client[] = [];

  private constructor(readonly root: string) {}

  static async start(test: test.TestContext): Promise<Daemon> {
    const daemon = new Daemon(await mkdtemp(join(tmpdir(), "acpd-client-")));
    test.after(() => daemon.#end());
    await mkdir(daemon.work);
    // Next to the data directory, an agent's sandbox makes nothing new.
    await mkdir(join(daemon.root, "sessions"));
    const agent = [
      `command = ${JSON.stringify(FAKE_AGENT)}`,
      'args = ["--pace", "0"]',
      `env = { FAKE_AGENT_STATE = ${JSON.stringify(join(daemon.root, "sessions"))} }`,
    ];
    // The examples name the demo agent. This one is the same without pauses.
    const lines = ["[agents.fake]", ...agent, "[agents.demo]", ...agent];
    await writeFile(join(daemon.root, "acpd.toml"), `${lines.join("\n")}\n`);
    await daemon.launch();
    return daemon;
  }

  /** A directory for agents to work in. */
  get work(): string {
    return join(this.root, "work");
  }

  get url(): string {
    return `http://${this.#listen}`;
  }

  async token(): Promise<string> {
    return (await readFile(join(this.root, "data", "token"), "utf8")).trim();
  }

  /** Starts it, where it was before if it was. */
  async launch(): Promise<void> {
    const log = await open(join(this.root, "stderr"), "a");
    const { ACPD_TOKEN, ACPD_LOG, XDG_CONFIG_HOME, XDG_STATE_HOME, ...env } = process.env;
    const child = spawn(ACPD, ["serve"], {
      cwd: this.work,
      stdio: ["ignore", "pipe", log.fd],
      env: {
        ...env,
        HOME: this.root,
        ACPD_CONFIG: join(this.root, "acpd.toml"),
        ACPD_DATA_DIR: join(this.root, "data"),
        ACPD_LISTEN: this.#listen,
      },
    });
    await log.close();
    this.#child = child;
    const lines = createInterface(child.stdout ?? assert.fail("it has an output"));
    const said = await Promise.race([once(lines, "line"), once(child, "error"), once(child, "exit")]);
    const address = /^acpd listens on http:\/\/(.*)$/.exec(String(said[0]))?.[1];
    if (address === undefined) {
      assert.fail(`${ACPD} does not listen: ${String(said[0])}\n${await this.log()}`);
    }
    this.#listen = address;
  }

  /** Ends it, and waits until it is gone. */
  async kill(signal: "SIGKILL" | "SIGTERM"): Promise<void> {
    const child = this.#child ?? assert.fail("it does not run");
    this.#child = undefined;
    const gone = once(child, "exit");
    child.kill(signal);
    await gone;
  }

  /** A client with a connection. */
  async client(name = "test", options: Partial<ConnectOptions> = {}): Promise<Client> {
    const client = connect({
      url: this.url,
      token: await this.token(),
      clientInfo: { name, version: "1" },
      capabilities: { approvals: true },
      WebSocket,
      backoff: { firstMs: 10, maxMs: 100 },
      onError: (error) => assert.fail(error as Error),
      ...options,
    });
    this.#clients.push(client);
    await client.ready();
    return client;
  }

  /** Starts a thread with the fake agent; answers its id. */
  async thread(client: Client): Promise<string> {
    const { thread } = await client.call("thread/start", { agentType: "fake", cwd: this.work });
    return thread.id;
  }

  async log(): Promise<string> {
    return readFile(join(this.root, "stderr"), "utf8");
  }

  async #end(): Promise<void> {
    for (const client of this.#clients) {
      client.close();
    }
    if (this.#child) {
      await this.kill("SIGTERM");
    }
    assert.doesNotMatch(await this.log(), /panicked/);
    await rm(this.root, { recursive: true, force: true });
  }
}

/** What a reader of a thread has seen, and a way to wait for more. */
export class Seen {
  readonly events: ThreadEvent[] = [];
  #wake = () => {};

  constructor(client: Client, threadId: string, after = 0) {
    client.follow(threadId, {
      after,
      onEvent: (event) => {
        this.events.push(event);
        this.#wake();
      },
      onEnd: (error) => error && assert.fail(error),
    });
  }

  /** Waits for an event, among those that came already or come yet. */
  async until(what: string, fits: (event: ThreadEvent) => boolean): Promise<ThreadEvent> {
    const late = AbortSignal.timeout(PATIENCE_MS);
    for (let from = 0; ; ) {
      for (; from < this.events.length; from++) {
        const event = this.events[from];
        if (event && fits(event)) {
          return event;
        }
      }
      await new Promise<void>((wake, fail) => {
        this.#wake = wake;
        late.onabort = () => fail(new Error(`waited in vain for ${what} in ${this.events.length} events`));
      });
    }
  }

  /** Waits for the end of a turn. */
  async turn(id: string | null | undefined) {
    const event = await this.until(
      `the end of ${id}`,
      ({ method, params }) => method === "turn/completed" && params.turn.id === id,
    );
    assert(event.method === "turn/completed");
    return event.params.turn;
  }

  /** What the agent said in a turn. */
  said(turnId: string | null | undefined): string {
    return this.events
      .map(({ method, params }) => (method === "item/agentMessage/delta" && params.turnId === turnId ? params.text : ""))
      .join("");
  }

  /** Fails unless every event from `first` on came once, in order. */
  assertWhole(first = 1): void {
    const seqs = this.events.flatMap(({ params }) => params.seq ?? []);
    assert.deepEqual(
      seqs,
      seqs.map((_, index) => first + index),
    );
  }
}

/** Something that is known later. */
export class Later<T> {
  resolve!: (value: T) => void;
  readonly promise = new Promise<T>((resolve) => (this.resolve = resolve));
}

/** Waits until a client's state has a name. */
export function become(client: Client, name: string): Promise<void> {
  return new Promise((resolve) => {
    const off = client.onState((state) => {
      if (state.name === name) {
        off();
        resolve();
      }
    });
  });
}
