// @vitest-environment jsdom
import type { Item as ItemType, Resolved } from "@acpd/client";
import { beforeAll, expect, test, vi } from "vitest";

import { touch } from "../../../app/layout.ts";
import { toasts } from "../../../app/toasts.ts";
import type { ShownRow } from "../../../state/outline.ts";
import { aloneContext, type ThreadContext, Waiting } from "../content/context.ts";
import { Item, CurrentThread, Output, TextDiff, UnifiedDiff } from "../index.ts";
import { rowName } from "../row-name.ts";
import { AnswerLine } from "./AnswerLine.tsx";
import { TerminalInput } from "./typing.ts";
import { WorkLine } from "./WorkLine.tsx";
import { after, type Drawn, drawn } from "../../testing.ts";

const item = (rest: object): ItemType => ({ itemId: "i", outcome: "completed", ...rest }) as unknown as ItemType;
// Their views are loaded lazily.
beforeAll(async () => {
  [Output, TerminalInput, TextDiff, UnifiedDiff].forEach((view) => view.preload());
  await vi.dynamicImportSettled();
});

const fresh = () => ({ ...aloneContext, folds: new Map<string, boolean>() });
const view = (rest: object, nested: ItemType[] = [], context: Partial<ThreadContext> = {}) =>
  drawn(
    <CurrentThread.Provider value={{ ...fresh(), ...context }}>
      <Item item={item(rest)} nested={nested} />
    </CurrentThread.Provider>,
  );
const open = (shown: Drawn, selector = "details") =>
  after(() => {
    const fold = shown.one<HTMLDetailsElement>(selector);
    fold.open = true;
    fold.dispatchEvent(new Event("toggle"));
  });

test("a person's words are shown as they were written", () => {
  const shown = view({ type: "userMessage", text: "**not** <b>markup</b>\n  second line" });
  expect(shown.one(".th-user-text").textContent).toBe("**not** <b>markup</b>\n  second line");
  expect(shown.all("strong, b")).toEqual([]);
});

test("a message that began a turn is edited; another one says why it is not", async () => {
  const begin = vi.fn();
  const barred = (itemId: string) => (itemId === "i" ? undefined : "It was sent during a turn.");
  const said = view({ type: "userMessage", text: "hello" }, [], { edits: { begin, barred } });
  await after(() => said.button("Edit and resend").click());
  expect(begin.mock.calls).toEqual([["i"]]);
  const steered = view({ type: "userMessage", text: "more", itemId: "other" }, [], { edits: { begin, barred } });
  const off = steered.button("Edit and resend: It was sent during a turn.");
  expect([off.getAttribute("aria-disabled"), off.disabled]).toEqual(["true", false]);
  await after(() => off.click());
  expect(begin).toHaveBeenCalledOnce();
  expect(toasts.value.at(-1)?.text).toBe("It was sent during a turn.");
});

test("messages of the agent, and those of readers who may not, are not edited", () => {
  const edits = { begin: vi.fn(), barred: () => undefined };
  for (const shown of [view({ type: "userMessage", text: "hello" }), view({ type: "agentMessage", text: "hello" }, [], { edits })]) {
    expect(shown.all("button").map((button) => button.getAttribute("aria-label"))).not.toContain("Edit and resend");
  }
});

test("what an agent tells its subagent is not shown as the user's words", () => {
  const edits = { begin: vi.fn(), barred: () => undefined };
  const told = { type: "userMessage", text: "**Delete** it", lane: "lane_1" };
  const shown = view(told, [], { threadId: "t", edits });
  expect(shown.one("[role=group]").getAttribute("aria-label")).toBe("Said to the subagent");
  expect(shown.text()).toMatch(/^Told\*\*Delete\*\* it/);
  expect(shown.all(".th-user, h2, strong")).toEqual([]);
  expect(shown.all("button").map((button) => button.getAttribute("aria-label"))).toEqual(["Copy link", "Copy message"]);
  const row = (lane?: string) => ({ kind: "item", key: "i", item: item({ ...told, lane }), children: [] }) as unknown as ShownRow;
  expect([rowName(row()), rowName(row("lane_1"))]).toEqual(["You: Delete it", "Told: Delete it"]);
});

