// @vitest-environment jsdom
import type { Client, Notice } from "@acpd/client";
import { expect, test, vi } from "vitest";

import { client } from "../../connection/connection.ts";
import { ConfigOptions, CurrentThread, ModeSelect, NoticeView, Plan, PlanView, TurnEnd, UsageMeter } from "./index.ts";
import { after, drawn, press } from "../testing.ts";

const MODES = [
  { value: "ask", name: "Ask", description: "Asks first" },
  { value: "code", name: "Code" },
  { value: "architect", name: "Architect" },
];

test("a plan has a mark, a word and a priority for each step, and says how far it is", () => {
  const view = drawn(
    <Plan
      entries={[
        { content: "one", status: "completed", priority: "medium" },
        { content: "two", status: "in_progress", priority: "high" },
        { content: "three", status: "pending", priority: "low" },
        { content: "four", status: "on_hold", priority: "medium" },
      ]}
    />,
  );
  expect(view.all("li").map((entry) => entry.textContent)).toEqual(["●onedone", "◐twohighin progress", "○threelowpending", "○fouron hold"]);
  const bar = view.one<HTMLProgressElement>("progress");
  expect([bar.value, bar.max, bar.getAttribute("aria-label")]).toEqual([1, 4, "Progress: 25%"]);
});

test("what is not completed at the end of the turn was not done", () => {
  const entries = [{ content: "one", status: "completed", priority: "medium" }, { content: "two", status: "in_progress", priority: "medium" }];
  const view = drawn(<Plan entries={entries} ended />);
  expect(view.all("li").map((entry) => entry.textContent)).toEqual(["●onedone", "○twonot done"]);
  expect(view.one("summary").textContent).toBe("Plan1 of 2 done");
});

test("an empty plan is none", () => {
  expect(drawn(<Plan entries={[]} />).place.innerHTML).toBe("");
});

test("a plan that is a text is drawn as Markdown, with its file and without what it must not do", () => {
  const plan = { entries: [], form: "markdown", markdown: "# Way\n\n- *first*\n\n<img src=x onerror=alert(1)>", path: "/w/way.md" } as const;
  const view = drawn(<PlanView plan={{ ...plan, entries: [] }} />);
  expect(view.one(".th-markdown em").textContent).toBe("first");
  expect(view.all(".th-markdown [onerror]")).toEqual([]);
  expect(view.all(".th-path").map((path) => path.getAttribute("title"))).toEqual(["/w/way.md", "/w/way.md"]);
  // Its text is long: it is drawn when it is opened.
  expect(drawn(<PlanView plan={{ ...plan, entries: [] }} open={false} />).all(".th-markdown")).toEqual([]);
  expect(drawn(<PlanView plan={{ entries: [{ content: "one", status: "pending", priority: "medium" }] }} />).all("li")).toHaveLength(1);
});

test("the mode is picked from a list, with the keyboard", async () => {
  const onPick = vi.fn();
  const view = drawn(<ModeSelect modeId="code" modes={MODES} onPick={onPick} />);
  const button = view.button("Mode: Code");
  expect(button.getAttribute("aria-expanded")).toBe("false");
  await press(button, "ArrowDown");
  const list = view.one("[role=listbox]");
  expect(document.activeElement).toBe(list);
  expect(view.all("[role=option]").map((option) => [option.textContent, option.getAttribute("aria-selected")])).toEqual([
    ["○AskAsks first", "false"], ["●Code", "true"], ["○Architect", "false"],
  ]);
  expect(list.getAttribute("aria-activedescendant")).toBe(view.all("[role=option]")[1]!.id);
  await press(list, "a");
  await press(list, "r");
  await press(list, "Enter");
  expect(onPick.mock.calls).toEqual([["architect"]]);
  expect(view.all("[role=listbox]")).toEqual([]);
  expect(document.activeElement).toBe(view.button("Mode"));
});

test("Escape and a press elsewhere shut the list and pick nothing", async () => {
  const onPick = vi.fn();
  const view = drawn(<ModeSelect modeId="code" modes={MODES} onPick={onPick} />);
  await after(() => view.button("Mode").click());
  await press(view.one("[role=listbox]"), "Escape");
  expect(view.all("[role=listbox]")).toEqual([]);
  await after(() => view.button("Mode").click());
  await after(() => document.body.dispatchEvent(new Event("pointerdown", { bubbles: true })));
  expect(view.all("[role=listbox]")).toEqual([]);
  expect(onPick).not.toHaveBeenCalled();
});

