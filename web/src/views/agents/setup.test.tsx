import type { Agent, Client } from "@acpd/client";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { agents, installErrors, noteSignIn, signedOut } from "../../app/agents.ts";
import { client, link, standing } from "../../connection/connection.ts";
import { signInWanted } from "../../state/sign-in.ts";
import type { ThreadState } from "../../state/thread.ts";
import { after, drawn } from "../testing.ts";
import { Examined } from "./Examined.tsx";
import { InstallButton, InstallState } from "./Install.tsx";
import SignInCard from "./SignInCard.tsx";

const agent: Agent = { id: "goose", title: "Goose", installed: false, isSetUp: false, isDefault: false, source: "registry", installsBy: "download" };
let listed: Agent[] = [agent];
const answers: Record<string, (params: unknown) => unknown> = {};
const call = vi.fn((method: string, params?: unknown): Promise<unknown> => Promise.resolve(answers[method]?.(params)));

beforeEach(() => {
  call.mockClear();
  listed = [agent];
  answers["agent/list"] = () => ({ data: listed });
  answers["agent/authenticate/read"] = () => ({ inProgress: false, lines: [] });
  const signedIn = { call, on: () => () => {}, onState: () => () => {}, state: { name: "closed" } };
  client.value = signedIn as unknown as Client;
  link.value = { name: "open" } as typeof link.value;
  standing.value = { name: "in", session: { principal: "ann", role: "owner" } };
});
afterEach(() => {
  link.value = { name: "connecting" };
  client.value = undefined;
  agents.value = undefined;
  installErrors.value = {};
});

const calls = (method: string) => call.mock.calls.filter(([one]) => one === method);

test("an installation is requested once, and shows its progress until it ends", async () => {
  let done!: (value: unknown) => void;
  answers["agent/install"] = () => new Promise((resolve) => (done = resolve));
  const onInstalled = vi.fn();
  const view = drawn(<InstallButton agent={agent} onInstalled={onInstalled} />);
  await after(() => view.button("Install Goose").click());
  await after(() => view.button("Installing… Goose").click());
  expect(calls("agent/install")).toEqual([["agent/install", { agentType: "goose" }]]);
  expect(view.button("Installing… Goose").getAttribute("aria-busy")).toBe("true");
  await after(() => done({ agent }));
  await vi.waitFor(() => expect(onInstalled).toHaveBeenCalled());
});

test("while something is installed, by any client, the list is read again", async () => {
  listed = [{ ...agent, installing: { step: "downloading", receivedBytes: 1_500_000, totalBytes: 3_000_000 } }];
  agents.value = listed;
  const before = calls("agent/list").length;
  await vi.waitFor(() => expect(calls("agent/list").length).toBeGreaterThan(before + 1), { timeout: 5_000 });
  const view = drawn(<InstallState agent={listed[0]!} />);
  expect(view.text()).toBe("Downloading 1.5 MB of 3 MB");
  expect(view.one("progress").getAttribute("aria-label")).toBe("Installing Goose");
});

test("a failed installation says why, as the daemon does", async () => {
  answers["agent/install"] = () => Promise.reject(new Error("npm exited with code 7\u202E"));
  await after(() => drawn(<InstallButton agent={agent} />).button("Install Goose").click());
  expect(drawn(<InstallState agent={agent} />).text()).toBe("Couldn’t install: npm exited with code 7⟨U+202E⟩");
});

test("who may not install sees why; what is installed is updated; what cannot be installed has no button", () => {
  standing.value = { name: "in", session: { principal: "ann", role: "operator" } };
  const barred = drawn(<InstallButton agent={agent} />).button("Install Goose");
  expect([barred.disabled, barred.title]).toEqual([true, "Requires the owner role"]);
  expect(drawn(<InstallButton agent={{ ...agent, installed: true, runs: "installed" }} />).button("Update Goose").textContent).toBe("Update");
  expect(drawn(<InstallButton agent={{ ...agent, installsBy: null }} />).all("button")).toEqual([]);
});

test("a check of an agent that refused a session says that nobody is signed in", () => {
  noteSignIn("goose", false);
  expect([...signedOut.value]).toEqual(["goose"]);
  const found = { agentType: "goose", millis: 5, stderr: "", strayLines: [], hello: { protocolVersion: 1 } };
  expect(drawn(<Examined {...found} isSignedOut={signedOut.value.has("goose")} />).one("p").textContent).toContain("Starts. Not signed in.");
  noteSignIn("goose", true);
  expect([...signedOut.value]).toEqual([]);
});

