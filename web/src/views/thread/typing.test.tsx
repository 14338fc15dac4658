// @vitest-environment jsdom
// What is typed into a text field is text: no key there answers a question.

import type { Approval, Client, Thread } from "@acpd/client";
import { beforeEach, expect, test, vi } from "vitest";

import { settled } from "../../app/row-answers.ts";
import { listenForShortcuts } from "../../app/shortcuts.ts";
import { client, link, standing } from "../../connection/connection.ts";
import { RowAnswers } from "../sidebar/RowAnswers.tsx";
import { RowQuestion } from "../sidebar/RowQuestion.tsx";
import { SearchField } from "../sidebar/SearchField.tsx";
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

const permission = { method: "item/commandExecution/requestApproval", params: approval };

function page(questions: readonly object[] = [permission]) {
  const props = {
    thread: {
      threadId: "t", seq: 1, head, turns: [], questions,
      decisions: [], notices: [], answers: [], steering: [], others: [], lanes: {},
    },
    rows: [],
    actions: { send: vi.fn(async () => {}), startAgent: vi.fn(), interrupt: vi.fn(async () => {}), answer },
    role: "owner",
    online: true,
  } as unknown as ThreadViewProps;
  const view = drawn(
    <>
      <SearchField />
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
  // Only once it had the focus for a while: the first key may still be meant for the box.
  await press(card, "2");
  expect(answer).not.toHaveBeenCalled();
  const later = performance.now() + 500;
  vi.spyOn(performance, "now").mockReturnValue(later);
  await press(card, "2");
  expect(answer).toHaveBeenCalledOnce();
});

/** A form of the agent, with a field of each kind. */
const form = {
  method: "item/tool/requestUserInput",
  params: {
    seq: 2, threadId: "t", ts: 0, requestId: "f", title: "Which?", mode: "form",
    schema: {
      type: "object",
      properties: { name: { type: "string" }, amount: { type: "integer" }, notes: { type: "string", maxLength: 5_000 }, more: { type: "object" } },
    },
  },
} as const;

/** Fields as any view may have them, also those that it will have. */
const FIELDS = [
  "<input>", "<input type=search>", "<input type=password>", "<input type=number>", "<input type=url>", "<textarea></textarea>",
  "<select><option>1</option></select>", "<div contenteditable tabindex=0></div>", "<div contenteditable><b tabindex=0></b></div>",
];
const PRINTABLE = KEYS.filter((key) => key.length === 1);

/** Types random text into a field; returns whether the focus stayed there. */
async function typedInto(field: HTMLElement, seed: number): Promise<boolean> {
  const next = numbers(seed);
  field.focus();
  for (let left = 1 + next(20); left > 0; left -= 1) {
    await press(document.activeElement as HTMLElement, PRINTABLE[next(PRINTABLE.length)]!);
  }
  return document.activeElement === field;
}

test.each([["a permission", permission, 2], ["a form", form, 5]])("no sequence of printable keys that is typed into any text field answers %s", async (_, question, fields) => {
  const view = page([question]);
  await after(() => void (settled.value = true));
  await vi.waitFor(() => expect(view.all("[data-question]")).not.toHaveLength(0));
  const foreign = [view.one(".row"), ...view.all("[data-question]"), view.place].flatMap((place) =>
    FIELDS.map((html) => {
      const holder = document.createElement("div");
      holder.innerHTML = html;
      place.append(holder);
      return holder.querySelector<HTMLElement>("[tabindex]") ?? (holder.firstElementChild as HTMLElement);
    }),
  );
  const own = view.all("input:not([type=radio], [type=checkbox]), textarea, select").filter((field) => !foreign.includes(field));
  expect(own.length, "the search, the prompt and those of the form").toBeGreaterThanOrEqual(fields);
  for (const [at, field] of [...own, ...foreign].entries()) {
    for (let seed = 1; seed <= 8; seed += 1) {
      expect(await typedInto(field, at * 8 + seed), field.outerHTML).toBe(true);
    }
  }
  expect(answer).not.toHaveBeenCalled();
  expect(call.mock.calls.filter(([method]: unknown[]) => method === "item/approve" || method === "item/answer")).toEqual([]);
});