test("options come by category, with their groups; switches are switches", async () => {
  const onSet = vi.fn();
  const view = drawn(
    <ConfigOptions
      onSet={onSet}
      options={[
        { id: "web", name: "Web search", type: "boolean", currentValue: false },
        { id: "own", name: "Tone", category: "_tone", type: "select", currentValue: "dry", options: [{ value: "dry", name: "Dry" }] },
        { id: "model", name: "Model", category: "model", type: "select", currentValue: "b", options: [{ group: "g", name: "Group", options: [{ value: "a", name: "A" }, { value: "b", name: "B" }] }] },
        { id: "mode", name: "Mode", category: "mode", type: "select", currentValue: "x", options: [] },
        { id: "odd", name: "Odd", type: "slider", currentValue: 3 },
      ]}
    />,
  );
  expect(view.all("button").map((button) => button.textContent)).toEqual(["x", "B", "Dry", "Web search"]);
  await after(() => view.one("[role=switch]").click());
  await after(() => view.button("Model").click());
  expect(view.one(".th-picker-group").textContent).toBe("Group");
  await after(() => view.all("[role=option]")[0]!.click());
  expect(onSet.mock.calls).toEqual([["web", true], ["model", "a"]]);
});

test("how full the context is, and what it cost", () => {
  const view = drawn(<UsageMeter usage={{ used: 48_211, size: 200_000, cost: { amount: 0.4212, currency: "USD" } }} />);
  expect(view.text()).toBe("48k / 200k$0.42");
  expect(view.one("meter").getAttribute("aria-label")).toBe("48,211 of 200,000 tokens in the context");
  expect(view.one("meter").dataset.state).toBe("fine");
});

test("the cost is that of the thread, with all sessions of its agent", () => {
  const usage = { used: 950, cost: { amount: 0.0842, currency: "USD" } };
  const spent = { inputTokens: 0, outputTokens: 0, totalTokens: 0, costs: [{ amount: 0.2842, currency: "USD" }] };
  expect(drawn(<UsageMeter usage={usage} spent={spent} />).text()).toBe("950$0.28");
  expect(drawn(<UsageMeter usage={usage} spent={{ ...spent, costs: [] }} />).text()).toBe("950$0.0842");
});

test("without a size there is no meter, without anything nothing", () => {
  expect(drawn(<UsageMeter usage={{ used: 950 }} />).text()).toBe("950");
  expect(drawn(<UsageMeter usage={null} />).place.innerHTML).toBe("");
});

test.each([
  [{ status: "completed", stopReason: "end_turn" }, "Done"],
  [{ status: "limited", stopReason: "max_tokens" }, "Stopped: the limit of tokens is reached"],
  [{ status: "refused", stopReason: "refusal" }, "The agent refused"],
  [{ status: "interrupted", stopReason: "cancelled", startedAt: 1 }, "Stopped"],
  [{ status: "interrupted", error: "acpd was restarted", startedAt: 1 }, "Interrupted"],
  [{ status: "interrupted" }, "Not sent"],
  [{ status: "completed", stopReason: "out_of_coffee" }, "Stopped: out of coffee"],
  [{ status: "failed", error: "The agent is gone." }, "Failed"],
] as const)("a turn that ended as %o", (turn, said) => {
  const view = drawn(<TurnEnd turn={turn} />);
  expect(view.one(".th-turn-stop").textContent).toBe(said);
  if ("error" in turn) expect(view.one(".th-turn-error").textContent).toBe(turn.error);
  expect(view.all("[role=alert]"), "only a failure is an alert").toHaveLength(turn.status === "failed" ? 1 : 0);
});

test("a turn's end says what it took", () => {
  const view = drawn(
    <TurnEnd
      turn={{
        status: "completed", startedAt: 1_000, completedAt: 94_000,
        tokenUsage: { inputTokens: 48_211, outputTokens: 1_932, cost: { amount: 0.0123, currency: "EUR" } },
      }}
    />,
  );
  expect(view.all(".th-turn-facts span").map((fact) => fact.textContent)).toEqual(["Done", "1 min 33 s", "48k in", "1.9k out", "€0.0123"]);
});

test("a turn's end says what it worked, and what it waited for the user", () => {
  const facts = (waitedMs: number) => drawn(<TurnEnd turn={{ status: "completed", startedAt: 1_000, completedAt: 254_000, waitedMs }} />).all(".th-turn-facts span").map((fact) => fact.textContent);
  expect(facts(240_000)).toEqual(["Done", "13 s", "waited 4 min 0 s"]);
  expect(facts(20), "too short to be said").toEqual(["Done", "4 min 13 s"]);
});

test("a turn whose duration is shown above says only what is not done, and what was used", () => {
  const facts = (turn: object) => drawn(<TurnEnd timed turn={{ status: "completed", startedAt: 1, completedAt: 9_000, ...turn }} />).all(".th-turn-facts span").map((fact) => fact.textContent);
  expect(facts({ stopReason: "end_turn" })).toEqual([]);
  expect(facts({ tokenUsage: { inputTokens: 48_211 } })).toEqual(["48k in"]);
  expect(facts({ status: "failed", error: "The agent is gone." })).toEqual(["Failed"]);
  expect(facts({ status: "interrupted" })).toEqual(["Stopped"]);
});

