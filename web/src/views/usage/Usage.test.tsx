import type { Client, UsageRead } from "@acpd/client";
import { afterEach, expect, test } from "vitest";

import { client, link } from "../../connection/connection.ts";
import { after, drawn } from "../testing.ts";
import Usage from "./Usage.tsx";

afterEach(() => {
  client.value = undefined;
  link.value = { name: "connecting" };
});

const spent = { inputTokens: 1, outputTokens: 2, totalTokens: 3, costs: [{ amount: 1, currency: "USD" }] };

async function shown(more: Partial<UsageRead>) {
  const usage = { data: [{ day: "2026-11-29", spent }], total: spent, firstDay: "", lastDay: "", omitted: 0, currenciesOmitted: 0, ...more };
  client.value = { call: async () => usage, on: () => () => {}, onState: () => () => {}, state: { name: "open" } } as unknown as Client;
  link.value = { name: "open" } as typeof link.value;
  const view = drawn(<Usage />);
  await after(() => new Promise((done) => setTimeout(done)));
  return view.one(".usage-card + .hint").textContent;
}

test("the page says what the numbers leave out", async () => {
  expect(await shown({})).toMatch(/^As agents report it/);
  expect(await shown({ currenciesOmitted: 1 })).toMatch(/^The total leaves out 1 currency that few threads report. As agents/);
  expect(await shown({ omitted: 1_200, currenciesOmitted: 3 })).toMatch(/^1,200 smaller rows are left out; the total has them. The total leaves out 3 currencies/);
});