test("on touch, the acts of a user's message are behind one button", async () => {
  touch.value = true;
  try {
    const begin = vi.fn();
    const said = view({ type: "userMessage", text: "hello" }, [], { threadId: "t", edits: { begin, barred: () => undefined } });
    const names = () => said.all("button").map((button) => button.getAttribute("aria-label"));
    expect(names()).toEqual(["More about this message"]);
    await after(() => said.button("More about this message").click());
    expect(names()).toEqual(["More about this message", "Copy link", "Copy message", "Edit and resend"]);
    await after(() => said.button("Edit and resend").click());
    expect(begin.mock.calls).toEqual([["i"]]);
  } finally {
    touch.value = false;
  }
});

test("pictures and files of a person stand with the words", () => {
  const shown = view({
    type: "userMessage",
    text: "look",
    content: [
      { type: "text", text: "look" },
      { type: "image", mimeType: "image/png", data: "iVBORw0KGgo=" },
      { type: "resource_link", uri: "file:///w/a.rs", name: "a.rs" },
      { type: "resource", resource: { uri: "attachment:///b.txt", text: "inside" } },
    ],
  });
  expect(shown.one<HTMLImageElement>("img").src).toBe("data:image/png;base64,iVBORw0KGgo=");
  expect(shown.all(".th-path").map((path) => path.textContent)).toEqual(["/w/a.rs", "b.txt"]);
});

test("the place of a stored file is left out of the user's message, and of nothing that an agent links to", () => {
  const uri = `file:///etc/attachments/0195d1c2-7e7a-7c3e-8f00-0123456789ab/${"0f".repeat(16)}/passwd`;
  const content = [{ type: "resource_link", uri, name: "notes.txt" }];
  const paths = (shown: Drawn) => shown.all(".th-path").map((path) => path.textContent);
  expect(paths(view({ type: "userMessage", content }))).toEqual(["notes.txt"]);
  expect(paths(view({ type: "agentMessage", content })).join()).toContain("/etc/attachments/");
});

test.each([
  ["text/html", "PHNjcmlwdD4="],
  ["image/png\"onerror=alert(1)", "aaaa"],
  ["image/png", "\"><script>"],
])("a picture of the type %s with %s is shown raw and not drawn", (mimeType, data) => {
  const shown = view({ type: "agentMessage", content: [{ type: "image", mimeType, data }] });
  expect(shown.all("img")).toEqual([]);
  expect(shown.one("details summary").textContent).toBe("Content: image");
});

test("a picture is never fetched by its address", () => {
  const shown = view({ type: "agentMessage", content: [{ type: "image", mimeType: "image/png", uri: "https://evil.example/x.png" }] });
  expect(shown.all("img")).toEqual([]);
});

test("text that happens to be JSON of a content block stays text", () => {
  const text = '{"type":"image","mimeType":"image/png","data":"aaaa"}';
  const shown = view({ type: "agentMessage", text });
  expect(shown.all("img")).toEqual([]);
  expect(shown.text()).toContain(text);
});

test("a message that was cut off leaves that to the end of its turn", () => {
  expect(view({ type: "agentMessage", text: "I was", outcome: "failed" }).one(".th-agent").textContent.trim()).toBe("I was");
});

test("a picture is enlarged by a click", async () => {
  HTMLDialogElement.prototype.showModal ??= function (this: HTMLDialogElement) {
    this.open = true;
  };
  HTMLDialogElement.prototype.close ??= () => {};
  const shown = view({ type: "agentMessage", content: [{ type: "image", mimeType: "image/png", data: "iVBORw0KGgo=", uri: "file:///w/shot.png" }] });
  await after(() => shown.button("Enlarge").click());
  expect(shown.one("dialog h2").textContent).toBe("file:///w/shot.png");
  shown.button("Save");
});

test("text of any script has its own direction", () => {
  expect(view({ type: "userMessage", text: "مرحبا" }).one(".th-user-text").dir).toBe("auto");
  const shown = view({ type: "agentMessage", text: "شكرا\n\n- א\n\n> ב" });
  expect(shown.all(".th-markdown-block > *").map(({ tagName, dir }) => `${tagName} ${dir}`)).toEqual(["P auto", "UL auto", "BLOCKQUOTE auto"]);
});

