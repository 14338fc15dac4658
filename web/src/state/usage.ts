/** Tokens and costs of threads, for the page that shows them. Pure. */

import type { CostSum, UsageRow, UsageSum } from "@acpd/client";

import { visibleLine } from "../text/bidi-guard.ts";
import { money } from "../text/format.ts";
import { nameOf } from "./threads.ts";

/** Returns costs as text: one, or several in different currencies. `undefined` if there are none. */
export function costsOf(costs: readonly CostSum[] | null | undefined): string | undefined {
  return costs?.length ? costs.map(({ amount, currency }) => money(amount, visibleLine(currency))).join(" + ") : undefined;
}

/** Returns costs with the new sum of one currency. */
export function withCost(costs: readonly CostSum[], cost: unknown): readonly CostSum[] {
  const { amount, currency } = (cost ?? {}) as Partial<CostSum>;
  if (typeof amount !== "number" || typeof currency !== "string") {
    return costs;
  }
  const others = costs.filter((one) => one.currency !== currency);
  return [...others, { amount, currency }].sort((one, other) => (one.currency < other.currency ? -1 : 1));
}

/** Returns what a row is about. */
export function rowName({ day, agentType, threadId, name, cwd }: UsageRow): string {
  return threadId != null ? nameOf({ name: name ?? null }) : visibleLine(day ?? agentType ?? cwd ?? "");
}

/**
 * Returns the length of each row's bar, from 0 to 1: by cost if all costs have one currency, else by tokens, since currencies cannot
 * be compared.
 */
export function shares(rows: readonly { readonly spent: UsageSum }[]): number[] {
  const currencies = new Set(rows.flatMap(({ spent }) => spent.costs.map(({ currency }) => currency)));
  const sizeOf = ({ costs, totalTokens }: UsageSum) => (currencies.size === 1 ? (costs[0]?.amount ?? 0) : totalTokens);
  const sizes = rows.map(({ spent }) => sizeOf(spent));
  const most = Math.max(0, ...sizes);
  return sizes.map((size) => (most > 0 ? size / most : 0));
}
