import { expect, test } from "vitest";

import { layersOf, readPolicy } from "../../state/policy.ts";
import { drawn } from "../testing.ts";
import { Layers } from "./Layers.tsx";

test("a policy is read as it may be written: a name, an object, its older names", () => {
  const none = { deny: [], ask: [], allow: [] };
  expect(readPolicy("standard")).toEqual({ base: "standard", rules: none, rest: "ask" });
  expect(readPolicy({ preset: "readonly", deny: ["Bash"], defaultMode: "allow" })).toEqual({
    base: "readonly",
    rules: { ...none, deny: ["Bash"] },
    rest: "allow",
  });
  expect(readPolicy({ base: "toString" })).toEqual({ base: "toString", rules: none, rest: undefined });
  for (const nothing of [null, undefined]) expect(readPolicy(nothing)).toBeUndefined();
});

test("only the innermost default counts", () => {
  const counts = (thread: unknown, agent: unknown, daemon: unknown) =>
    layersOf([["thread", thread], ["agent", agent], ["daemon", daemon]]).map(({ restCounts }) => restCounts);
  expect(counts({ deny: ["Bash"] }, "readonly", { default: "allow" })).toEqual([false, true, false]);
  expect(counts({ default: "ask" }, "readonly", "standard")).toEqual([true, false, false]);
  expect(counts(null, null, { deny: ["Bash"] })).toEqual([false, false, false]);
});

test("layers stand in the order in which they count, rules by what they do, the strictest first", () => {
  const layers = layersOf([
    ["thread", { allow: ["Bash(git *)", "Think"], deny: ["Bash(rm *)"] }],
    ["agent", "restricted"],
    ["daemon", { ask: ["Edit\u202E"], default: "allow" }],
  ]);
  const view = drawn(<Layers layers={layers} agent="claude" />);
  expect(view.all("h3").map((title) => title.textContent)).toEqual([
    "Thread policyset for this thread",
    "Agent policyclaudefrom the configuration",
    "Global policyfrom the configuration",
  ]);
  const [thread, agent, daemon] = view.all(".policy-layer");
  const rules = (layer: HTMLElement) =>
    [...layer.querySelectorAll(".policy-rules")].map((list) => [
      list.querySelector(".effect")?.textContent,
      ...[...list.querySelectorAll("code")].map((rule) => rule.textContent),
    ]);
  expect(rules(thread!)).toEqual([["Denied", "Bash(rm *)"], ["Allowed", "Bash(git *)", "Think"]]);
  expect(thread!.textContent).not.toContain("without a matching rule");
  expect(agent!.textContent).toMatch(/Preset restricted: .*Actions without a matching rule are denied\.$/);
  expect(rules(daemon!)).toEqual([["Asked", "Edit⟨U+202E⟩"]]);
  expect(daemon!.textContent).toMatch(/Its default \(other actions are allowed\) is not used/);
  expect(view.one(".policy-intro").textContent).toMatch(/^Deny rules always win/);
});

test("without any policy everything is asked; with rules alone, what they are not about", () => {
  const view = drawn(<Layers layers={layersOf([["thread", null], ["agent", null], ["daemon", undefined]])} />);
  expect(view.one(".policy-intro").textContent).toContain("You decide whenever an agent asks.");
  // No card says that there is nothing.
  expect(view.all(".card")).toEqual([]);
  view.draw(<Layers layers={layersOf([["daemon", { deny: ["Bash"] }]])} />);
  expect(view.one(".policy-rest").textContent).toBe("Actions without a matching rule ask for approval.");
  expect(view.all(".policy-intro")).toEqual([]);
  view.draw(<Layers layers={layersOf([["thread", null], ["agent", null], ["daemon", "standard"]])} />);
  expect(view.all(".policy-layer")).toHaveLength(1);
  expect(view.one(".policy-rest").textContent).toBe("This thread has no policy of its own. Its agent has no policy of its own.");
});
