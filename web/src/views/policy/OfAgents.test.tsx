import type { Client } from "@acpd/client";
import { afterEach, expect, test } from "vitest";

import { client, link } from "../../connection/connection.ts";
import { after, drawn } from "../testing.ts";
import { OfAgents } from "./OfAgents.tsx";

afterEach(() => {
  client.value = undefined;
  link.value = { name: "connecting" };
});

/** Connects to a daemon with these policies of agents; returns the list of requested ones. */
function connected(policies: Record<string, unknown>, more: Record<string, string> = {}): string[] {
  const asked: string[] = [];
  const agent = ([id, source]: readonly [string, string]) => ({ id, title: `The ${id}`, installed: true, isSetUp: true, source });
  const configured = Object.keys(policies).map((id) => [id, "config"] as const);
  const daemon = {
    state: { name: "open" },
    on: () => () => {},
    onState: () => () => {},
    async call(method: string, { agentType = "" }: { agentType?: string } = {}) {
      if (method === "agent/list") return { data: [...configured, ...Object.entries(more)].map(agent) };
      if (method !== "policy/read") return { data: [] };
      asked.push(agentType);
      if (policies[agentType] instanceof Error) throw policies[agentType];
      return { agent: policies[agentType], daemon: { base: "standard", ask: ["WebFetch"] } };
    },
  };
  client.value = daemon as unknown as Client;
  link.value = { name: "open" } as typeof link.value;
  return asked;
}

test("each agent with a policy of its own has a section; it goes before the daemon's", async () => {
  const asked = connected({ a: { deny: ["Delete"] }, b: null, c: "readonly" }, { d: "registry" });
  const view = drawn(<OfAgents />);
  await after(() => new Promise((done) => setTimeout(done)));
  expect(asked).toEqual(["a", "b", "c"]);
  expect(view.all("h2").map((title) => title.textContent)).toEqual(["Effective for The a", "Effective for The c"]);
  const [a, c] = view.all("section").map((section) => [...section.querySelectorAll(".policy-layer")].map((layer) => layer.textContent));
  expect(a![0]).toBe("Agent policyafrom the configurationDeniedDelete");
  expect(a![1]).toMatch(/^Global policy.*WebFetch.*Actions without a matching rule ask/);
  expect(c![0]).toMatch(/^Agent policycfrom the configurationPreset readonly/);
  expect(c![1]).toMatch(/is not used/);
  // The order of precedence is explained once.
  expect(view.all(".policy-intro")).toHaveLength(1);
});

test("where no agent has one, nothing is said; where they are not told, why", async () => {
  connected({ a: null });
  const view = drawn(<OfAgents />);
  await after(() => new Promise((done) => setTimeout(done)));
  expect(view.text()).toBe("");
  connected({ a: new Error("too many requests") });
  const other = drawn(<OfAgents />);
  await after(() => new Promise((done) => setTimeout(done)));
  expect(other.one("[role=alert]").textContent).toBe("Couldn’t load the policies of agents: too many requests");
});
