// @vitest-environment jsdom
import type { Approval as Asked, Resolved } from "@acpd/client";
import { expect, test, vi } from "vitest";

import { answerWith } from "./answers.ts";
import { Approval, Settled } from "./Approval.tsx";
import { after, drawn, press } from "../../testing.ts";

const stamp = { seq: 1, threadId: "t", ts: 0 };
const question: Asked = {
  ...stamp,
  requestId: "q",
  itemId: "i",
  title: "Tidy up",
  subjects: [{ type: "commandLine", line: "git push --force", cwd: "/work/acpd" }],
  reason: "It was rebased.",
  options: [
    { optionId: "1", name: "Yes", kind: "allow_once" },
    { optionId: "2", name: "Yes, from now on", kind: "allow_always" },
    { optionId: "3", name: "No", kind: "reject_once" },
    { optionId: "4", name: "Never", kind: "reject_always" },
    { optionId: "5", name: "Something new", kind: "ask_later" },
  ],
};
const nothing = () => {};

test("the agent's own options are the buttons, in its order, each with what it does and the agent's name behind it", () => {
  const view = drawn(<Approval question={question} onAnswer={nothing} />);
  expect(view.all(".th-answers button").map((button) => button.textContent)).toEqual([
    "Allow once “Yes”", "Always allow “Yes, from now on”", "Reject “No”", "Always reject “Never”", "Other answer “Something new”",
  ]);
});

test("a name that says the opposite of its option is only a quotation, and no yes", () => {
  const options = [
    { optionId: "1", name: "No", kind: "allow_always" },
    { optionId: "2", name: "Allow\u202E", kind: "reject_once" },
    { optionId: "3", name: " allow ONCE ", kind: "allow_once" },
    { optionId: "4", name: "Allow once", kind: "_odd" },
  ];
  const view = drawn(<Approval question={{ ...question, options }} onAnswer={nothing} />);
  const buttons = view.all(".th-answers button");
  expect(buttons.map((button) => button.textContent)).toEqual([
    "Always allow “No”", "Reject “Allow⟨U+202E⟩”", "Allow once", "Other answer “Allow once”",
  ]);
  expect(buttons.map((button) => button.classList.contains("primary"))).toEqual([false, false, true, false]);
});

test("the agent's word is left out only where it says the same", () => {
  const named = (kind: string, name: string) => {
    const options = [{ optionId: "1", kind, name }];
    return drawn(<Approval question={{ ...question, options }} onAnswer={nothing} />).one(".th-answers button").textContent;
  };
  expect(named("allow_once", "Allow")).toBe("Allow once");
  expect(named("allow_once", " allow ")).toBe("Allow once");
  expect(named("allow_always", "Allow always")).toBe("Always allow");
  expect(named("reject_once", "Reject once")).toBe("Reject");
  expect(named("allow_always", "Allow")).toBe("Always allow “Allow”");
  expect(named("reject_once", "Allow")).toBe("Reject “Allow”");
  expect(named("constructor", "Allow")).toBe("Other answer “Allow”");
});

test("what the agent may remember by itself is marked before it is answered", () => {
  const view = drawn(<Approval question={{ ...question, agentRemembers: ["4"] }} onAnswer={nothing} />);
  expect(view.all(".th-answers button").map((button) => button.textContent)).toEqual([
    "Allow once “Yes”", "Always allow “Yes, from now on”", "Reject “No”",
    "Always reject “Never”the agent may remember this answer itself", "Other answer “Something new”",
  ]);
});

test("an always says for what it will hold, or that it is not remembered", () => {
  const holding = drawn(<Approval question={{ ...question, always: { holds: "this command in /w\u202E" } }} onAnswer={nothing} />);
  expect(holding.all(".th-answers button").map((button) => button.textContent)).toEqual([
    "Allow once “Yes”", "Allow this command in /w⟨U+202E⟩ for this session “Yes, from now on”", "Reject “No”",
    "Reject this command in /w⟨U+202E⟩ for this session “Never”", "Other answer “Something new”",
  ]);
  const why = "cannot resolve the program ../x is";
  const forgotten = drawn(<Approval question={{ ...question, always: { notRemembered: why } }} onAnswer={nothing} />);
  expect(forgotten.text()).toContain(`acpd does not remember an answer: ${why}`);
  expect(forgotten.button("Always allow").textContent).toBe("Always allow “Yes, from now on”");
});

