import type { UsageSum } from "@acpd/client";
import { expect, test } from "vitest";

import { costsOf, rowName, shares, withCost } from "../../src/state/usage.ts";

const spent = (totalTokens: number, ...costs: UsageSum["costs"]): { spent: UsageSum } => ({
  spent: { inputTokens: 0, outputTokens: 0, totalTokens, costs },
});
const usd = (amount: number) => ({ amount, currency: "USD" });

test("bars compare costs of one currency, and tokens otherwise", () => {
  expect(shares([])).toEqual([]);
  expect(shares([spent(0), spent(0)])).toEqual([0, 0]);
  expect(shares([spent(9, usd(2)), spent(900, usd(0.5)), spent(5)])).toEqual([1, 0.25, 0]);
  expect(shares([spent(10, usd(2)), spent(5, { amount: 9, currency: "EUR" })])).toEqual([1, 0.5]);
});

test("costs of several currencies are not added", () => {
  expect(costsOf([])).toBeUndefined();
  expect(costsOf(undefined)).toBeUndefined();
  expect(costsOf([{ amount: 1.5, currency: "EUR" }, usd(0.0842)])).toBe("€1.50 + $0.0842");
});

test("a report replaces the sum of its currency", () => {
  expect(withCost([usd(1)], usd(2))).toEqual([usd(2)]);
  expect(withCost([usd(1)], { amount: 3, currency: "EUR" })).toEqual([{ amount: 3, currency: "EUR" }, usd(1)]);
  for (const odd of [undefined, null, 7, {}, { amount: "1", currency: "USD" }]) {
    expect(withCost([usd(1)], odd)).toEqual([usd(1)]);
  }
});

test("names of rows hide nothing", () => {
  const row = spent(1);
  expect(rowName({ ...row, day: "2026-11-29" })).toBe("2026-11-29");
  expect(rowName({ ...row, threadId: "t" })).toBe("Untitled thread");
  expect(rowName({ ...row, cwd: "/w/\u202Ea" })).not.toContain("\u202E");
});