test("a thought is folded, and opens", async () => {
  const shown = view({ type: "agentThought", text: "Let me *think*." });
  const fold = shown.one<HTMLDetailsElement>("details");
  expect(fold.open).toBe(false);
  expect(shown.all("em")).toEqual([]);
  await after(() => {
    fold.open = true;
    fold.dispatchEvent(new Event("toggle"));
  });
  expect(shown.one("em").textContent).toBe("think");
});

test("what was opened is still open when the view comes back", async () => {
  const context = { ...aloneContext, folds: new Map<string, boolean>() };
  const node = (
    <CurrentThread.Provider value={context}>
      <Item item={item({ type: "agentThought", text: "Hm." })} />
    </CurrentThread.Provider>
  );
  const shown = drawn(node);
  await after(() => {
    const fold = shown.one<HTMLDetailsElement>("details");
    fold.open = true;
    fold.dispatchEvent(new Event("toggle"));
  });
  shown.draw(null);
  shown.draw(node);
  expect(shown.one<HTMLDetailsElement>("details").open).toBe(true);
});

test("a tool call is one line that says its title, path and state once", () => {
  const shown = view(
    {
      type: "toolCall", title: "Read /w/src/a.rs", kind: "read", status: "completed",
      toolCall: { locations: [{ path: "/w/src/a.rs", line: 7 }], rawInput: { limit: 3 }, rawOutput: "the result" },
    },
    [],
    { cwd: "/w" },
  );
  expect(shown.text()).toBe("Read src/a.rsdone");
  expect(shown.all(".th-path, details, pre")).toEqual([]);
});

test("a title that does not contain the path is followed by it", () => {
  const shown = view({
    type: "toolCall", title: "Look it up", kind: "search", status: "completed",
    toolCall: { locations: [{ path: "/w/a.rs", line: 7 }] },
  });
  expect(shown.one(".th-path").textContent).toBe("/w/a.rs:7");
  expect(shown.one(".sr-only").textContent).toBe("search: ");
});

test("parameters and result are behind a button", async () => {
  const shown = view({
    type: "toolCall", title: "Read a.rs", kind: "read", status: "completed",
    toolCall: { rawInput: { limit: 3 }, rawOutput: "the result" },
  });
  const button = shown.button("Parameters and Result");
  expect(button.getAttribute("aria-expanded")).toBe("false");
  await after(() => button.click());
  expect(shown.all("dt").map((name) => name.textContent)).toEqual(["Parameters", "Result"]);
  expect(shown.all("pre").map((text) => text.textContent)).toEqual(['{\n  "limit": 3\n}', "the result"]);
});

test.each(["read", "search", "execute"])("the output of a call of the kind %s is not Markdown", async (kind) => {
  const text = "# Not a heading\n\n* not *a* list\n    indented";
  const shown = view({ type: "toolCall", title: "Look", kind, status: "completed", toolCall: { content: [{ type: "content", content: { type: "text", text } }] } });
  await open(shown);
  expect(shown.all("h1, li, em")).toEqual([]);
  expect(shown.one("pre").textContent).toBe(text);
});

test("a fence around output is not part of it", async () => {
  const text = "```rs\nfn main() {}\n```\n";
  const shown = view({ type: "toolCall", title: "Look", kind: "read", status: "completed", toolCall: { content: [{ type: "content", content: { type: "text", text } }] } });
  await open(shown);
  expect(shown.one("pre").textContent).toBe("fn main() {}");
});

test("long output comes in two pieces", async () => {
  const text = Array.from({ length: 500 }, (_, at) => `line ${at}`).join("\n");
  const shown = view({ type: "toolCall", title: "Look", kind: "read", status: "completed", toolCall: { content: [{ type: "content", content: { type: "text", text } }] } });
  await open(shown);
  expect(shown.one("pre").textContent.split("\n")).toHaveLength(200);
  await after(() => shown.button("Show all").click());
  expect(shown.one("pre").textContent.split("\n")).toHaveLength(500);
});

