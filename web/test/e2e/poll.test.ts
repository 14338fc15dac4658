/** A browser test that reads the page once reads it, on a slow machine, before the page has drawn what the test waits for. */

import { expect, test } from "vitest";

const FILES: Record<string, string> = import.meta.glob("../../e2e/*.test.ts", { query: "?raw", import: "default", eager: true });
const READ_ONCE = /expect\(\s*await (?!expect)[\w$.!()"'`#:, -]*\.(?:count|innerText|allInnerTexts|textContent|allTextContents|inputValue|getAttribute|isVisible|isEnabled|isDisabled|isChecked)\(/;

test("a browser test reads the page until it holds what is expected", () => {
  expect(READ_ONCE.test(`expect(await page.locator(".th-turn-end").count()).toBe(2)`)).toBe(true);
  expect(Object.keys(FILES).length).toBeGreaterThan(20);
  const found = Object.entries(FILES).flatMap(([file, text]) =>
    text.split("\n").flatMap((line, at) => (READ_ONCE.test(line) ? [`${file.slice(6)}:${at + 1}: use expect.poll: ${line.trim()}`] : [])),
  );
  expect(found).toEqual([]);
});