test("a menu beside an answer that acpd remembers offers the other durations", async () => {
  const onAnswer = vi.fn();
  const held = { ...question, always: { holds: "this command in /w" }, agentRemembers: ["4"] };
  const view = drawn(<Approval question={held} onAnswer={onAnswer} scopes={["thread", "agent"]} />);
  await after(() => view.button("Allow for longer").click());
  const items = view.all("[role=menuitem]");
  expect(items.map((item) => item.textContent)).toEqual(["Allow for this thread", "Allow for every thread of this agent"]);
  // A digit in the menu answers nothing.
  press(items[0]!, "1");
  expect(onAnswer).not.toHaveBeenCalled();
  await after(() => items[1]!.click());
  expect(onAnswer.mock.calls).toEqual([[question.options[1], "agent"]]);
  expect(answerWith(question.options[1], "agent")).toMatchObject({ decision: "acceptForSession", optionId: "2", scope: "agent" });
  // What only the agent remembers has no duration, and neither has what nobody remembers.
  expect(view.all("[aria-haspopup=menu]")).toHaveLength(1);
  const forgotten = drawn(<Approval question={{ ...question, always: { notRemembered: "x" } }} onAnswer={nothing} scopes={["thread"]} />);
  expect(forgotten.all("[aria-haspopup=menu]")).toHaveLength(0);
});

test("a press answers with that option", async () => {
  const onAnswer = vi.fn();
  const view = drawn(<Approval question={question} onAnswer={onAnswer} />);
  await after(() => view.button("Always reject").click());
  expect(onAnswer.mock.calls).toEqual([[question.options[3]]]);
});

test("nothing is focused, so that no key that was meant for something else answers", () => {
  drawn(<Approval question={question} onAnswer={nothing} />);
  expect(document.activeElement).toBe(document.body);
});

test("it is a group with a name, and is announced", () => {
  const view = drawn(<Approval question={question} onAnswer={nothing} />);
  const group = view.one("[role=group]");
  expect(document.getElementById(group.getAttribute("aria-labelledby")!)?.textContent).toBe("Run this command?");
  expect(view.one("[role=alert]").textContent).toBe("The agent asks for permission: run a command");
});

test("the command, its folder, the reason, and who else is asked", () => {
  const view = drawn(<Approval question={question} onAnswer={nothing} others={["mara"]} />);
  expect(view.one("pre").textContent).toBe("git push --force");
  for (const said of ["/work/acpd", "It was rebased.", "Also open on: mara"]) expect(view.text()).toContain(said);
});

test("a command is there in full, however long, and what is hidden in it is seen", () => {
  const command = `echo ${"x".repeat(50_000)}\u202E; rm -rf /\rls`;
  const view = drawn(<Approval question={{ ...question, subjects: [{ type: "commandLine", line: command, cwd: "/w" }] }} onAnswer={nothing} />);
  expect(view.one("pre").textContent).toBe(`echo ${"x".repeat(50_000)}⟨U+202E⟩; rm -rf /⟨U+000D⟩ls`);
});

test("nothing is hidden in the parameters of a call", () => {
  const subjects = [{ type: "mcp", server: "gh", tool: "api", arguments: '{"path":"a\u00A0b\uFE0F\u{1D173}"}' }] as const;
  const view = drawn(<Approval question={{ ...question, subjects: [...subjects] }} onAnswer={nothing} />);
  expect(view.one("pre").textContent).toBe('{"path":"a⟨U+00A0⟩b⟨U+FE0F⟩⟨U+1D173⟩"}');
});

test("parts of a command are told apart", () => {
  const view = drawn(<Approval question={{ ...question, subjects: [{ type: "command", argv: ["sh", "-c", "a; b", ""], cwd: "/w" }] }} onAnswer={nothing} />);
  expect(view.one("pre").textContent).toBe("sh -c 'a; b' ''");
});

test("a carriage return hides no part of a change, and other line ends are said", () => {
  const diff = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-ls\n+rm -rf ~\rls\r\n";
  const view = drawn(<Approval question={{ ...question, subjects: [{ type: "file", access: "edit", path: "/w/x", diff }] }} onAnswer={nothing} />);
  expect(view.text()).toContain("rm -rf ~␍ls␍");
  expect(view.text()).toContain("Line ends changed from LF to CRLF");
});