test("an edit is one line with the number of changed lines, which opens to the diff", async () => {
  const edit = {
    type: "toolCall", title: "Edit", kind: "edit", status: "completed",
    toolCall: {
      content: [
        { type: "diff", path: "/w/a.rs", oldText: "a\nb\n", newText: "a\nc\nd\n" },
        { type: "content", content: { type: "text", text: "**done**" } },
        { type: "novelty", x: 1 },
      ],
    },
  };
  const shown = view(edit);
  expect(shown.one("summary").textContent).toBe("Edit/w/a.rs+2−1done");
  expect(shown.all("table")).toEqual([]);
  await open(shown);
  expect(shown.all("td.th-text").map((line) => line.textContent)).toEqual(["a", "removed: b", "added: c", "added: d"]);
  // The numbers are not repeated, and of the path only the name: the row may have scrolled away.
  expect(shown.all(".th-counts")).toHaveLength(1);
  expect(shown.all(".th-diff-head .th-path").map((path) => path.textContent)).toEqual(["a.rs"]);
  expect(shown.one("strong").textContent).toBe("done");
  expect(shown.text()).toContain("Content: novelty");
});

test("an edit that runs is open, and one that the daemon also wrote counts once", () => {
  const content = [{ type: "diff", path: "/w/a.rs", oldText: "a\n", newText: "b\n" }];
  const written = item({ itemId: "f", type: "fileChange", path: "/w/a.rs", diff: "--- a/a.rs\n+++ b/a.rs\n@@ -1,1 +1,1 @@\n-a\n+b\n" });
  const shown = view({ type: "toolCall", outcome: null, title: "Edit", kind: "edit", status: "in_progress", toolCall: { content } }, [written]);
  expect(shown.one<HTMLDetailsElement>("details").open).toBe(true);
  expect(shown.one(".th-counts").textContent).toBe("+1−1");
  expect(shown.all("table")).toHaveLength(1);
});

test("a call that waits for an approval is one line", () => {
  const call = item({
    type: "toolCall", outcome: null, title: "Edit a.rs", kind: "edit", status: "pending",
    toolCall: { content: [{ type: "diff", path: "/w/a.rs", oldText: "a\n", newText: "b\n" }] },
  });
  const shown = drawn(
    <Waiting.Provider value={{ waiting: true, items: new Set(["i"]) }}>
      <Item item={call} />
    </Waiting.Provider>,
  );
  expect(shown.one(".th-status").textContent).toBe("Waiting for approval below");
  expect(shown.all("table")).toEqual([]);
});

test("a call that a search leads to is open", () => {
  const content = [{ type: "content", content: { type: "text", text: "the words" } }];
  const shown = view({ type: "toolCall", title: "Look", kind: "read", status: "completed", toolCall: { content } }, [], { target: "i" });
  expect(shown.one("pre").textContent).toBe("the words");
});

test("a terminal of a tool call has one head, and its exit state is the call's", () => {
  const command = item({ itemId: "c", type: "terminalCommand", terminalId: "t", command: "ls", output: "a.rs\n", exitCode: 2 });
  const call = { type: "toolCall", title: "ls", kind: "execute", status: "failed", toolCall: { content: [{ type: "terminal", terminalId: "t" }] } };
  const shown = view(call, [command]);
  expect(shown.all("summary")).toHaveLength(1);
  expect(shown.one("summary").textContent).toBe("execute: lsexit code 2");
  // A failed command is open.
  expect(shown.one(".th-terminal-line").textContent).toBe("a.rs");
  expect(view(call, [{ ...command, exitCode: 0 } as ItemType]).one("summary").textContent).toContain("exit code 0");
});

test("what was open while it ran stays open for a user who is not at the end", () => {
  const command = (outcome: string | null) => item({ type: "terminalCommand", terminalId: "t", command: "ls", output: "a.rs", outcome, exitCode: outcome && 0 });
  const isOpen = (current: boolean) => {
    const context = { ...fresh(), following: { current } };
    const node = (outcome: string | null) => (
      <CurrentThread.Provider value={context}>
        <Item item={command(outcome)} />
      </CurrentThread.Provider>
    );
    const shown = drawn(node(null));
    expect(shown.one<HTMLDetailsElement>("details").open).toBe(true);
    shown.draw(node("completed"));
    return shown.one<HTMLDetailsElement>("details").open;
  };
  expect([isOpen(true), isOpen(false)]).toEqual([false, true]);
});

