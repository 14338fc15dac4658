// @vitest-environment jsdom
import type { Client, WaitingQuestion } from "@acpd/client";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { settled } from "../../app/row-answers.ts";
import { toasts } from "../../app/toasts.ts";
import { client, link, standing } from "../../connection/connection.ts";
import type { Listed } from "../../state/threads.ts";
import { after, drawn, press } from "../testing.ts";
import { RowAnswers } from "./RowAnswers.tsx";
import { RowQuestion } from "./RowQuestion.tsx";
import { ThreadRow } from "./ThreadRow.tsx";

const question: WaitingQuestion = {
  requestId: "q",
  type: "permission",
  title: "Tidy up",
  more: 0,
  subjects: [{ type: "commandLine", line: "git status", cwd: "/w" }],
  options: [
    { optionId: "1", name: "Yes", kind: "allow_once" },
    { optionId: "2", name: "Always", kind: "allow_always" },
    { optionId: "3", name: "No", kind: "reject_once" },
  ],
};

vi.stubGlobal("ResizeObserver", class {
  observe() {}
  disconnect() {}
});
const call = vi.fn<(method: string, params: unknown) => Promise<unknown>>();

beforeEach(() => {
  call.mockReset().mockResolvedValue({});
  const signedIn = { call, on: () => () => {}, onState: () => () => {}, state: { name: "closed" } };
  client.value = signedIn as unknown as Client;
  link.value = { name: "open" } as typeof link.value;
  standing.value = { name: "in", session: { principal: "ann", role: "approver" } };
});
afterEach(() => {
  client.value = undefined;
  toasts.value = [];
});

/** Renders a row that has kept its place for a while. */
async function row(asked = question) {
  const view = drawn(
    <div class="row">
      <a class="row-link" href="/threads/t">
        <RowQuestion question={asked} cwd="/w" />
      </a>
      <RowAnswers threadId="t" cwd="/w" question={asked} tabIndex={0} />
    </div>,
  );
  // The tests' DOM has no layout: what is in sight is said to it.
  view.one(".row-question").getBoundingClientRect = () => ({ top: 10, bottom: 20 }) as DOMRect;
  await after(() => void (settled.value = true));
  return view;
}
const approvals = () => call.mock.calls.filter(([method]) => method === "item/approve");

test("the answers are those of the card, by their digits, without the always", async () => {
  const view = await row();
  expect(view.all("button").map((button) => button.textContent)).toEqual(["Allow once1", "Reject3"]);
  await press(view.one(".row-link"), "2");
  expect(approvals()).toEqual([]);
  await press(view.one(".row-link"), "3");
  expect(approvals()).toEqual([["item/approve", { requestId: "q", optionId: "3", optionKind: "reject_once", approved: false }]]);
});

test("an answer is sent once, and stays marked until the row changes", async () => {
  const view = await row();
  await after(() => view.button("Allow once").click());
  await after(() => view.button("Allow once").click());
  expect(approvals()).toHaveLength(1);
  expect(view.button("Allow once").getAttribute("aria-disabled")).toBe("true");
});

test("nothing is answered while the rows move", async () => {
  const view = await row();
  settled.value = false;
  await press(view.one(".row-link"), "1");
  await after(() => view.button("Allow once").click());
  expect(approvals()).toEqual([]);
  expect(view.button("Allow once").getAttribute("aria-disabled")).toBe("true");
});

test("a key that is held down since another row answers nothing", async () => {
  const view = await row();
  await press(view.one(".row-link"), "1", { repeat: true });
  expect(approvals()).toEqual([]);
});

test("a question that does not fit has no answers, but leads to the thread", async () => {
  const view = await row({ ...question, more: 1 });
  expect(view.all("button").map((button) => button.textContent)).toEqual(["Open"]);
  await press(view.one(".row-link"), "1");
  expect(approvals()).toEqual([]);
});

