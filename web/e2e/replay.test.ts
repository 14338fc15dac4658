/**
 * A thread that is loaded shows what a page shows that has followed it from the start: random stories, played by the
 * real daemon and the fake agent, and folded by the page's own code. Without a browser, so that there are many.
 */

import type { Client } from "@acpd/client";
import { afterAll, beforeAll, expect, test } from "vitest";

import { Daemon } from "./support/daemon.ts";
import { differences } from "./support/differences.ts";
import { Play } from "./support/play.ts";
import { Random } from "./support/random.ts";
import { type Action, story } from "./support/story.ts";

const SEEDS = Number(process.env.ACPD_SEEDS ?? 200);
/** The only seed to play. */
const SEED = process.env.ACPD_SEED === undefined ? undefined : Number(process.env.ACPD_SEED);

/** What the stories must contain; otherwise they would prove little. */
const EXPECTED = [
  ...["agentMessage", "agentThought", "fileChange", "terminalCommand", "toolCall", "userMessage"].map((type) => `item ${type}`),
  ...["completed", "failed", "interrupted", "limited", "queued", "refused", "running"].map((status) => `turn ${status}`),
  ...["idle", "running", "waiting"].map((status) => `thread ${status}`),
  ...["answer", "fork", "interrupt", "mode", "open", "prompt", "rename", "restart", "rollback", "steer"].map((act) => `did ${act}`),
  ...["continue", "edit", "pause", "remove", "reverse", "steer"].map((change) => `did queue ${change}`),
  ...["decision", "form", "notice", "notice after a turn", "older turns", "plan", "steering"].map((what) => `saw ${what}`),
  ...["answer to acpd", "call that a rule allowed", "subagent at work", "subagent of a subagent"].map((what) => `saw ${what}`),
];

let daemon: Daemon;
let client: Client;
const seen = new Set<string>();

beforeAll(async () => {
  daemon = await Daemon.start({
    agentArgs: ["--pace", "0", "--steer", "--fork"],
    config: ["[limits]", "requests_per_window = 1000000", "[policy]", 'allow = ["Bash(echo *)"]', 'ask = ["Bash(seq *)", "Edit(out.txt)"]'],
  });
  client = await daemon.client("reader", { backoff: { firstMs: 20, maxMs: 50 } });
});
afterAll(() => daemon?.end());

async function play(seed: number, actions: readonly Action[]): Promise<Error | undefined> {
  try {
    await new Play(daemon, client, new Random(seed), seen).run(actions);
    return undefined;
  } catch (error) {
    return error as Error;
  }
}

/** Plays a story; returns the failure of its shortest beginning that fails. */
async function failureOf(seed: number): Promise<Error | undefined> {
  const actions = story(seed);
  const failure = await play(seed, actions);
  for (let length = 1; failure !== undefined && length <= actions.length; length++) {
    const begin = actions.slice(0, length);
    // What depends on the time may fail only once.
    const shorter = length < actions.length ? await play(seed, begin) : failure;
    if (shorter) {
      shorter.message = [`ACPD_SEED=${seed} fails:`, ...begin.map((action) => JSON.stringify(action)), shorter.message].join("\n");
      return shorter;
    }
  }
  return undefined;
}

test("a loaded thread equals one that was followed", { timeout: 900_000 }, async () => {
  const seeds = SEED === undefined ? Array.from({ length: SEEDS }, (_, at) => at + 1) : [SEED];
  for (const seed of seeds) {
    const failure = await failureOf(seed);
    if (failure) throw failure;
  }
  if (SEED === undefined && SEEDS >= 200) {
    expect(EXPECTED.filter((what) => !seen.has(what))).toEqual([]);
  }
});

test("stories are the same for the same seed", () => {
  expect(story(7)).toEqual(story(7));
  expect(story(7)).not.toEqual(story(8));
});

test("differences are found at any depth, whatever the order of members", () => {
  expect(differences({ a: [{ b: 1, c: null }], d: "" }, { d: null, a: [{ b: 1 }] })).toEqual([]);
  expect(differences({ a: [{ b: 1 }] }, { a: [{ b: 2 }, 3] })).toEqual([".a[0].b: 1 and 2", ".a[1]: nothing and 3"]);
  expect(differences([], [0])).toEqual(["[0]: nothing and 0"]);
  expect(differences({ a: "x" }, { a: ["x"] })).toEqual(['.a: "x" and ["x"]']);
});
