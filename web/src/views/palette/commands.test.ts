import type { Client, ThreadSummary } from "@acpd/client";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { agents } from "../../app/agents.ts";
import { theme } from "../../app/theme.ts";
import { threads } from "../../app/threads.ts";
import { client, standing } from "../../connection/connection.ts";
import { entriesFor, fitness } from "./commands.ts";

const thread = (id: string, name: string): ThreadSummary => ({
  id, name, agentType: "fake", archived: false, createdAt: 1, cwd: "/w/api", status: "idle", turnCount: 1, updatedAt: 1,
});

beforeEach(async () => {
  const data = [thread("one", "Fix the parser"), thread("two", "Dark theme for the shop")];
  client.value = { state: { name: "open" }, call: async () => ({ data }), on: () => () => {}, onState: () => () => {} } as unknown as Client;
  standing.value = { name: "in", session: { principal: "ann", role: "owner" } };
  agents.value = [
    { id: "fake", title: "Fake agent", installed: true, isSetUp: true, isDefault: true, source: "config" },
    // Its start would download it.
    { id: "no", title: "Not there", installed: true, isSetUp: false, isDefault: false, source: "registry", runs: "npx" },
  ];
  await vi.waitFor(() => expect(threads.value).toHaveLength(2));
});
afterEach(() => {
  client.value = undefined;
  theme.value = "system";
});

const labels = (typed: string) => entriesFor(typed).map(({ group, label }) => `${group}: ${label}`);

test("without words it offers the latest threads, commands, agents and settings", () => {
  expect(labels("")).toEqual(expect.arrayContaining(["Threads: Fix the parser", "Commands: New thread", "Agents: New thread with Fake agent", "Settings: Appearance: Dark"]));
  expect(labels("").join()).not.toContain("Not there");
});

test("all typed words must fit, and the best group comes first", () => {
  expect(labels("pars fix")).toEqual(["Threads: Fix the parser"]);
  expect(labels("dark")).toEqual(["Threads: Dark theme for the shop", "Settings: Appearance: Dark"]);
  expect(labels("api").sort()).toEqual(["Threads: Dark theme for the shop", "Threads: Fix the parser"]);
  expect(labels("nothing at all")).toEqual([]);
});

test("an entry does what it says", () => {
  entriesFor("appearance dark")[0]!.run();
  expect(theme.value).toBe("dark");
});

test("users who may not start threads are not offered that", () => {
  standing.value = { name: "in", session: { principal: "eve", role: "observer" } };
  expect(labels("new thread")).toEqual([]);
});

test("words at the beginning of words fit better", () => {
  expect(fitness("new thread", ["new"])).toBeGreaterThan(fitness("a new thread", ["new"]));
  expect(fitness("a new thread", ["thr"])).toBeGreaterThan(fitness("a new thread", ["hread"]));
  expect(fitness("new", ["new", "thread"])).toBe(0);
});
