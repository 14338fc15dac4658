// @vitest-environment jsdom
import { beforeAll, expect, test } from "vitest";

import { Markdown } from "./Markdown.tsx";
import { drawn } from "../../testing.ts";

// Loaded lazily with the first code; preloaded here, so that no test waits for it.
beforeAll(() => import("../../../text/highlight-grammars.ts"), 60_000);

const TEXT = "# Title\n\nA paragraph with [a link](https://example.com).\n\n- one\n\n  ```js\n  nested()\n  ```\n\n- two\n\n```rust\nfn main() {}\n```\n\nThe last paragraph grows word by word.";

test("while a message streams, finished blocks keep their nodes", () => {
  const view = drawn(<Markdown text="" streaming />);
  let before: Element[] = [];
  for (let end = 1; end <= TEXT.length; end += 1) {
    const finished = before.slice(0, -1).flatMap((block) => [block, ...block.querySelectorAll("*")]);
    view.draw(<Markdown text={TEXT.slice(0, end)} streaming />);
    const gone = finished.filter((node) => !node.isConnected).map((node) => `${node.outerHTML} at ${end}`);
    if (gone.length > 0) expect(gone).toEqual([]);
    before = [...view.one(".th-markdown").children];
  }
  expect(before).toHaveLength(5);
});

test("a delta changes nothing outside of the last block", async () => {
  const paragraphs = "A finished paragraph.\n\n".repeat(200);
  const view = drawn(<Markdown text={`${paragraphs}The`} streaming />);
  const touched = new Set<Node>();
  const observer = new MutationObserver((records) => {
    for (const { target } of records) touched.add(target);
  });
  observer.observe(view.place, { subtree: true, childList: true, characterData: true, attributes: true });
  view.draw(<Markdown text={`${paragraphs}The last`} streaming />);
  for (const { target } of observer.takeRecords()) touched.add(target);
  observer.disconnect();
  const last = view.one(".th-markdown").lastElementChild!;
  expect(touched.size).toBeGreaterThan(0);
  for (const node of touched) expect(last.contains(node)).toBe(true);
});

test("words are appended to one text while a block grows, and the finished block is parsed once more", () => {
  const begin = "- **first**\n- A long item of a list, which goes on";
  const view = drawn(<Markdown text={begin} streaming />);
  const item = view.all("li")[1]!;
  const said = item.firstChild;
  const more = " for as long as the agent has something to say";
  for (let end = 1; end <= more.length; end += 3) {
    view.draw(<Markdown text={begin + more.slice(0, end)} streaming />);
    expect(view.all("li")[1]).toBe(item);
    expect(item.firstChild).toBe(said);
    expect(item.textContent).toBe((begin + more.slice(0, end)).split("\n- ")[1]!.trimEnd());
  }
  view.draw(<Markdown text={begin + more} />);
  expect(item.isConnected).toBe(false);
  expect(view.all("li")[1]!.textContent).toBe(`A long item of a list, which goes on${more}`);
});

test("code that streams is one text to which more is appended", () => {
  const view = drawn(<Markdown text={"```js\nconst a"} streaming />);
  const text = view.one("code").firstChild;
  view.draw(<Markdown text={"```js\nconst a = 1;\nconst b"} streaming />);
  expect(view.one("code").firstChild).toBe(text);
  expect(view.one("code").textContent).toBe("const a = 1;\nconst b");
});

test("code is coloured once it is whole, also inside of a list, and says the same as before", async () => {
  const view = drawn(<Markdown text={"1. a\n\n   ```rust\n   fn main() {}\n   ```\n\n```ts\nconst a = 1;\n```"} />);
  await expect.poll(() => view.all(".hljs-keyword").length, { timeout: 20_000 }).toBe(2);
  expect(view.all("code").map((code) => code.textContent)).toEqual(["fn main() {}", "const a = 1;"]);
});

test("every block of code has a button that copies it", () => {
  const view = drawn(<Markdown text={"- a\n\n  ```\n  x\n  ```\n\n```\ny\n```"} />);
  expect(view.all("button").map((button) => button.getAttribute("aria-label"))).toEqual(["Copy code", "Copy code"]);
});

test("colours bring in nothing that the code says", async () => {
  const view = drawn(<Markdown text={"```html\n<img src=x onerror=alert(1)><script>alert(1)</script>\n```"} />);
  await expect.poll(() => view.all(".hljs-tag").length, { timeout: 20_000 }).toBeGreaterThan(0);
  expect(view.all("img, script")).toEqual([]);
  expect(view.one("code").textContent).toBe("<img src=x onerror=alert(1)><script>alert(1)</script>");
});

test("a definition that comes at the end makes links of what stands before it", () => {
  const view = drawn(<Markdown text={"See [docs].\n\nMore.\n\n"} streaming />);
  const more = view.one(".th-markdown").children[1];
  view.draw(<Markdown text={"See [docs].\n\nMore.\n\n[docs]: https://example.com/\n"} streaming />);
  expect(view.one<HTMLAnchorElement>("a").href).toBe("https://example.com/");
  expect(view.one(".th-markdown").children[1]).toBe(more);
});

test("a text that is replaced shows nothing of the old one", () => {
  const view = drawn(<Markdown text={"one\n\ntwo"} />);
  view.draw(<Markdown text="three" />);
  expect(view.text()).toBe("three\n");
});

test("a block has the direction of each line if it has text from right to left, also as an entity", () => {
  const view = drawn(<Markdown text={"English.\n\n- one\n- שלום\n\nAn entity: &#1488;\n\nEnglish again"} streaming />);
  const bothWays = () => view.all(".th-markdown-block").map((block) => block.classList.contains("th-both-ways"));
  expect(bothWays()).toEqual([false, true, true, false]);
  view.draw(<Markdown text={"English.\n\n- one\n- שלום\n\nAn entity: &#1488;\n\nEnglish again مرحبا"} streaming />);
  expect(bothWays()).toEqual([false, true, true, true]);
});