test("a diff is there in full: no line is left for later, none is cut", () => {
  const lines = Array.from({ length: 900 }, (_, at) => `+line ${at}`);
  lines[500] = `+${"y".repeat(20_000)}`;
  const diff = `--- a/x\n+++ b/x\n@@ -0,0 +1,900 @@\n${lines.join("\n")}\n`;
  const view = drawn(<Approval question={{ ...question, subjects: [{ type: "file", access: "edit", path: "/w/x", diff }] }} onAnswer={nothing} />);
  expect(view.all("tbody tr")).toHaveLength(900);
  expect(view.text()).toContain("y".repeat(20_000));
  expect(view.text()).not.toContain("more");
});

test("a question about one file names it once, in its head, with the numbers of its lines", () => {
  const diff = "--- a/x.py\n+++ b/x.py\n@@ -1 +1,2 @@\n-old\n+new\n+more\n";
  const view = drawn(<Approval question={{ ...question, title: "Edit x.py", subjects: [{ type: "file", access: "edit", path: "/work/acpd/x.py", diff }] }} onAnswer={nothing} />);
  expect(view.one("h3").textContent?.replace(/\s+/g, " ").trim()).toMatch(/^Edit .*x\.py \+2 ?−1$/);
  expect(view.all(".th-path")).toHaveLength(1);
  expect(view.one(".th-diff-head").textContent).not.toContain("+2");
});

test("a path with more to say about it is in the part that has to be seen", () => {
  const linked = { type: "file", access: "read", path: "/w/x", realPath: "/etc/passwd" } as const;
  const long = { type: "file", access: "read", path: `/w/${"x".repeat(4_000)}` } as const;
  for (const subject of [linked, long]) {
    const view = drawn(<Approval question={{ ...question, subjects: [subject] }} onAnswer={nothing} />);
    expect(view.one("h3").textContent).toBe("Allow the agent to read a file?");
    expect(view.one(".th-approval-path").textContent).toContain("realPath" in subject ? "which is /etc/passwd" : "x".repeat(4_000));
  }
});

test("what is shown is what the daemon reads, and the agent's words are marked as the agent's", () => {
  const toolCall = {
    title: "$ ls", rawInput: { command: "ls" }, content: [{ type: "content", content: { type: "text", text: "only looks" } }],
  };
  const subjects: Asked["subjects"] = [
    { type: "command", argv: ["git", "a b"], cwd: "/w\u202E", env: [{ name: "GIT_SSH_COMMAND", value: "evil x" }] },
    { type: "commandLine", line: "touch x", cwd: "/w" },
    { type: "file", access: "edit", path: "/w/x", realPath: "/etc/passwd", arguments: '{"content":"new"}' },
    { type: "mcp", server: "gh", tool: "api", arguments: '{"method":"DELETE"}' },
  ];
  const view = drawn(<Approval question={{ ...question, title: "$ ls", subjects, toolCall }} onAnswer={nothing} />);
  expect(view.one("h3").textContent).toBe("Allow the agent to run a command, change a file, call a tool of an MCP server?");
  expect(view.all(".th-approval-command").map((line) => line.textContent)).toEqual(["git 'a b'", "touch x"]);
  for (const said of ["GIT_SSH_COMMAND='evil x'", "/w⟨U+202E⟩", "/etc/passwd", '{"content":"new"}', "api of the MCP server gh", '{"method":"DELETE"}']) {
    expect(view.text()).toContain(said);
  }
  const words = view.one(".th-agents-words");
  expect(words.getAttribute("aria-label")).toBe("The agent’s own words");
  expect(words.textContent).toContain("$ ls");
  expect(words.textContent).toContain("only looks");
  words.remove();
  expect(view.text()).not.toContain("ls");
  expect(view.text()).not.toContain("only looks");
});

test("what cannot be read is said, and then the call is there as it was sent", () => {
  const toolCall = { title: "x", rawInput: { url: "https://example.com" } };
  const subjects: Asked["subjects"] = [{ type: "unknown", what: "the command has a form that cannot be read" }];
  const view = drawn(<Approval question={{ ...question, subjects, toolCall }} onAnswer={nothing} />);
  expect(view.one(".th-warning").textContent).toContain("the command has a form that cannot be read");
  expect(view.one("pre").textContent).toContain("https://example.com");
});

test("while the answer is on its way, no other one can be given", () => {
  const view = drawn(<Approval question={question} onAnswer={nothing} sending />);
  expect(view.all(".th-answers button").every((button) => (button as HTMLButtonElement).disabled)).toBe(true);
  expect(view.one("[role=group]").getAttribute("aria-busy")).toBe("true");
});

test("who only looks on is told why the buttons are off", () => {
  const view = drawn(<Approval question={question} onAnswer={nothing} barred="You look on." />);
  expect(view.button("Allow once").disabled).toBe(true);
  expect(view.text()).toContain("You look on.");
});

