// @vitest-environment jsdom
import type { Agent } from "@acpd/client";
import { afterEach, expect, test } from "vitest";

import { agents } from "../../src/app/agents.ts";
import { AgentGlyph } from "../../src/views/parts/AgentGlyph.tsx";
import { ThreadPlace } from "../../src/views/parts/ThreadPlace.tsx";
import { drawn } from "../../src/views/testing.ts";

afterEach(() => {
  agents.value = undefined;
});

const glyph = (agentType: string) => drawn(<AgentGlyph agentType={agentType} />).one(".glyph");

test("an agent that many use has a figure, by the first word of its id", () => {
  const figures = ["claude-acp", "codex-acp", "gemini", "opencode", "goose", "cursor", "github-copilot", "demo"].map(
    (id) => glyph(id).querySelector("path")?.getAttribute("d"),
  );
  expect(figures.every(Boolean)).toBe(true);
  expect(new Set(figures).size).toBe(figures.length);
  expect(glyph("claude").className).toBe(glyph("claude-acp").className);
});

test("another agent has its initial, which is no part of the text", () => {
  agents.value = [{ id: "sim", title: "«Żuraw» 2" } as Agent];
  expect([glyph("sim").dataset.initial, glyph("sim").title, glyph("sim").textContent]).toEqual(["Ż", "«Żuraw» 2", ""]);
  // Ids that a prototype would know, without letters, and very long.
  expect(glyph("constructor").dataset.initial).toBe("C");
  expect(glyph("").dataset.initial).toBe("");
  expect(glyph("x".repeat(10_000)).dataset.initial).toBe("X");
});

test("in a row the mark stands for the name, which is still said", () => {
  const place = drawn(<ThreadPlace agentType="fake" cwd="/home/ann/work" brief />);
  expect(place.text()).toBe("fake · work");
  expect(place.one(".sr-only").textContent).toBe("fake · ");
  expect(drawn(<ThreadPlace agentType="fake" cwd="/home/ann/work" />).all(".sr-only")).toEqual([]);
});
