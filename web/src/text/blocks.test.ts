import { expect, test } from "vitest";

import { type Block, blocksAfter, blocksOf, definitionsOf, withDefinitions } from "./blocks.ts";

const sources = (text: string) => blocksOf(text).map((block) => block.source);

const LONG = `# Title

First paragraph
goes on.

1. one

   \`\`\`js
   const a = 1;

   const b = 2;
   \`\`\`

2. two

   more of two

- other list

\`\`\`rust
fn main() {

}
\`\`\`
After the fence.

> quoted

| a | b |
|---|---|
| 1 | 2 |

    indented code

    goes on

~~~
\`\`\`
~~~

End`;

test("nothing is lost: the blocks together are the text", () => {
  for (let end = 0; end <= LONG.length; end += 1) {
    expect(sources(LONG.slice(0, end)).join("")).toBe(LONG.slice(0, end));
  }
});

test("while a text grows, all blocks but the last two stay what they are", () => {
  let before: string[] = [];
  for (let end = 1; end <= LONG.length; end += 1) {
    const now = sources(LONG.slice(0, end));
    // The last block grows; a blank line after it is still added to the previous one.
    const settled = before.slice(0, -1).map((source) => source.trimEnd());
    expect(now.slice(0, settled.length).map((source) => source.trimEnd())).toEqual(settled);
    before = now;
  }
});

test("paragraphs, lists and fences are blocks of their own", () => {
  expect(blocksOf(LONG).map((block) => [block.kind, block.source.split("\n")[0]])).toEqual([
    ["markdown", "# Title"],
    ["markdown", "First paragraph"],
    ["markdown", "1. one"],
    ["code", "```rust"],
    ["markdown", "After the fence."],
    ["markdown", "> quoted"],
    ["markdown", "| a | b |"],
    ["code", "~~~"],
    ["markdown", "End"],
  ]);
});

test("a fence gives its code, its language, and whether it is closed", () => {
  expect(blocksOf("```TS title=x\na\n\nb\n```\n")[0]).toMatchObject({ kind: "code", code: "a\n\nb", language: "ts", closed: true });
  expect(blocksOf("````\n```\n")[0]).toMatchObject({ code: "```", language: "", closed: false });
});

test("a fence inside of a list does not cut the list", () => {
  expect(sources("- a\n\n  ```\n  x\n\n  y\n  ```\n\n- b\n")).toHaveLength(1);
});

test("an inline span of three backticks opens no block", () => {
  expect(blocksOf("```a``` b\n\nc")[0]?.kind).toBe("markdown");
});

test("a link's definition holds for blocks before it", () => {
  const blocks = blocksOf("See [the docs][d].\n\nMore.\n\n[d]: https://example.com/d\n");
  const definitions = definitionsOf(blocks);
  expect(withDefinitions(blocks[0]!, definitions)).toContain("[d]: https://example.com/d");
  expect(withDefinitions(blocks[1]!, definitions)).toBe(blocks[1]!.source);
});

test("ten thousand paragraphs are cut in time that grows with the text", () => {
  expect(blocksOf("a paragraph\n\n".repeat(10_000))).toHaveLength(10_000);
});

test("a text that grows is cut as if it had always been whole, and its finished blocks are the same objects", () => {
  let before: Block[] = [];
  for (let end = 0; end <= LONG.length; end += 1) {
    const now = blocksAfter(before, LONG.slice(0, end));
    expect(now).toEqual(blocksOf(LONG.slice(0, end)));
    for (const [at, block] of before.slice(0, -1).entries()) expect(now[at]).toBe(block);
    before = now;
  }
});

test("a text that is another one is cut anew", () => {
  const before = blocksOf("a\n\nb\n\nc\n\nd");
  for (const text of ["", "x", "a\n\nB\n\nc", "a\n\nb", "a\n\nb\nmore\n\nc"]) expect(blocksAfter(before, text)).toEqual(blocksOf(text));
});