test.each([
  [{ exitCode: 0 }, "exit code 0", "done"],
  [{ exitCode: 2 }, "exit code 2", "failed"],
  [{ signal: "SIGKILL" }, "ended by SIGKILL", "stopped"],
  [{ outcome: "interrupted" }, "interrupted", "stopped"],
  [{ outcome: null }, "running", "running"],
  [{ outcome: null, waiting: true }, "waiting for input", "waiting"],
])("a command that ended as %o", (how, said, tone) => {
  const shown = view({ type: "terminalCommand", terminalId: "t", command: "make", output: "x", ...how });
  expect(shown.one(".th-status").textContent).toBe(said);
  expect(shown.one(".th-status").classList.contains(`th-status-${tone}`)).toBe(true);
});

const running = { type: "terminalCommand", terminalId: "t", command: "ssh host", outcome: null };
const terminals = () => ({
  typeIn: vi.fn(async (_id: string, _text: string) => {}),
  endCommand: vi.fn(async (_id: string) => {}),
  online: true,
});
const fill = (shown: Drawn, text: string) =>
  after(() => {
    const field = shown.one<HTMLInputElement>(".th-input input");
    field.value = text;
    field.dispatchEvent(new Event("input"));
  });
const submit = async (shown: Drawn) => {
  await after(() => shown.one("form").dispatchEvent(new Event("submit", { cancelable: true })));
  await vi.waitFor(() => expect(shown.button("Enter").disabled).toBe(false));
  await after(() => {});
};

test("a user types into a command that waits, and a secret is hidden and not a password of the page", async () => {
  const acts = terminals();
  const shown = view({ ...running, itemId: "w1", output: "Passwort: ", waiting: true, secret: true }, [], { terminals: acts });
  expect(shown.one(".th-input-waits").textContent).toContain("Waiting for input");
  const field = shown.one<HTMLInputElement>(".th-input input");
  expect([field.type, field.classList.contains("th-input-hidden")]).toEqual(["text", true]);
  await fill(shown, "hush");
  await submit(shown);
  await after(() => shown.button("Interrupt").click());
  expect(acts.typeIn.mock.calls).toEqual([["t", "hush\n"], ["t", "\u0003"]]);
  expect(field.value).toBe("");
  await after(() => shown.button("Hide").click());
  expect(field.classList.contains("th-input-hidden")).toBe(false);
});

test("what is being typed stays, hidden too, when the command writes or the connection is lost", async () => {
  const acts = terminals();
  const context = { ...fresh(), terminals: acts };
  const command = (more: object, online = true) => (
    <CurrentThread.Provider value={{ ...context, terminals: { ...acts, online } }}>
      <Item item={item({ ...running, itemId: "w2", ...more })} />
    </CurrentThread.Provider>
  );
  const shown = drawn(command({ output: "secret? ", waiting: true, secret: true }));
  await fill(shown, "hus");
  shown.draw(command({ output: "secret? \nlate", waiting: false }));
  const field = () => shown.one<HTMLInputElement>(".th-input input");
  expect([field().value, field().classList.contains("th-input-hidden")]).toEqual(["hus", true]);
  shown.draw(command({ output: "secret? \nlate" }, false));
  expect([field().value, shown.button("Enter").disabled]).toEqual(["hus", true]);
  // Scrolled away and back.
  const again = drawn(command({ output: "secret? \nlate" }));
  const back = again.one<HTMLInputElement>(".th-input input");
  expect([back.value, back.classList.contains("th-input-hidden")]).toEqual(["hus", true]);
  again.draw(command({ output: "secret? \nlate", outcome: "completed", exitCode: 0 }));
  expect(again.all(".th-input")).toEqual([]);
  expect(drawn(command({ output: "", waiting: true })).one<HTMLInputElement>(".th-input input").value).toBe("");
});

test("what was not sent stays, and a long line goes in parts", async () => {
  const acts = terminals();
  acts.typeIn.mockRejectedValueOnce(new Error("the command does not read"));
  const shown = view({ ...running, itemId: "w3", waiting: true }, [], { terminals: acts });
  const long = "é".repeat(1500);
  await fill(shown, long);
  await submit(shown);
  expect(shown.one('[role="alert"]').textContent).toContain("does not read");
  expect(shown.one<HTMLInputElement>(".th-input input").value).toBe(long);
  acts.typeIn.mockClear();
  await submit(shown);
  const parts = acts.typeIn.mock.calls.map(([, text]) => text);
  expect([parts.length, parts.join("")]).toEqual([2, `${long}\n`]);
  await fill(shown, "x".repeat(4095));
  await submit(shown);
  expect(shown.one('[role="alert"]').textContent).toContain("at most 4095 bytes");
});

