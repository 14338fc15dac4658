import type { Client } from "@acpd/client";
import { afterEach, expect, test } from "vitest";

import { agents, lastAgent, settingsOf } from "../../app/agents.ts";
import { client, link, standing } from "../../connection/connection.ts";
import { after, drawn, type } from "../testing.ts";
import { NewThread } from "./NewThread.tsx";

afterEach(() => {
  client.value = undefined;
  link.value = { name: "connecting" };
  settingsOf.value = {};
  lastAgent.value = "";
});

const modes = (...names: string[]) => ({ availableModes: names.map((name) => ({ id: name, name })), currentModeId: names[0] });

/** A daemon with two agents, whose responses the test sends. */
class Daemon {
  readonly asked: string[] = [];
  readonly state = { name: "open" };
  #waiting: { method: string; params: Record<string, unknown>; resolve: (result: unknown) => void; reject: (why: Error) => void }[] = [];

  call(method: string, params: Record<string, unknown> = {}): Promise<unknown> {
    if (method === "agent/list") {
      return Promise.resolve({ data: ["one", "two"].map((id) => ({ id, title: id, installed: true, source: "config" })) });
    }
    // The list next to the form is not part of this test.
    if (method === "thread/list/watch" || (method === "thread/list" && params.agentType === undefined)) {
      return Promise.resolve({ data: [] });
    }
    this.asked.push(`${method} ${JSON.stringify(params)}`);
    return new Promise((resolve, reject) => this.#waiting.push({ method, params, resolve, reject }));
  }
  on = () => () => {};
  onState = () => () => {};

  /** Responds to the oldest pending request. */
  answer(result: unknown): Promise<void> {
    return after(() => this.#waiting.shift()!.resolve(result));
  }
  fail(): Promise<void> {
    return after(() => this.#waiting.shift()!.reject(new Error("no")));
  }
}

/** Renders the form with the daemon's agents. */
async function form() {
  const daemon = new Daemon();
  standing.value = { name: "in", session: { principal: "ann", role: "owner" } };
  client.value = daemon as unknown as Client;
  link.value = { name: "open" } as typeof link.value;
  const view = drawn(<NewThread />);
  await after(async () => {});
  expect(agents.value).toHaveLength(2);
  const offered = () => view.all("#mode option").map((option) => option.textContent);
  return { daemon, view, offered, pick: (agent: string) => type(view.one<HTMLSelectElement>("#agent"), agent) };
}

test("of an agent that this browser has had no thread of, the newest thread says what it can be set to", async () => {
  const { daemon, view, offered } = await form();
  expect(daemon.asked).toEqual(['thread/list {"agentType":"one","limit":1}']);
  await daemon.answer({ data: [{ id: "t" }] });
  expect(daemon.asked.slice(1)).toEqual(['thread/read {"threadId":"t"}']);
  expect(offered()).toEqual([]);
  const verbose = { id: "verbose", name: "Verbose", type: "boolean", currentValue: false };
  await daemon.answer({ thread: { modes: modes("Ask", "Code"), configOptions: [verbose] } });
  expect(offered()).toEqual(["Agent default", "Ask", "Code"]);
  expect(view.one("label[for=option-verbose]").textContent).toBe("Verbose");
});

test("what this browser remembers is offered without asking", async () => {
  settingsOf.value = { one: { modes: modes("Remembered") } };
  const { daemon, offered } = await form();
  expect(daemon.asked).toEqual([]);
  expect(offered()).toEqual(["Agent default", "Remembered"]);
});

test("what comes late for an agent that is no longer picked is not offered", async () => {
  const { daemon, offered, pick } = await form();
  await daemon.answer({ data: [{ id: "t" }] });
  await pick("two");
  expect(daemon.asked.at(-1)).toBe('thread/list {"agentType":"two","limit":1}');
  await daemon.answer({ thread: { modes: modes("Of one") } });
  expect(offered()).toEqual([]);
  await daemon.answer({ data: [{ id: "u" }] });
  await daemon.answer({ thread: { modes: modes("Of two") } });
  expect(offered()).toEqual(["Agent default", "Of two"]);
});

test("where there is no thread, or it cannot be read, nothing is said", async () => {
  const { daemon, view, offered, pick } = await form();
  await daemon.answer({ data: [] });
  await pick("two");
  await daemon.fail();
  expect(offered()).toEqual([]);
  expect(view.all(".error-text, [role=alert]")).toEqual([]);
});