const prompt = { itemId: "i", type: "userMessage", text: "Hi", content: [{ type: "text", text: "Hi" }], outcome: "completed" };
const thread = (startedAt: number) =>
  ({
    threadId: "t",
    head: { agentType: "goose" },
    notices: [{ notice: { code: "signInRequired", ts: 100 } }],
    turns: [{ key: "1", id: "1", status: "failed", startedAt, items: [prompt] }],
  }) as unknown as ThreadState;

test("a sign-in is wanted until a later turn begins", () => {
  expect(signInWanted(thread(90))).toBe(100);
  expect(signInWanted(thread(110))).toBeUndefined();
  expect(signInWanted({ ...thread(90), notices: [] })).toBeUndefined();
});

test("each way to sign in says what to do, and after it the prompt is sent again", async () => {
  const authMethods = [
    { id: "oauth", name: "With a browser" },
    { id: "tui", name: "In a terminal", type: "terminal" },
    { id: "key", name: "API key", type: "env_var", vars: [{ name: "GOOSE_KEY" }] },
  ];
  answers["agent/doctor"] = () => ({ hello: { protocolVersion: 1, authMethods } });
  answers["agent/authenticate"] = () => ({});
  const send = vi.fn(() => Promise.resolve());
  const view = drawn(<SignInCard thread={thread(90)} actions={{ send } as never} isSignedIn={false} />);
  await after(async () => {});
  expect(view.all(".sign-in-way").map(({ textContent }) => textContent)).toEqual([
    "With a browser",
    "In a terminalRun acpd agents login goose on the daemon’s host.",
    "API keySet GOOSE_KEY in the agent’s environment, in acpd.toml.",
  ]);
  await after(() => view.button("Sign in to Goose with With a browser").click());
  expect(calls("agent/authenticate")).toEqual([["agent/authenticate", { threadId: "t", methodId: "oauth" }]]);
  expect(view.one("h3").textContent).toContain("Signed in to Goose");
  await after(() => view.button("Try again").click());
  expect(send).toHaveBeenCalledWith("Hi", [], "queue");
});

test("what the agent prints for a sign-in says where it leads, and the sign-in can be cancelled", async () => {
  answers["agent/doctor"] = () => ({ hello: { protocolVersion: 1, authMethods: [{ id: "oauth", name: "Browser" }] } });
  answers["agent/authenticate"] = () => new Promise(() => {});
  answers["agent/authenticate/cancel"] = () => ({});
  let lines: string[] = [];
  let inProgress = false;
  answers["agent/authenticate/read"] = () => ({ inProgress, lines });
  const view = drawn(<SignInCard thread={thread(90)} actions={{} as never} isSignedIn={false} />);
  await after(async () => {});
  expect(view.all(".sign-in-printed")).toEqual([]);
  [inProgress, lines] = [true, ["(Open https://a.example/x?y=1). Code: ABCD-EFGH", "https://github.com@evil.example/device"]];
  await after(() => view.button("Sign in to Goose with Browser").click());
  await vi.waitFor(() => expect(view.all(".sign-in-printed")).toHaveLength(2));
  expect(view.one(".sign-in-printed span").textContent).toBe("(Open https://a.example/x?y=1). Code: ABCD-EFGH");
  const links = view.all(".sign-in-printed a") as HTMLAnchorElement[];
  expect(links.map(({ href, rel, textContent }) => [href, rel, textContent])).toEqual([
    ["https://a.example/x?y=1", "noreferrer noopener", "Open a.example"],
    ["https://github.com@evil.example/device", "noreferrer noopener", "Open evil.example"],
  ]);
  expect(view.one(".sign-in-printed .th-warning").textContent).toContain("is a user name, not where it leads");
  await after(() => view.button("Cancel").click());
  expect(calls("agent/authenticate/cancel")).toEqual([["agent/authenticate/cancel", { threadId: "t" }]]);
});

test("a sign-in that was begun elsewhere is shown, and can be cancelled", async () => {
  answers["agent/doctor"] = () => ({ hello: { protocolVersion: 1, authMethods: [] } });
  answers["agent/authenticate/read"] = () => ({ inProgress: true, lines: ["https://a.example/device"] });
  const view = drawn(<SignInCard thread={thread(90)} actions={{} as never} isSignedIn={false} />);
  await vi.waitFor(() => expect(view.all(".sign-in-printed")).toHaveLength(1));
  expect(view.button("Cancel").disabled).toBe(false);
});

test("only the owner signs in here; others see the command", async () => {
  standing.value = { name: "in", session: { principal: "ann", role: "operator" } };
  answers["agent/doctor"] = () => ({ hello: { protocolVersion: 1, authMethods: [{ id: "oauth", name: "Browser" }] } });
  const view = drawn(<SignInCard thread={thread(90)} actions={{} as never} isSignedIn={false} />);
  await after(async () => {});
  expect(view.one(".sign-in-way").textContent).toBe("BrowserRun acpd agents login goose on the daemon’s host.");
});