test("a running command can be ended, and typed into before it waits", async () => {
  const acts = terminals();
  acts.endCommand.mockRejectedValueOnce(new Error("the command runs in an editor"));
  const shown = view({ ...running, itemId: "w4", output: "Continue? [y/n] " }, [], { terminals: acts });
  expect(shown.all(".th-input input")).toEqual([]);
  await after(() => shown.button("Type input").click());
  expect(document.activeElement).toBe(shown.one(".th-input input"));
  await after(() => shown.button("End command").click());
  expect(acts.endCommand.mock.calls).toEqual([["t"]]);
  expect(shown.one('[role="alert"]').textContent).toContain("runs in an editor");
});

test("a call whose command waits is open, whatever the agent says of it", () => {
  const command = item({ ...running, itemId: "w5", waiting: true });
  const call = { type: "toolCall", title: "ssh host", kind: "execute", status: "completed", toolCall: { content: [{ type: "terminal", terminalId: "t" }] } };
  const shown = view(call, [command], { terminals: terminals() });
  expect(shown.one<HTMLDetailsElement>("details").open).toBe(true);
  expect(shown.one(".th-status").textContent).toBe("waiting for input");
});

test("only a user who may act can type, and only while the command runs", () => {
  expect(view({ ...running, waiting: true }).all(".th-input")).toEqual([]);
  expect(view({ ...running, outcome: "completed", exitCode: 0 }, [], { terminals: terminals() }).all(".th-input")).toEqual([]);
});

test("a command that a user ran is not the agent's", () => {
  const requestedBy = { kind: "client", principal: "phone", client: "acpd-web" };
  const shown = view({ type: "terminalCommand", terminalId: "user_1", command: "ls | wc -l", args: [], requestedBy });
  expect(shown.one("summary").textContent).toContain("You ran ls | wc -l");
  expect(shown.one(".th-label").getAttribute("title")).toBe("by phone");
  expect(view({ type: "terminalCommand", terminalId: "t", command: "ls" }).all(".th-label")).toEqual([]);
});

test("a command's words are told apart", () => {
  const shown = view({ type: "terminalCommand", terminalId: "t", command: "rm", args: ["-rf", "my files", "it's"] });
  expect(shown.one(".th-command-line").textContent).toBe(`rm -rf 'my files' 'it'\\''s'`);
});

test("output that is not all there says so", async () => {
  const shown = view({ type: "terminalCommand", terminalId: "t", output: "end", truncated: true });
  await open(shown);
  expect(shown.one(".th-truncated").textContent).toContain("Output truncated");
});

test("of long output the end is shown, and all of it can be opened and downloaded", async () => {
  const shown = view({ type: "terminalCommand", terminalId: "t", output: "end", outputBlob: "0af1" });
  await open(shown);
  expect(shown.one(".th-truncated").textContent).toContain("Only the end");
  expect(shown.all(".th-truncated button").map((button) => button.textContent)).toEqual(["Open all", "Download"]);
});

test("of many lines few are drawn, and all are copied", async () => {
  const output = Array.from({ length: 12_000 }, (_, at) => `\u001B[31mline ${at}\u001B[0m`).join("\n");
  const shown = view({ type: "terminalCommand", terminalId: "t", command: "seq", output, outcome: null });
  expect(shown.all(".th-terminal-line").length).toBeLessThan(200);
  expect(shown.one(".th-terminal-space").style.height).toBe(`${12_000 * 18}px`);
  const writeText = vi.fn(async (_: string) => {});
  Object.defineProperty(navigator, "clipboard", { value: { writeText }, configurable: true });
  await after(() => shown.button("Copy output").click());
  const copied = writeText.mock.calls[0]![0];
  expect(copied.split("\n")).toHaveLength(12_000);
  expect(copied).not.toContain("\u001B");
});

