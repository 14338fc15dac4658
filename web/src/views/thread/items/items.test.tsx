// @vitest-environment jsdom
import type { Item as ItemType } from "@acpd/client";
import { expect, test, vi } from "vitest";

import { aloneContext } from "../content/context.ts";
import { Item, CurrentThread } from "../index.ts";
import { after, drawn } from "../../testing.ts";

const item = (rest: object): ItemType => ({ itemId: "i", outcome: "completed", ...rest }) as unknown as ItemType;
const view = (rest: object, nested: ItemType[] = []) => drawn(<Item item={item(rest)} nested={nested} />);

test("a person's words are shown as they were written", () => {
  const shown = view({ type: "userMessage", text: "**not** <b>markup</b>\n  second line" });
  expect(shown.one(".th-user-text").textContent).toBe("**not** <b>markup</b>\n  second line");
  expect(shown.all("strong, b")).toEqual([]);
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

test("a tool call: title, kind, status, parameters, result, location", async () => {
  const shown = view({
    type: "toolCall", title: "Read a.rs", kind: "read", status: "completed",
    toolCall: { locations: [{ path: "/w/a.rs", line: 7 }], rawInput: { limit: 3 }, rawOutput: "the result" },
  });
  expect(shown.one(".th-tool-title").textContent).toBe("Read a.rs");
  expect(shown.one(".th-kind").textContent).toBe("read");
  expect(shown.one(".th-status").textContent).toBe("done");
  expect(shown.one(".th-path").textContent).toBe("/w/a.rs:7");
  expect(shown.all("summary").map((summary) => summary.textContent)).toEqual(["Parameters", "Result"]);
});

test("a tool call's diff and its text", () => {
  const shown = view({
    type: "toolCall", title: "Edit", kind: "edit", status: "completed",
    toolCall: {
      content: [
        { type: "diff", path: "/w/a.rs", oldText: "a\nb\n", newText: "a\nc\n" },
        { type: "content", content: { type: "text", text: "**done**" } },
        { type: "novelty", x: 1 },
      ],
    },
  });
  expect(shown.all("td.th-text").map((line) => line.textContent)).toEqual(["a", "removed: b", "added: c"]);
  expect(shown.one("strong").textContent).toBe("done");
  expect(shown.text()).toContain("Content: novelty");
});

test("a terminal of a tool call stands inside it, once", () => {
  const command = item({ itemId: "c", type: "terminalCommand", terminalId: "t", command: "ls", output: "a.rs\n", exitCode: 0 });
  const shown = view({ type: "toolCall", title: "Run", kind: "execute", status: "completed", toolCall: { content: [{ type: "terminal", terminalId: "t" }] } }, [command]);
  expect(shown.all(".th-command")).toHaveLength(1);
  expect(shown.one(".th-terminal-line").textContent).toBe("a.rs");
});

test.each([
  [{ exitCode: 0 }, "exit code 0", "done"],
  [{ exitCode: 2 }, "exit code 2", "failed"],
  [{ signal: "SIGKILL" }, "ended by SIGKILL", "stopped"],
  [{ outcome: "interrupted" }, "interrupted", "stopped"],
  [{ outcome: null }, "running", "running"],
])("a command that ended as %o", (how, said, tone) => {
  const shown = view({ type: "terminalCommand", terminalId: "t", command: "make", output: "x", ...how });
  expect(shown.one(".th-status").textContent).toBe(said);
  expect(shown.one(".th-status").classList.contains(`th-status-${tone}`)).toBe(true);
});

test("a command's words are told apart", () => {
  const shown = view({ type: "terminalCommand", terminalId: "t", command: "rm", args: ["-rf", "my files", "it's"] });
  expect(shown.one(".th-command-line").textContent).toBe(`rm -rf 'my files' 'it'\\''s'`);
});

test("output that is not all there says so", () => {
  expect(view({ type: "terminalCommand", terminalId: "t", output: "end", truncated: true }).one(".th-truncated").textContent).toContain("Truncated");
});

test("of long output the end is shown, and all of it can be had", () => {
  const shown = view({ type: "terminalCommand", terminalId: "t", output: "end", outputBlob: "0af1" });
  expect(shown.one(".th-truncated").textContent).toContain("Only the end");
  expect(shown.one(".th-truncated button").textContent).toBe("Download all of it");
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
  const shown = view({ type: "terminalCommand", terminalId: "t", output: "\u001B]8;;javascript:alert(1)\u0007x\u001B]8;;\u0007\u001B]0;t\u0007<img src=x>", exitCode: 0 });
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
  const node = (diffStyle: "unified" | "split") => (
    <CurrentThread.Provider value={{ ...aloneContext, diffStyle, setDiffStyle }}>
      <Item item={item({ type: "fileChange", path: "/w/x", diff })} />
    </CurrentThread.Provider>
  );
  const shown = drawn(node("unified"));
  expect(shown.all("tbody tr")).toHaveLength(3);
  await after(() => shown.button("Split").click());
  expect(setDiffStyle).toHaveBeenCalledWith("split");
  shown.draw(node("split"));
  expect(shown.all("tbody tr")).toHaveLength(2);
  expect(shown.button("Split").getAttribute("aria-pressed")).toBe("true");
});

test("a large diff is folded, and comes in pieces", async () => {
  const lines = Array.from({ length: 3_000 }, (_, at) => `+line ${at}`).join("\n");
  const shown = view({ type: "fileChange", path: "/w/x", diff: `--- /dev/null\n+++ b/x\n@@ -0,0 +1,3000 @@\n${lines}\n` });
  const fold = shown.one<HTMLDetailsElement>("details");
  expect(fold.open).toBe(false);
  await after(() => {
    fold.open = true;
    fold.dispatchEvent(new Event("toggle"));
  });
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