const notice = (rest: Partial<Notice>): Notice => ({ seq: 1, threadId: "t", ts: 0, code: "x", level: "info", message: "m", ...rest });

test("a notice says who refused, and its detail can be opened", () => {
  const view = drawn(<NoticeView notice={notice({ message: "Refused.", detail: "the end of stderr", by: { kind: "policy", rule: "deny: *" } })} />);
  expect(view.one("summary").textContent).toBe("Refused. (rule deny: *)");
  expect(view.one("[role=note]")).not.toBeNull();
});

test("a denied folder is opened after it was shown whole, and by those who may", async () => {
  const folder = "/home/u/\u202elib";
  const denied = notice({ level: "warning", message: "Denied.", folder });
  expect(drawn(<NoticeView notice={denied} />).all("button")).toEqual([]);

  const openFolder = vi.fn().mockRejectedValueOnce(new Error("a turn is running")).mockResolvedValue(undefined);
  const view = drawn(
    <CurrentThread.Provider value={{ cwd: "", diffStyle: "unified", setDiffStyle: () => {}, folds: new Map(), terminal: () => undefined, openFolder }}>
      <NoticeView notice={denied} />
    </CurrentThread.Provider>,
  );
  const offer = "Allow a folder for this thread…";
  await after(() => view.button(offer).click());
  expect(openFolder).not.toHaveBeenCalled();
  expect(view.one("code").textContent).toBe("/home/u/⟨U+202E⟩lib");
  await after(() => view.button("Cancel").click());
  await after(() => view.button(offer).click());
  await after(() => view.button("Allow /home/u/⟨U+202E⟩lib").click());
  expect(openFolder).toHaveBeenCalledWith(folder);
  expect(view.one("[role=alert]").textContent).toContain("urn is running");
  await after(() => view.button("Allow /home/u/⟨U+202E⟩lib").click());
  expect(view.one("[role=status]").textContent).toContain("may use /home/u/⟨U+202E⟩lib");
});

/** Shows the offer to open a folder, and connects to a daemon that answers `config/folder/add` so. */
async function offered(code: string, ownedAgent: string | undefined, call: (...given: unknown[]) => Promise<unknown>) {
  client.value = { call, state: { name: "open" }, on: () => () => {}, onState: () => () => {} } as unknown as Client;
  const context = { cwd: "", diffStyle: "unified", setDiffStyle: () => {}, folds: new Map(), terminal: () => undefined } as const;
  const view = drawn(
    <CurrentThread.Provider value={{ ...context, openFolder: async () => {}, ownedAgent }}>
      <NoticeView notice={notice({ code, level: "warning", message: "Denied.", folder: '/srv/a "b"\u202e' })} />
    </CurrentThread.Provider>,
  );
  await after(() => view.button("Allow a folder").click());
  await after(() => vi.dynamicImportSettled());
  return view;
}

test("an owner allows a folder for all threads of the agent, where the sandbox denied it", async () => {
  const call = vi.fn(async () => ({ file: "/etc/acpd\u202e.toml", changed: true }));
  const view = await offered("sandboxDenied", "fake", call);
  // The page's list asks for its threads meanwhile.
  expect(call).not.toHaveBeenCalledWith("config/folder/add", expect.anything());
  await after(() => view.button("Allow for all threads of fake").click());
  expect(call).toHaveBeenCalledWith("config/folder/add", { agentType: "fake", folder: '/srv/a "b"\u202e' });
  expect(view.one("[role=status]").textContent).toBe(
    'fake may use /srv/a "b"⟨U+202E⟩ in all its threads when it starts again, until you remove it from /etc/acpd⟨U+202E⟩.toml.',
  );
  for (const [code, agent] of [["sandboxDenied", undefined], ["outsideWorkspace", "fake"]] as const) {
    const other = await offered(code, agent, call);
    expect(other.text()).not.toContain("all threads");
  }
  client.value = undefined;
});

test("where the daemon cannot change the configuration, the owner learns what to write", async () => {
  const call = vi.fn(() => Promise.reject(new Error("the configuration is read-only")));
  const view = await offered("sandboxDenied", 'a"]\nx', call);
  await after(() => view.button("Allow for all threads of").click());
  expect(view.one("[role=alert]").textContent).toContain("read-only");
  expect(view.one("pre").textContent).toBe('[agents."a\\"]\\nx".sandbox]\nfolders = ["/srv/a \\"b\\"⟨U+202E⟩"]\n');
  expect(view.button("Allow for all threads of").disabled).toBe(false);
  client.value = undefined;
});

test("an error is announced", () => {
  expect(drawn(<NoticeView notice={notice({ level: "error", message: "Gone." })} />).one("[role=alert]").textContent).toBe("Gone.");
});
