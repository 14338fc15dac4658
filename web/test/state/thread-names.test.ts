import { expect, test } from "vitest";

import cases from "../../../crates/model/fixtures/thread-names.json?raw";
import { nameFrom } from "../../src/state/fold-head.ts";

test.each(JSON.parse(cases) as [string, string | null][])("a prompt gives the daemon’s name: %j", (prompt, name) => {
  expect(nameFrom(prompt) ?? null).toBe(name);
});