test("more output leaves the lines before it alone", () => {
  const command = (output: string) => <Item item={item({ type: "terminalCommand", terminalId: "t", output, outcome: null })} />;
  const shown = drawn(command("one\ntwo"));
  const first = shown.one(".th-terminal-line");
  shown.draw(command("one\ntwo and\nthree"));
  expect(shown.one(".th-terminal-line")).toBe(first);
  expect(shown.all(".th-terminal-line").map((line) => line.textContent)).toEqual(["one", "two and", "three"]);
});

test("a terminal's links and titles are nothing", () => {
  const shown = view({ type: "terminalCommand", terminalId: "t", outcome: null, output: "\u001B]8;;javascript:alert(1)\u0007x\u001B]8;;\u0007\u001B]0;t\u0007<img src=x>" });
  expect(shown.all("a, img")).toEqual([]);
  expect(shown.one(".th-terminal-line").textContent).toBe("x<img src=x>");
});

test("a file's name hides nothing", () => {
  const shown = view({ type: "fileChange", path: "/w/invoice\u202Efdp.exe", diff: "" });
  expect(shown.one(".th-path").textContent).toBe("/w/invoice⟨U+202E⟩fdp.exe");
});

test("a change of a file, unified and side by side, as the person likes it", async () => {
  const setDiffStyle = vi.fn();
  const diff = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n";
  const context = fresh();
  const node = (diffStyle: "unified" | "split") => (
    <CurrentThread.Provider value={{ ...context, diffStyle, setDiffStyle }}>
      <Item item={item({ type: "fileChange", path: "/w/x", diff })} />
    </CurrentThread.Provider>
  );
  const shown = drawn(node("unified"));
  await open(shown);
  expect(shown.all("tbody tr")).toHaveLength(3);
  await after(() => shown.button("Split").click());
  expect(setDiffStyle).toHaveBeenCalledWith("split");
  shown.draw(node("split"));
  expect(shown.all("tbody tr")).toHaveLength(2);
  expect(shown.button("Split").getAttribute("aria-pressed")).toBe("true");
});

test.each([
  ["line ends", "-one\n+one\r\n", "Line ends changed from LF to CRLF", ["one", "one␍"]],
  ["a byte order mark", "-\uFEFFone\n+one\n", "Byte order mark removed", ["⟨U+FEFF⟩one", "one"]],
])("a change of nothing but %s says so", async (_, lines, note, texts) => {
  const shown = view({ type: "fileChange", path: "/w/x", diff: `--- a/x\n+++ b/x\n@@ -1 +1 @@\n${lines}` });
  await open(shown);
  expect(shown.one(".th-diff-note").textContent).toBe(note);
  expect(shown.all(".th-text").map((cell) => cell.textContent?.replace(/^.*: /, ""))).toEqual(texts);
});

test("a large diff is folded, and comes in pieces", async () => {
  const lines = Array.from({ length: 3_000 }, (_, at) => `+line ${at}`).join("\n");
  const shown = view({ type: "fileChange", path: "/w/x", diff: `--- /dev/null\n+++ b/x\n@@ -0,0 +1,3000 @@\n${lines}\n` });
  expect(shown.one("summary").textContent).toContain("+3,000");
  await open(shown);
  expect(shown.all("tbody tr")).toHaveLength(400);
  expect(shown.text()).toContain("2,600 more lines");
  await after(() => shown.button("Show more").click());
  expect(shown.all("tbody tr")).toHaveLength(2_400);
});

test("an item that nobody here knows is shown as it came", async () => {
  const shown = view({ type: "hologram", beams: 3 });
  const fold = shown.one<HTMLDetailsElement>("details");
  expect(fold.textContent).toBe("Item: hologram");
  await after(() => {
    fold.open = true;
    fold.dispatchEvent(new Event("toggle"));
  });
  expect(shown.one("pre").textContent).toContain('"beams": 3');
});

const resolved = (rest: object) =>
  ({ threadId: "t", seq: 1, ts: 0, requestId: "q", outcome: "accepted", optionId: "a", by: { kind: "client", principal: "owner", client: "acpd-web" }, ...rest }) as Resolved;

