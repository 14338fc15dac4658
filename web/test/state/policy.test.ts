/** What the UI says of presets, held against what is written about them. */

import { expect, test } from "vitest";

import written from "../../../docs/policy.md?raw";
import { PRESET_NAMES, PRESETS } from "../../src/state/policy.ts";

/** The rows of the table of presets in `docs/policy.md`, by name: what they allow, ask and deny. */
function documented(): Map<string, string[]> {
  const table = written.split("\n| Preset | Allows | Asks | Denies |\n")[1]!.split("\n\n")[0]!;
  const rows = table.split("\n").slice(1).map((row) => row.split("|").slice(1, -1).map((cell) => cell.trim()));
  return new Map(rows.map(([name, ...cells]) => [name!.replaceAll("`", ""), cells]));
}

test("the presets are those that docs/policy.md names", () => {
  expect([...PRESET_NAMES].sort()).toEqual([...documented().keys()].sort());
});

test("what becomes of all else is what docs/policy.md says", () => {
  for (const [name, [allowed, asked]] of documented()) {
    const rest = allowed!.startsWith("everything") ? "allow" : asked!.startsWith("everything") ? "ask" : "deny";
    expect([name, PRESETS[name]!.rest]).toEqual([name, rest]);
  }
});
