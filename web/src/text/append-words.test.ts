// @vitest-environment jsdom
import { expect, test } from "vitest";

import { appendWords } from "./append-words.ts";
import { MARKDOWN_ATTACKS } from "./markdown-attacks.ts";
import { renderMarkdown } from "./markdown.ts";

/** What a stream of sources leads to: the nodes, and how often all of a source was parsed. */
function streamed(sources: readonly string[], look: (place: HTMLElement, source: string) => void = () => {}): { parsed: number; html: string } {
  const place = document.createElement("div");
  let before: string | undefined;
  let parsed = 0;
  for (const source of sources) {
    if (before === undefined || !appendWords(place, before, source)) {
      place.replaceChildren(renderMarkdown(source));
      parsed += 1;
    }
    before = source;
    look(place, source);
  }
  return { parsed, html: inSight(place) };
}

function fresh(source: string): string {
  const place = document.createElement("div");
  place.append(renderMarkdown(source));
  return inSight(place);
}

/** Returns the nodes without the spaces at the end of blocks, which are not drawn. */
function inSight(place: HTMLElement): string {
  return place.innerHTML.replace(/ +(?=<\/(?:p|li|h\d|t[dh])>)/g, "");
}

/** Returns the beginnings of a text, each longer by up to `step` UTF-16 units. */
function beginnings(text: string, step: () => number): string[] {
  const ends: number[] = [];
  for (let end = step(); end < text.length; end += step()) {
    ends.push(end);
  }
  return [...ends, text.length].map((end) => text.slice(0, end));
}

/** Numbers below `limit` that are the same in each run. */
function numbers(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}

const PIECES = [
  "word", "two words", " ", " ", "  ", "\n", "\n\n", "\n- ", "\n1. ", "\n  ", "\n    ", "\n> ", "\n## ", "\n| a | b |\n|---|---|\n| ", " | ", "\n---", "\n===",
  "**bold**", "*half", "_in_", "_", "`code`", "`", "~~gone~~", "[link](https://example.com)", "[half](", "[a]: x", "\n[a]: x", "[a]", "(b)", ")", "'title'", "\"", "<b>", "<https://x.example>",
  "https://example.com/a", "www.example.com", "www", "a@b.example", "&amp;", "&am", "p;", "\\", "\\*", ".", ",", ":", "-", "—", "!", "![x](y)", "1.", "#", " #", "\n```\ncode here\n```\n", "\n- [ ] task", "שלום", "ärger", "-- -", "\t",
];

test("whatever streams in, however it is cut, the nodes are those of the whole text", () => {
  const texts = [
    ...MARKDOWN_ATTACKS.map((text) => text.slice(0, 30)),
    ...Array.from({ length: 25 }, (_, seed) => {
      const next = numbers(seed + 1);
      return Array.from({ length: 3 + next(14) }, () => PIECES[next(PIECES.length)]!).join(next(3) === 0 ? "" : " ");
    }),
  ];
  for (const [seed, text] of texts.entries()) {
    const next = numbers(seed + 1);
    const most = [1, 4, 12][seed % 3]!;
    streamed(
      beginnings(text, () => 1 + next(most)),
      (place, source) => {
        if (inSight(place) !== fresh(source)) expect({ source, html: inSight(place) }).toEqual({ source, html: fresh(source) });
      },
    );
  }
}, 120_000);

const words = (count: number, from = 0) => Array.from({ length: count }, (_, n) => `word ${from + n}`).join(" ");

test.each([
  ["a paragraph", ""],
  ["an item of a long list", `${Array.from({ length: 100 }, (_, n) => `- item ${n} has **bold** and \`code\``).join("\n")}\n- the last `],
  ["a cell of a table", "| name | what it is |\n|---|---|\n| first | it begins "],
  ["a quotation", "> it is said that "],
])("ordinary words in %s are appended, and nothing is parsed again", (_, begin) => {
  const text = `${begin}It's easy — one, two; (three): well-known. ${words(1_000)}`;
  let size = begin.length;
  const sources = beginnings(text, () => {
    const step = size;
    size = 12;
    return Math.max(step, 12);
  });
  const { parsed, html } = streamed(sources);
  expect(sources.length).toBeGreaterThan(700);
  expect(parsed).toBeLessThan(5);
  expect(html).toBe(fresh(text));
});
