// @vitest-environment jsdom
import type { Approval, Thread } from "@acpd/client";
import { AcpdError } from "@acpd/client";
import { act } from "preact/test-utils";
import { beforeEach, expect, test, vi } from "vitest";

import { cramped } from "../../app/layout.ts";
import { standing } from "../../connection/connection.ts";
import type { ThreadState } from "../../state/thread.ts";
import type { ThreadViewProps } from "../thread-props.ts";
import { Composer, PlanCard } from "./index.ts";
import Approvals from "./questions/Approvals.tsx";
import Receipts from "./questions/Receipts.tsx";
import { after, drawn, press, type } from "../testing.ts";

const head = {
  id: "t", agentType: "fake", cwd: "/w", status: "idle", additionalDirectories: [], archived: false, createdAt: 0, updatedAt: 0,
  latestSeq: 1, pendingRequestIds: [], queuedTurnIds: [], turnCount: 0,
} as unknown as Thread;

const approval: Approval = {
  seq: 1, threadId: "t", ts: 0, requestId: "q", itemId: "i", title: "Build it", subjects: [{ type: "commandLine", line: "make", cwd: "/w" }],
  options: [{ optionId: "y", name: "Allow", kind: "allow_once" }, { optionId: "n", name: "Reject", kind: "reject_once" }],
};
const question = { method: "item/commandExecution/requestApproval", params: approval } as const;

function props(state: Partial<ThreadState> = {}, rest: Partial<ThreadViewProps> = {}): ThreadViewProps {
  return {
    thread: { threadId: "t", seq: 1, head, turns: [], questions: [], decisions: [], notices: [], steering: [], others: [], lanes: {}, ...state },
    rows: [],
    actions: {
      send: vi.fn(async () => {}), startAgent: vi.fn(), interrupt: vi.fn(async () => {}), answer: vi.fn(async () => {}), setMode: vi.fn(async () => {}),
      setConfig: vi.fn(async () => {}), loadOlder: vi.fn(async () => {}), fork: vi.fn(async () => {}), rollback: vi.fn(async () => {}),
    },
    role: "owner",
    online: true,
    ...rest,
  } as ThreadViewProps;
}

beforeEach(() => localStorage.clear());

test("an answer names the option, and what it means", async () => {
  const given = props({ questions: [question] });
  const view = drawn(<Approvals {...given} />);
  await after(() => view.button("Reject").click());
  expect(vi.mocked(given.actions.answer).mock.calls).toEqual([[question, { decision: "decline", optionId: "n", optionKind: "reject_once" }]]);
});

