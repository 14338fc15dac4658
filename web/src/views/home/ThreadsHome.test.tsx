import type { Client } from "@acpd/client";
import { afterEach, expect, test, vi } from "vitest";

import { narrow } from "../../app/layout.ts";
import { client, link, standing } from "../../connection/connection.ts";
import { after, drawn } from "../testing.ts";
import NewThread from "./NewThread.tsx";

vi.stubGlobal("IntersectionObserver", class {
  observe() {}
  unobserve() {}
  disconnect() {}
});

afterEach(() => {
  client.value = undefined;
  narrow.value = false;
  standing.value = { name: "looking" };
});

test.each(["approver", "observer"] as const)("the home of an %s is the list of threads, and asks for nothing else", async (role) => {
  const question = { requestId: "q", type: "input", title: "Who are you?", more: 0 };
  const thread = { id: "t", agentType: "fake", cwd: "/w", name: "Heron", status: "waiting", createdAt: 0, updatedAt: 1, turnCount: 1, archived: false, question };
  const asked: string[] = [];
  const call = async (method: string) => {
    asked.push(method);
    return { data: method === "thread/list" ? [thread] : [] };
  };
  standing.value = { name: "in", session: { principal: "ann", role } };
  client.value = { call, on: () => () => {}, onState: () => () => {}, state: { name: "open" } } as unknown as Client;
  link.value = { name: "open" } as typeof link.value;
  narrow.value = true;
  const view = drawn(<NewThread />);
  await after(() => vi.dynamicImportSettled());
  expect(view.one("h1").textContent).toBe("Threads");
  expect(view.all("#prompt")).toEqual([]);
  await vi.waitFor(() => expect(view.one(".side-list .row-name").textContent).toBe("Heron"));
  expect(asked.length).toBeLessThan(8);
  // Beside the list, it is not shown twice.
  await after(() => void (narrow.value = false));
  expect(view.all(".row")).toEqual([]);
  expect(view.text()).toContain("Select a thread.");
});