test("an error is shown, and another answer can be given", () => {
  const view = drawn(<Approval question={question} onAnswer={nothing} error="Somebody else was quicker." />);
  expect(view.all("[role=alert]").map((alert) => alert.textContent)).toContain("Somebody else was quicker.");
  expect(view.button("Allow once").disabled).toBe(false);
});

test.each([
  ["git push --force", true],
  ["`git push --force`", true],
  ["Run `git push --force`", true],
  ["$ git push --force", true],
  ["git push", false],
  ["Only looks: git push --force", false],
])("a title that only repeats the command is left out: %s", (title, left) => {
  const view = drawn(<Approval question={{ ...question, title, reason: null }} onAnswer={nothing} />);
  expect(view.one(".th-agents-words").textContent!.includes(title)).toBe(!left);
});

test("the digits press the answers, once the whole subject has been in sight", async () => {
  const observers: IntersectionObserverCallback[] = [];
  vi.stubGlobal("IntersectionObserver", class {
    constructor(callback: IntersectionObserverCallback) {
      observers.push(callback);
    }
    observe() {}
    disconnect() {}
  });
  Element.prototype.scrollBy = vi.fn() as unknown as typeof Element.prototype.scrollBy;
  const onAnswer = vi.fn();
  const view = drawn(<Approval question={question} onAnswer={onAnswer} />);
  const card = view.one("[data-question]");
  await after(() => card.focus());
  await press(card, "1");
  expect(Element.prototype.scrollBy).not.toHaveBeenCalled();
  const later = performance.now() + 500;
  const now = vi.spyOn(performance, "now").mockReturnValue(later);
  await press(card, "1");
  expect(onAnswer).not.toHaveBeenCalled();
  expect(Element.prototype.scrollBy).toHaveBeenCalledOnce();
  observers.forEach((callback) => callback([{ isIntersecting: true } as IntersectionObserverEntry], {} as IntersectionObserver));
  await press(card, "1", { ctrlKey: true });
  await press(card, "9");
  // Held since the question before.
  await press(card, "1", { repeat: true });
  expect(onAnswer).not.toHaveBeenCalled();
  await press(card, "3");
  expect(onAnswer.mock.calls).toEqual([[question.options[2]]]);
  now.mockRestore();
  expect(view.all("[aria-keyshortcuts]").map((button) => button.getAttribute("aria-keyshortcuts"))).toEqual(["1", "2", "3", "4", "5"]);
});

test("an answered form says so, and not that something was allowed", () => {
  const view = drawn(<Settled title="Who are you?" form resolved={resolved({})} />);
  expect(view.one("strong").textContent).toBe("Answered");
});

const resolved = (rest: Partial<Resolved>): Resolved => ({
  ...stamp, requestId: "q", outcome: "accepted", by: { kind: "client", client: "acpd-cli", principal: "mara" }, ...rest,
});

test.each([
  [resolved({ optionId: "2", itemId: "i" }), "Allowed run git push", "“Yes, from now on” by mara (command line)"],
  [resolved({ optionId: "2", itemId: "i", sentOptionId: "1" }), "Allowedremembered", "by mara (command line); acpd remembers it, the agent was sent “Yes”"],
  [resolved({ outcome: "declined", by: { kind: "policy", rule: "deny: Bash(git push *)" } }), "Rejected", "by rule deny: Bash(git push *)"],
  [resolved({ outcome: "void", reason: "the turn ended" }), "No longer needed", "the turn ended"],
  [resolved({ outcome: "cancelled", by: { kind: "daemon" } }), "Cancelled", "by acpd"],
])("once answered, it says what and who", (answer, what, who) => {
  const view = drawn(<Approval question={question} onAnswer={nothing} resolved={answer} />);
  expect(view.all("button")).toEqual([]);
  expect(view.one(".th-settled").textContent?.replace(/\s+/g, " ")).toContain(who);
  expect(view.text().replace(/ /g, "")).toContain(what.replace(/ /g, ""));
});

test("an answer is known by its kind where the option is not known any more", () => {
  const view = drawn(<Settled title="x" resolved={resolved({ optionId: "?", optionKind: "reject_always", outcome: "declined" })} />);
  expect(view.one(".th-tag").textContent).toBe("remembered");
  view.draw(<Settled title="x" resolved={resolved({})} held="for this thread" />);
  expect(view.one(".th-tag").textContent).toBe("for this thread");
});
