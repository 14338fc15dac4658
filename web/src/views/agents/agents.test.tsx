import type { Agent, AgentExamined } from "@acpd/client";
import { expect, test, vi } from "vitest";

import { signedOut } from "../../app/agents.ts";
import { after, drawn } from "../testing.ts";
import { AgentRow } from "./AgentRow.tsx";
import { abilities } from "./capabilities.ts";
import { Examined } from "./Examined.tsx";

const agent: Agent = { id: "fake", title: "Fake", installed: true, isSetUp: true, isDefault: false, source: "config", runs: "path" };
const found: AgentExamined = {
  agentType: "fake",
  millis: 1_234,
  stderr: "",
  strayLines: [],
  hello: {
    protocolVersion: 1,
    agentInfo: { name: "fake-agent", version: "0.3.0" },
    agentCapabilities: {
      loadSession: true,
      promptCapabilities: { image: true, audio: false },
      mcpCapabilities: {},
      sessionCapabilities: { fork: {}, list: null },
      shiny: true,
      _meta: { secret: true },
    },
    authMethods: [{ id: "key", name: "API key", description: "From the console" }, { id: "tui" }],
  },
};

/** Returns a check that the test resolves. */
function asked() {
  let resolve!: (found: AgentExamined) => void;
  let reject!: (why: Error) => void;
  const answer = new Promise<AgentExamined>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { resolve, reject, check: vi.fn((_agentType: string) => answer) };
}

test("what it can do is said in words, what nobody has words for by its name, empty groups not at all", () => {
  expect(abilities(found.hello!.agentCapabilities)).toEqual({
    can: ["load earlier sessions with their history", "see images", "fork sessions", "shiny"],
    cannot: ["hear audio", "list its sessions"],
  });
  expect(abilities(null)).toEqual({ can: [], cannot: [] });
});

test("one that works: how long it took, the protocol, what it is, what it can do, ways to sign in", () => {
  const view = drawn(<Examined {...found} />);
  expect(view.one("p").textContent).toBe("Started in 1.2 s");
  expect(view.all("dl > div").map((row) => [...row.children].map((part) => part.textContent))).toEqual([
    ["Protocol", "ACP version 1"],
    ["Reports as", "fake-agent 0.3.0"],
    ["Can", "load earlier sessions with their history, see images, fork sessions, shiny"],
    ["Cannot", "hear audio, list its sessions"],
    ["Sign-in", "API key From the consoletui"],
  ]);
  expect(view.all("details, pre")).toEqual([]);
});

test("one that says next to nothing of itself works as well", () => {
  const view = drawn(<Examined {...found} hello={{ protocolVersion: 1 }} millis={42} />);
  expect(view.one("p").textContent).toBe("Started in 42 ms");
  expect(view.all("dl > div").map((row) => row.textContent)).toEqual(["ProtocolACP version 1", "Sign-inNot needed"]);
});

test("one that does not work: why, its stray lines, and its standard error in a fold", () => {
  const view = drawn(
    <Examined {...found} hello={null} error="it exited with code 3" stderr={"oops\u202E\nno licence"} strayLines={["hello", "there"]} />,
  );
  expect(view.one("p").textContent).toBe("Couldn’t start. it exited with code 3 After 1.2 s");
  expect(view.one(".examined-stray pre").textContent).toBe("hello\nthere");
  expect(view.one<HTMLDetailsElement>("details").open).toBe(false);
  expect(view.one("details pre").textContent).toBe("oops⟨U+202E⟩\nno licence");
  expect(view.all("dl")).toEqual([]);
  const sandbox = { mode: "off", network: "on", gaps: [], closed: [], missing: [], read: [], write: [] };
  const confined = drawn(<Examined {...found} hello={null} error="it exited with code 3" sandbox={sandbox} />);
  expect(confined.all("dt").map((term) => term.textContent)).toEqual(["Sandbox"]);
});

test("a check is busy until it is answered, is announced, and is not begun twice", async () => {
  const { check, resolve } = asked();
  const view = drawn(<AgentRow agent={agent} check={check} />);
  const button = view.button("Check Fake");
  await after(() => button.click());
  await after(() => button.click());
  expect(check.mock.calls).toEqual([["fake"]]);
  expect([button.textContent, button.getAttribute("aria-busy"), button.disabled]).toEqual(["Checking…", "true", false]);
  expect(view.one("[role=status][aria-live=polite]").textContent).toBe("Starting and initializing the agent…");
  await after(() => resolve(found));
  expect([button.textContent, button.getAttribute("aria-busy")]).toEqual(["Check", "false"]);
  expect(view.one("[role=status]").textContent).toContain("Started in");
});

test("a check that was refused says why, and can be tried again", async () => {
  const { check, reject } = asked();
  const view = drawn(<AgentRow agent={agent} check={check} />);
  await after(() => view.button("Check Fake").click());
  await after(() => reject(new Error("too many agents run")));
  expect(view.one("[role=status]").textContent).toBe("Couldn’t check: too many agents run");
  await after(() => view.button("Check Fake").click());
  expect(check).toHaveBeenCalledTimes(2);
});

test("who may not check sees why not; what cannot be started has no check", async () => {
  const { check } = asked();
  const view = drawn(<AgentRow agent={agent} check={check} barred="Requires the operator role" />);
  const button = view.button("Check Fake");
  expect([button.disabled, button.title]).toEqual([true, "Requires the operator role"]);
  await after(() => button.click());
  expect(check).not.toHaveBeenCalled();
  const missing = drawn(<AgentRow agent={{ ...agent, installed: false, reason: "not found" }} check={check} />);
  expect(missing.all("button")).toEqual([]);
  expect(missing.text()).toContain("not found");
});

test("the default and an agent that wants a sign-in are marked, and no command stands where a refresh helps", async () => {
  const { check } = asked();
  signedOut.value = new Set(["fake"]);
  const view = drawn(<AgentRow agent={{ ...agent, isDefault: true }} check={check} onThread={() => {}} />);
  expect(view.all(".agent-tag").map((tag) => tag.textContent)).toEqual(["Default", "Needs a sign-in"]);
  expect(view.text()).toContain("Its next thread offers the sign-in.");
  expect(view.one(".agent-glyph .glyph").dataset.initial).toBe("F");
  signedOut.value = new Set();
  const missing = drawn(<AgentRow agent={{ ...agent, source: "registry", installed: false, reason: "npm is missing" }} check={check} />);
  expect(missing.all("code")).toHaveLength(1);
  expect(missing.text()).toContain("then refresh");
});

test("the owner makes an agent the default; the one that is has a mark instead", async () => {
  const onDefault = vi.fn();
  const row = (more: Partial<Agent>, act?: () => void) =>
    drawn(<AgentRow agent={{ ...agent, ...more }} check={asked().check} onDefault={act} />);
  await after(() => row({}, onDefault).button("Make default: Fake").click());
  expect(onDefault).toHaveBeenCalledOnce();
  const now = row({ isDefault: true }, onDefault);
  expect(now.one(".agent-tag").textContent).toBe("Default");
  for (const view of [now, row({})]) {
    expect(view.text()).not.toContain("Make default");
  }
});