test("what is not known to be harmless is rejected from the row, and opened to be allowed", async () => {
  const view = await row({ ...question, subjects: [{ type: "commandLine", line: "git push origin :main", cwd: "/w" }] });
  expect(view.all("button").map((button) => button.textContent)).toEqual(["Open", "Reject3"]);
  await press(view.one(".row-link"), "1");
  expect(approvals()).toEqual([]);
  const swiped = view.one(".row");
  swiped.setPointerCapture = () => {};
  Object.defineProperty(swiped, "clientWidth", { value: 250 });
  const touch = (type: string, clientX: number) =>
    after(() => swiped.dispatchEvent(new PointerEvent(type, { pointerType: "touch", isPrimary: true, pointerId: 1, clientX })));
  await touch("pointerdown", 0);
  await touch("pointermove", 140);
  expect(swiped.dataset.swipeLabel).toBe("Release: Open");
  await touch("pointercancel", 140);
  expect(approvals()).toEqual([]);
});

test("a button that a swipe has just revealed answers after a while", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const view = await row();
  const swiped = view.one(".row");
  swiped.setPointerCapture = () => {};
  Object.defineProperty(swiped, "clientWidth", { value: 390 });
  for (const [type, clientX] of [["pointerdown", 0], ["pointermove", 60], ["pointerup", 60]] as const) {
    await after(() => swiped.dispatchEvent(new PointerEvent(type, { pointerType: "touch", isPrimary: true, pointerId: 1, clientX })));
  }
  expect(swiped.hasAttribute("data-revealed")).toBe(true);
  await after(() => swiped.dispatchEvent(new PointerEvent("pointerdown", { pointerType: "touch", isPrimary: true, pointerId: 2 })));
  await after(() => view.button("Allow once").click());
  expect(approvals()).toEqual([]);
  expect(view.button("Allow once").getAttribute("aria-disabled")).toBe("true");
  await after(() => vi.advanceTimersByTime(500));
  await after(() => view.button("Allow once").click());
  expect(approvals()).toHaveLength(1);
  vi.useRealTimers();
});

test("a question that is out of sight is shown first", async () => {
  const view = await row();
  const text = view.one(".row-question");
  text.getBoundingClientRect = () => ({ top: -300, bottom: -290 }) as DOMRect;
  text.scrollIntoView = vi.fn();
  await press(view.one(".row-link"), "1");
  expect(approvals()).toEqual([]);
  expect(text.scrollIntoView).toHaveBeenCalled();
});

test("an answer that comes too late says who was first", async () => {
  const by = { kind: "client", principal: "bob", client: "zed" };
  const late = Object.assign(new Error("it was answered already"), { code: "already_resolved" });
  call.mockImplementation((method) =>
    method === "item/approve"
      ? Promise.reject(late)
      : Promise.resolve({ thread: { turns: [{ answers: [{ requestId: "q", outcome: "accepted", by }] }] } }),
  );
  const view = await row();
  await press(view.one(".row-link"), "1");
  await after(async () => {});
  expect(toasts.value.map(({ text }) => text)).toEqual(["Already answered by bob (zed)"]);
});

test("observers have no answers", async () => {
  standing.value = { name: "in", session: { principal: "ann", role: "observer" } };
  expect((await row()).all("button")).toEqual([]);
});

test("a row says in its second line what its thread wants", () => {
  const thread = { id: "t", agentType: "fake", cwd: "/w", live: "waiting", status: "waiting", updatedAt: 0, unread: false, question };
  const view = drawn(<ThreadRow thread={thread as unknown as Listed} current={false} tabbed index={0} count={1} gap={0} />);
  expect(view.one(".row-question").textContent).toBe("Run git status");
  expect(view.one(".row").classList.contains("is-asking")).toBe(true);
});

test("the row of an observer has no room for answers", () => {
  const thread = { id: "t", agentType: "fake", cwd: "/w", live: "waiting", status: "waiting", updatedAt: 0, unread: false, question };
  const keepsRoom = (role: "observer" | "approver") => {
    standing.value = { name: "in", session: { principal: "ann", role } };
    const view = drawn(<ThreadRow thread={thread as unknown as Listed} current={false} tabbed index={0} count={1} gap={0} />);
    return view.one(".row").classList.contains("has-answers");
  };
  expect([keepsRoom("approver"), keepsRoom("observer")]).toEqual([true, false]);
});