test.each([
  [{}, /^Allowed by owner \(web\), \d/],
  [{ optionKind: "allow_always", itemId: "i" }, /^Allowed by owner \(web\), /],
  [{ optionKind: "allow_always", itemId: "i", sentOptionId: "b" }, /^Allowed and remembered by owner \(web\), /],
  [{ outcome: "declined", optionKind: "reject_always" }, /^Rejected and remembered by owner \(web\), /],
  [{ by: { kind: "policy", rule: "Bash(git *)", scope: "agent" } }, /^Allowed by rule Bash\(git \*\), /],
])("a decided call says who decided, for good: %o", (rest, words) => {
  const call = item({ type: "toolCall", toolCallId: "c", title: "Edit", status: "completed" });
  const answers = new Map([["i", resolved(rest)]]);
  const shown = drawn(
    <Waiting.Provider value={{ waiting: false, items: new Set(), answers }}>
      <Item item={call} />
    </Waiting.Provider>,
  );
  expect(shown.one(".th-decision").textContent).toMatch(words);
});

test("the line of a turn's work counts no time in which a question waits", () => {
  const row = { kind: "work", key: "w", items: [], open: false, live: true, startedAt: 0, waitedMs: 60_000 } as const;
  const line = (more: object) => drawn(<WorkLine row={{ ...row, ...more }} />).one(".th-work").textContent;
  expect(line({ waitingSince: 100_000 })).toBe("Working 40 s");
  expect(line({ live: false, completedAt: 100_000 })).toBe("Worked 40 s, waited 1 min 0 s");
});

test("a rejected edit is rejected, in its line and in the turn's, and has no numbers of lines", () => {
  const content = [{ type: "diff", path: "/w/a", oldText: "a\n", newText: "b\n" }];
  const end = { outcome: "failed", status: "failed" };
  const edit = item({ type: "toolCall", kind: "edit", title: "Edit a", toolCall: { content }, ...end });
  const file = item({ itemId: "f", parentItemId: "i", type: "fileChange", path: "/w/a", diff: "@@ -1 +1 @@\n-a\n+b\n", outcome: "failed" });
  const answers = new Map([["i", resolved({ outcome: "declined" })]]);
  const row = { kind: "work", key: "w", items: [edit, file], open: false, live: false, startedAt: 0, completedAt: 40_000 } as const;
  const shown = drawn(
    <Waiting.Provider value={{ waiting: false, items: new Set(), answers }}>
      <Item item={edit} nested={[file]} />
      <WorkLine row={row} />
    </Waiting.Provider>,
  );
  expect(shown.one(".th-status").textContent).toBe("rejected");
  expect(shown.one(".th-work").textContent).toBe("Worked 40 s · 1 rejected");
  expect(shown.text()).not.toMatch(/[+−]1/);
  const interrupted = view({ type: "fileChange", path: "/w/a", diff: "@@ -1 +1 @@\n-a\n+b\n", outcome: "interrupted" });
  expect(interrupted.one("summary").textContent).toBe("/w/ainterrupted");
});

test.each([
  [{ optionId: undefined, answers: { name: "Ann" } }, "Answered Where?"],
  [{ optionId: undefined, outcome: "declined" }, "Declined Where?"],
  [{ optionId: undefined, outcome: "cancelled" }, "Dismissed Where?"],
  [{ title: "Write out.txt" }, "Allowed Write out.txt"],
  [{ title: "Write out.txt", outcome: "declined" }, "Rejected Write out.txt"],
  [{ title: undefined }, "Allowed A question of the agent"],
])("an answer about no item is a row: %o", (rest, words) => {
  const shown = drawn(<AnswerLine answer={resolved({ title: "Where?", ...rest })} />);
  expect(shown.one(".th-notice-text").textContent).toBe(words);
  expect(shown.one(".th-decision").textContent).toMatch(/^by owner \(web\), /);
});

test("the answers of a form are in a fold, as the log has them", async () => {
  const shown = drawn(<AnswerLine answer={resolved({ optionId: undefined, title: "Where?", answers: { name: "Ann", ports: [1, 2] } })} />);
  expect(shown.all("dd")).toEqual([]);
  await open(shown);
  expect(shown.all("dt").map((term) => term.textContent)).toEqual(["name", "ports"]);
  expect(shown.all("dd").map((value) => value.textContent?.replace(/\s+/g, ""))).toEqual(["Ann", "[1,2]"]);
});