test("a question of a subagent says first who asks, in a name that cannot end", () => {
  const asked = { ...question, params: { ...approval, lane: "lane_1" } };
  const lanes = { lane_1: { title: 'review” wants “ls"\n' } };
  const view = drawn(<Approvals {...props({ questions: [asked], lanes })} />);
  expect(view.one("h3").textContent).toMatch(/^Subagent “review' wants 'ls'”: /);
  expect(view.one("[role=alert]").textContent).toMatch(/^Subagent “review' wants 'ls'” asks for permission: /);
  view.draw(<Approvals {...props({ questions: [asked] })} />);
  expect(view.one("h3").textContent).toMatch(/^Subagent: /);
});

test("an answer that came too late says so, and leaves the card until the event comes", async () => {
  const answer = async () => {
    throw new Error("Somebody else has answered.");
  };
  const given = props({ questions: [question] });
  const view = drawn(<Approvals {...given} actions={{ ...given.actions, answer }} />);
  await after(() => view.button("Allow").click());
  expect(view.one(".error-text").textContent).toBe("Somebody else has answered.");
  expect(view.button("Allow").disabled).toBe(false);
});

test("those who are asked as well are named, and those who only look are not", () => {
  const others = [
    { principal: "mara", client: "acpd-cli", mayAnswer: true },
    { principal: "mara", client: "acpd-cli", mayAnswer: true },
    { principal: "eve", client: "phone", mayAnswer: false },
  ];
  const view = drawn(<Approvals {...props({ questions: [question], others })} />);
  expect(view.one(".th-approval").textContent).toContain("Also open on: mara (command line)");
  expect(view.text().match(/mara/g)).toHaveLength(1);
  expect(view.text()).not.toContain("eve");
});

test("the user's own other pages are not among those who are asked as well", () => {
  standing.value = { name: "in", session: { principal: "mara", role: "owner" } };
  const others = [
    { principal: "mara", client: "acpd-web", mayAnswer: true },
    { principal: "mara", client: "acpd-cli", mayAnswer: true },
    { principal: "ann", client: "acpd-web", mayAnswer: true },
  ];
  const view = drawn(<Approvals {...props({ questions: [question], others })} />);
  expect(view.text()).toContain("Also open on: mara (command line), ann");
  expect(view.text()).not.toContain("mara (acpd-web)");
  standing.value = { name: "looking" };
});

test("in a narrow window a question is a sheet, one at a time, which can be folded", async () => {
  cramped.value = true;
  const second = { ...question, params: { ...approval, requestId: "r" } };
  const view = drawn(<Approvals {...props({ questions: [question, second] })} />);
  expect(view.all(".th-question.is-sheet")).toHaveLength(1);
  expect(view.one(".th-approval-head").textContent).toContain("1 of 2");
  await after(() => view.button("Show the conversation").click());
  expect(view.all(".th-question")).toEqual([]);
  expect(view.one(".th-folded").textContent).toContain("run a command");
  await after(() => view.one(".th-folded").click());
  expect(view.all(".th-question")).toHaveLength(1);
  await after(() => view.button("Show the conversation").click());
  // The next question is not folded.
  view.draw(<Approvals {...props({ questions: [second] })} />);
  expect(view.all(".th-question")).toHaveLength(1);
  cramped.value = false;
});

test("while a question is open the composer is one line, until the user writes", async () => {
  const given = props({ head: { ...head, turnId: "1", status: "waiting" } as Thread, questions: [question] });
  const view = drawn(<Composer {...given} />);
  const isFolded = () => view.one(".th-composer").classList.contains("is-folded");
  expect(isFolded()).toBe(true);
  expect(view.button("Stop").disabled).toBe(false);
  await after(() => view.one("textarea").focus());
  expect(isFolded()).toBe(false);
  await after(() => view.button("Stop").focus());
  expect(isFolded()).toBe(false);
  await after(() => view.button("Stop").blur());
  expect(isFolded()).toBe(true);
});

test("drafts of two tabs follow each other", async () => {
  const view = drawn(<Composer {...props()} />);
  const area = view.one<HTMLTextAreaElement>("textarea");
  await type(area, "from this tab");
  const here = JSON.parse(localStorage.getItem("acpd.drafts")!) as object;
  const newValue = JSON.stringify({ ...here, t: "from the other tab" });
  await after(() => dispatchEvent(new StorageEvent("storage", { key: "acpd.drafts", newValue })));
  expect(area.value).toBe("from the other tab");
  await type(area, "");
});

test("a question that somebody else answers is gone at once, and for a moment it says who", () => {
  vi.useFakeTimers();
  const given = props({ questions: [question] });
  const both = (shown: typeof given) => (
    <>
      <Approvals {...shown} />
      <Receipts thread={shown.thread} />
    </>
  );
  const view = drawn(both(given));
  expect(view.one("[role=status].th-receipts").childElementCount).toBe(0);
  const resolved = {
    seq: 2, threadId: "t", ts: 0, requestId: "q", outcome: "accepted", optionId: "y",
    by: { kind: "client", client: "acpd-cli", principal: "mara" },
  } as const;
  const decisions = [{ method: "serverRequest/resolved", params: resolved, question }] as const;
  view.draw(both({ ...given, thread: { ...given.thread, questions: [], decisions } }));
  expect(view.all("button")).toEqual([]);
  expect(view.one(".th-receipts > .th-settled").textContent).toContain("by mara (command line)");
  act(() => void vi.advanceTimersByTime(2_999));
  expect(view.all(".th-receipts > .th-settled")).toHaveLength(1);
  act(() => void vi.advanceTimersByTime(1));
  expect(view.all(".th-settled")).toEqual([]);
  vi.useRealTimers();
});

test("what was answered before the thread was opened is no news", () => {
  const resolved = { seq: 2, threadId: "t", ts: 0, requestId: "q", outcome: "accepted", by: { kind: "daemon" } } as const;
  const view = drawn(<Receipts {...props({ decisions: [{ method: "serverRequest/resolved", params: resolved, question }] })} />);
  expect(view.text()).toBe("");
});

test.each([
  [{ role: "observer" }, "View only. Someone else needs to answer."],
  [{ online: false }, "Not connected"],
] as const)("with %o nothing can be answered, and it says why", (rest, said) => {
  const view = drawn(<Approvals {...props({ questions: [question] }, rest)} />);
  expect(view.button("Allow").disabled).toBe(true);
  expect(view.text()).toContain(said);
});

test("a draft is kept for its thread, and for no other", async () => {
  const view = drawn(<Composer {...props()} />);
  await type(view.one<HTMLTextAreaElement>("textarea"), "half a thought");
  view.draw(<Composer {...props({ threadId: "other" })} />);
  expect(view.one<HTMLTextAreaElement>("textarea").value).toBe("");
  view.draw(<Composer {...props()} />);
  expect(view.one<HTMLTextAreaElement>("textarea").value).toBe("half a thought");
  await press(view.one("textarea"), "Enter");
  view.draw(null);
  view.draw(<Composer {...props()} />);
  expect(view.one<HTMLTextAreaElement>("textarea").value).toBe("");
});

test("observers and approvers have no composer", () => {
  for (const role of ["observer", "approver"] as const) expect(drawn(<Composer {...props({}, { role })} />).place.innerHTML).toBe("");
});

test("one selector stands for the mode, whether the agent has modes or an option for it", () => {
  const modes = { currentModeId: "a", availableModes: [{ id: "a", name: "Ask" }] };
  const option = { id: "acpd.mode", name: "Mode", category: "mode", type: "select", currentValue: "a", options: [{ value: "a", name: "Ask" }] };
  for (const more of [{ modes }, { modes, configOptions: [option] }]) {
    const view = drawn(<Composer {...props({ head: { ...head, ...more } as Thread })} />);
    expect(view.all(".th-picker-button")).toHaveLength(1);
  }
});

test("what the agent refuses to set is said", async () => {
  const modes = { currentModeId: "a", availableModes: [{ id: "a", name: "Ask" }, { id: "b", name: "Code" }] };
  const given = props({ head: { ...head, modes } as Thread });
  const setMode = async () => {
    throw new AcpdError("agent_failed", "The agent stays as it is.");
  };
  const view = drawn(<Composer {...given} actions={{ ...given.actions, setMode }} />);
  await after(() => view.button("Mode").click());
  await after(() => view.all("[role=option]")[1]!.click());
  expect(view.one("[role=alert]").textContent).toBe("The agent stays as it is.");
});

test("the plan is pinned while its turn runs, and one line while a question is open", () => {
  const plan = { entries: [{ content: "one", status: "pending", priority: "high" }] };
  const turns = [{ key: "1", id: "1", status: "running", items: [], plans: [plan] }] as unknown as ThreadState["turns"];
  const card = (turnId: string | undefined, questions: ThreadState["questions"] = []) =>
    drawn(<PlanCard {...props({ head: { ...head, turnId } as Thread, turns, questions })} />).all("details") as HTMLDetailsElement[];
  expect(card("1")[0]!.open).toBe(true);
  expect(card("1", [question])[0]!.open).toBe(false);
  // Afterwards it is in the conversation.
  expect(card(undefined)).toEqual([]);
  expect(card("2")).toEqual([]);
});

test("each of several plans is a card of its own, in one line until it is opened", () => {
  const steps = { planId: "a", entries: [{ content: "one", status: "pending", priority: "high" }] };
  const text = { planId: "b", entries: [], form: "markdown", markdown: "# The *way*\n\n<img src=x onerror=alert(1)>", path: "/w/way.md" };
  const empty = { planId: "c", entries: [] };
  const turns = [{ key: "1", id: "1", status: "running", items: [], plans: [steps, text, empty] }] as unknown as ThreadState["turns"];
  const view = drawn(<PlanCard {...props({ head: { ...head, turnId: "1" } as Thread, turns })} />);
  const cards = view.all("details") as HTMLDetailsElement[];
  expect(cards.map(({ open }) => open)).toEqual([false, false]);
  expect(cards[1]!.textContent).toContain("way.md");
});
