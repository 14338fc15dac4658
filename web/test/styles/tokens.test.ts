/** The dark colours stand twice, for the system's wish and for the person's: they must be the same, and complete. */

import { expect, test } from "vitest";

import tokens from "../../src/styles/tokens.css?raw";

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
