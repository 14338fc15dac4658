/** The dark colours stand twice, for the system's wish and for the person's: they must be the same, and complete. */

import { expect, test } from "vitest";

import book from "../../../docs/theme/book.css?raw";
import design from "../../../docs/design.md?raw";
import page from "../../index.html?raw";
import manifest from "../../public/acpd.webmanifest?raw";
import tokens from "../../src/styles/tokens.css?raw";
import list from "../../src/views/list/virtual.css?raw";

const colours = (css: string) =>
  new Map([...css.matchAll(/(--[\w-]+):\s*([^;]+);/g)].map(([, name, value]) => [name!, value!]));

test("both ways to dark are the same", () => {
  const bySystem = colours(/@media \(prefers-color-scheme: dark\) \{([^]*?)\n\}/.exec(tokens)![1]!);
  const byChoice = colours(/:root\[data-theme="dark"\] \{([^]*?)\n\}/.exec(tokens)![1]!);
  expect(bySystem.size).toBeGreaterThan(20);
  expect(byChoice).toEqual(bySystem);
});

test("every colour of the light theme has its dark one", () => {
  const light = colours(/:root \{([^]*?)\n\}/.exec(tokens)![1]!);
  const dark = colours(/:root\[data-theme="dark"\] \{([^]*?)\n\}/.exec(tokens)![1]!);
  const isColour = (value: string) => /^#|rgb\(/.test(value);
  const missing = [...light].filter(([name, value]) => isColour(value) && !dark.has(name)).map(([name]) => name);
  expect(missing).toEqual([]);
});

/** The relative luminance of a colour `#rrggbb`, by WCAG 2. */
function luminance(colour: string): number {
  const [red, green, blue] = [1, 3, 5].map((at) => {
    const part = parseInt(colour.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!;
}

test.each([
  ["light", /:root \{([^]*?)\n\}/],
  ["dark", /:root\[data-theme="dark"\] \{([^]*?)\n\}/],
])("texts can be read on every surface of the %s theme", (_, block) => {
  const theme = colours(block.exec(tokens)![1]!);
  const texts = ["fg", "fg-muted", "fg-faint", "accent", "status-running", "status-waiting", "status-done", "status-failed", "agent-1", "agent-2", "agent-3", "agent-4"];
  // On what is selected, lists use the muted colour in place of the faint one.
  const selected = ["bg-active"];
  const grounds = ["bg", "bg-sunken", "bg-raised", "bg-hover", "bg-code", "bg-user", ...selected];
  for (const ground of grounds) {
    for (const text of texts.filter((text) => text !== "fg-faint" || !selected.includes(ground))) {
      const [light, dark] = [theme.get(`--${text}`)!, theme.get(`--${ground}`)!].map(luminance).sort((a, b) => b - a);
      expect((light! + 0.05) / (dark! + 0.05), `--${text} on --${ground}`).toBeGreaterThanOrEqual(4.5);
    }
  }
});

test("the browser's own parts have the colour of the page", () => {
  const [light, dark] = [/:root \{([^]*?)\n\}/, /:root\[data-theme="dark"\] \{([^]*?)\n\}/].map((block) => colours(block.exec(tokens)![1]!).get("--bg")!);
  expect([...page.matchAll(/name="theme-color" content="([^"]+)"/g)].map(([, colour]) => colour)).toEqual([light, dark]);
  expect(JSON.parse(manifest)).toMatchObject({ theme_color: light, background_color: light });
});

test("the page about the design names every token", () => {
  const names = [...colours(/:root \{([^]*?)\n\}/.exec(tokens)![1]!).keys()];
  expect(names.length).toBeGreaterThan(60);
  expect(names.filter((name) => !design.includes(`\`${name}\``))).toEqual([]);
});

test("the documents have the fonts and colours of the page, in both themes", () => {
  const themes = [
    [/:root \{([^]*?)\n\}/, /:root \{([^]*?)\n\}/],
    [/prefers-color-scheme: dark\) \{\n {2}:root \{([^]*?)\n {2}\}/, /:root\[data-theme="dark"\] \{([^]*?)\n\}/],
  ] as const;
  for (const [ofBook, ofPage] of themes) {
    const [own, page] = [colours(ofBook.exec(book)![1]!), colours(ofPage.exec(tokens)![1]!)];
    own.delete("--header");
    expect(own.size).toBeGreaterThan(10);
    expect([...own].filter(([name, value]) => page.get(name) !== value)).toEqual([]);
  }
  for (const [, used] of book.matchAll(/var\((--[\w-]+)\)/g)) {
    expect(book, used).toContain(`${used}: `);
  }
});

test("the page about the design has the values of the measures", () => {
  const measures = colours(/:root \{([^]*?)\n\}/.exec(tokens)![1]!);
  const units = new Map([["rem", " px"], ["px", " px"], ["ms", " ms"], ["em", " em"], ["ch", " characters"]]);
  /** A length in the words of the page. */
  const inWords = (value: string) => {
    const [, sign, number, unit] = /^(-?)([\d.]+)(rem|px|ms|em|ch|)$/.exec(value) ?? [];
    if (number === undefined) return undefined;
    const amount = unit === "rem" ? Number(number) * 16 : Number(number);
    return `${sign === "-" ? "−" : ""}${amount}${units.get(unit ?? "") ?? ""}`;
  };
  const rows = design.split("\n").filter((line) => /^\| `--/.test(line)).map((line) => line.split("|").map((cell) => cell.trim()));
  const wrong: string[] = [];
  let checked = 0;
  for (const [, names = "", value = ""] of rows) {
    const [first, ...others] = [...names.matchAll(/`(--[\w-]+)`/g)].map(([, name]) => name!);
    // "`--space-1` … `--space-8`" has the values of all between them.
    const all = names.includes("…")
      ? [...measures.keys()].filter((name) => name.replace(/\d+$/, "") === first!.replace(/\d+$/, ""))
      : [first!, ...others];
    const values = all.map((name) => inWords(measures.get(name) ?? ""));
    if (values.some((words) => words === undefined) || value === "" || !/\d/.test(value)) continue;
    const unit = / (?:px|ms|em|characters)$/;
    const said = value.split(/[;,] /);
    // "4, 7, 8 px": the last unit is that of all of them. "40 px for fingers" is a rule of its own.
    const [, last = ""] = /( (?:px|ms|em|characters))\b/.exec(value) ?? [];
    const found = said.slice(0, all.length).map((one) => (unit.test(one) ? one : one + last));
    checked += all.length;
    if (found.join() !== values.join()) wrong.push(`${names}: ${value}, and ${values.join()} in tokens.css`);
  }
  expect(checked).toBeGreaterThan(25);
  expect(wrong).toEqual([]);
});

test("what a link leads to is marked weakly, and for as long as the page about the design says", () => {
  expect(list).toMatch(/\.is-target > \* \{\s*animation: virtual-target var\(--slow\) var\(--ease\);/);
  const [, frames = ""] = /@keyframes virtual-target \{([^]*?)\n\}/.exec(list) ?? [];
  const marks = [...frames.matchAll(/color-mix\([^;]*?(\d+)%, transparent\)/g)].map(([, share]) => Number(share));
  expect(marks.length).toBeGreaterThan(0);
  expect(Math.max(...marks), "weaker than the words that were found").toBeLessThanOrEqual(28);
});
