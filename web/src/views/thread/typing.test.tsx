// @vitest-environment jsdom
// What is typed into a prompt box is a prompt: no key there answers a question.

import type { Approval, Client, Thread } from "@acpd/client";
import { beforeEach, expect, test, vi } from "vitest";

import { settled } from "../../app/row-answers.ts";
import { listenForShortcuts } from "../../app/shortcuts.ts";
import { client, link, standing } from "../../connection/connection.ts";
import { RowAnswers } from "../sidebar/RowAnswers.tsx";
import { RowQuestion } from "../sidebar/RowQuestion.tsx";
import { after, drawn, press, type } from "../testing.ts";
import type { ThreadViewProps } from "../thread-props.ts";
import { Composer } from "./index.ts";
import Approvals from "./questions/Approvals.tsx";

const approval: Approval = {
  seq: 1, threadId: "t", ts: 0, requestId: "q", itemId: "i", title: "Build it", subjects: [{ type: "commandLine", line: "make", cwd: "/w" }],
  options: [{ optionId: "y", name: "Allow", kind: "allow_once" }, { optionId: "n", name: "Reject", kind: "reject_once" }],
};
const head = {
  id: "t", agentType: "fake", cwd: "/w", status: "waiting", turnId: "turn_1", additionalDirectories: [], archived: false, createdAt: 0, updatedAt: 0,
  latestSeq: 1, pendingRequestIds: ["q"], queuedTurnIds: [], turnCount: 1,
} as unknown as Thread;
const waiting = { requestId: "q", type: "permission", title: "Build it", more: 0, subjects: approval.subjects, options: approval.options } as const;

vi.stubGlobal("ResizeObserver", class {
  observe() {}
  disconnect() {}
});
const call = vi.fn(async () => ({}));
const answer = vi.fn(async () => {});
listenForShortcuts();

beforeEach(() => {
  localStorage.clear();
  call.mockClear();
  answer.mockClear();
  client.value = { call, on: () => () => {}, onState: () => () => {}, state: { name: "open" } } as unknown as Client;
  link.value = { name: "open" } as typeof link.value;
  standing.value = { name: "in", session: { principal: "ann", role: "owner" } };
});

function page() {
  const props = {
    thread: {
      threadId: "t", seq: 1, head, turns: [], questions: [{ method: "item/commandExecution/requestApproval", params: approval }],
      decisions: [], notices: [], answers: [], steering: [], others: [],
    },
    rows: [],
    actions: { send: vi.fn(async () => {}), startAgent: vi.fn(), interrupt: vi.fn(async () => {}), answer },
    role: "owner",
    online: true,
  } as unknown as ThreadViewProps;
  const view = drawn(
    <>
      <div class="row">
        <RowQuestion question={waiting} cwd="/w" />
        <RowAnswers threadId="t" cwd="/w" question={waiting} tabIndex={0} />
      </div>
      <Approvals {...props} />
      <Composer {...props} />
    </>,
  );
  for (const seen of view.all(".row-question, .th-subject-end")) {
    seen.getBoundingClientRect = () => ({ top: 10, bottom: 20 }) as DOMRect;
  }
  return view;
}

/** Returns a generator of numbers below a limit, the same ones for a seed. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const KEYS = [..."1234567890123yqnwjkie/?abzYAR .-+!é日", "Enter"];

test("no sequence of printable keys that is typed into the prompt box answers a question", async () => {
  const view = page();
  await after(() => void (settled.value = true));
  const box = view.one<HTMLTextAreaElement>("textarea");
  for (let seed = 1; seed <= 200; seed += 1) {
    const next = numbers(seed);
    box.focus();
    for (let left = 1 + next(20); left > 0; left -= 1) {
      const key = KEYS[next(KEYS.length)]!;
      // A shortcut that moves the focus sends the keys that follow elsewhere.
      const at = document.activeElement as HTMLElement;
      await press(at, key);
      if (at === box && key.length === 1) await type(box, box.value + key);
    }
    expect(document.activeElement, `seed ${seed}`).toBe(box);
  }
  expect(answer).not.toHaveBeenCalled();
  expect(call.mock.calls.filter(([method]: unknown[]) => method === "item/approve")).toEqual([]);
  // The same keys answer where the question has the focus.
  const card = view.one("[data-question]");
  card.focus();
  await press(card, "2");
  expect(answer).toHaveBeenCalledOnce();
});
