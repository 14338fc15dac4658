import type { Client, RememberedAnswer } from "@acpd/client";
import { signal } from "@preact/signals";
import { afterEach, expect, test, vi } from "vitest";

import { client, link } from "../../connection/connection.ts";
import { after, drawn } from "../testing.ts";
import { AllRemembered } from "./AllRemembered.tsx";

vi.mock("../../app/threads.ts", async (original) => ({
  ...(await original<typeof import("../../app/threads.ts")>()),
  threads: signal(Array.from({ length: 25 }, (_, at) => ({ id: `t${at}`, name: `Thread ${at}`, agentType: at === 1 ? "b" : "a" }))),
  attempt: async (_: string, run: (now: Client) => Promise<unknown>) => run(client.value!),
}));

afterEach(() => {
  client.value = undefined;
  link.value = { name: "connecting" };
});

const answer = (id: number, scope: string): RememberedAnswer => ({ id, allow: true, rule: `Bash(${scope})`, scope });

/** Connects to a daemon with these answers of threads, and these of agents; returns the calls. */
function connected(answers: Record<string, RememberedAnswer[]>, ofAgents: Record<string, RememberedAnswer[]> = {}) {
  const call = vi.fn(async (method: string, { threadId, id }: { threadId: string; id?: number }): Promise<{ data: unknown[] }> => {
    if (method === "policy/remembered/revoke" || method === "agent/remembered/revoke") {
      for (const list of [...Object.values(answers), ...Object.values(ofAgents)]) {
        list.splice(0, list.length, ...list.filter((one) => one.id !== id));
      }
    }
    if (method === "agent/remembered/list") {
      return { data: Object.entries(ofAgents).map(([agentType, own]) => ({ agentType, answers: [...own] })) };
    }
    return { data: [...(answers[threadId] ?? [])] };
  });
  client.value = { call, on: () => () => {}, onState: () => () => {}, state: { name: "open" } } as unknown as Client;
  link.value = { name: "open" } as typeof link.value;
  return call;
}
const settle = () => after(() => new Promise((done) => setTimeout(done)));

test("all remembered answers are listed with their duration and place, and can be revoked there", async () => {
  const everywhere = answer(3, "agent");
  const call = connected({ t0: [answer(1, "session"), everywhere], t2: [answer(2, "thread"), everywhere], t24: [answer(4, "thread")] });
  const view = drawn(<AllRemembered role="owner" />);
  await settle();
  const lines = () => view.all("li").map((line) => line.textContent);
  expect(lines()).toEqual([
    "AllowedBash(session)for this session: Thread 0Revoke",
    "AllowedBash(agent)for every thread of this agent: aRevoke",
    "AllowedBash(thread)for this thread: Thread 2Revoke",
  ]);
  await after(() => view.button("Revoke Bash(thread)").click());
  await settle();
  await settle();
  expect(call.mock.calls).toContainEqual(["policy/remembered/revoke", { threadId: "t2", id: 2 }]);
  expect(lines()).toHaveLength(2);
  await after(() => view.button("Look in 5 more threads").click());
  await settle();
  expect(lines()).toHaveLength(3);
});

test("the answers of agents without threads are listed once and can be revoked", async () => {
  const gone = { ...answer(5, "agent"), rule: "Bash(gone)" };
  const everywhere = answer(3, "agent");
  const call = connected({ t0: [everywhere], t2: [everywhere] }, { a: [everywhere], left: [gone] });
  const view = drawn(<AllRemembered role="owner" />);
  await settle();
  expect(view.all("li").map((line) => line.textContent)).toEqual([
    "AllowedBash(agent)for every thread of this agent: aRevoke",
    "AllowedBash(gone)for every thread of this agent: leftRevoke",
  ]);
  await after(() => view.button("Revoke Bash(gone)").click());
  await settle();
  await settle();
  expect(call.mock.calls).toContainEqual(["agent/remembered/revoke", { agentType: "left", id: 5 }]);
  expect(view.all("li")).toHaveLength(1);
});

test("only an owner asks for the answers of agents", async () => {
  const call = connected({ t0: [answer(3, "agent")] }, { left: [answer(5, "agent")] });
  const view = drawn(<AllRemembered role="approver" />);
  await settle();
  expect(view.all("li")).toHaveLength(1);
  expect(call.mock.calls.map(([method]) => method)).not.toContain("agent/remembered/list");
});

test("a thread that cannot be read does not hide the answers of the others", async () => {
  const call = connected({ t0: [answer(1, "session")], t2: [answer(2, "thread")] });
  const answered = call.getMockImplementation()!;
  call.mockImplementation(async (method, params) => {
    if (params.threadId === "t1") throw new Error("no such thread");
    return answered(method, params);
  });
  const view = drawn(<AllRemembered role="owner" />);
  await settle();
  expect(view.all("li")).toHaveLength(2);
  expect(view.one("[role=alert]").textContent).toBe("Couldn’t load all remembered answers: Thread 1: no such thread");
});

test("an approver revokes no answer for every thread of an agent", async () => {
  connected({ t0: [answer(1, "session"), answer(3, "agent")] });
  const view = drawn(<AllRemembered role="approver" />);
  await settle();
  expect(view.all("button").map((button) => button.getAttribute("aria-label"))).toContain("Revoke Bash(session)");
  expect(view.all("[aria-label='Revoke Bash(agent)']")).toEqual([]);
});
