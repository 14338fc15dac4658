// @vitest-environment jsdom
import type { Client, Item, Thread } from "@acpd/client";
import { beforeEach, expect, test, vi } from "vitest";

import { draftOf, editDraft, keepDraft } from "../../../app/drafts.ts";
import { beginEdit, editedTurn } from "../../../app/editing.ts";
import { listenForShortcuts } from "../../../app/shortcuts.ts";
import { open } from "../../../app/threads.ts";
import { toasts } from "../../../app/toasts.ts";
import { client, leave } from "../../../connection/connection.ts";
import type { OpenThread } from "../../../connection/open-thread.ts";
import type { FoldedTurn, ThreadState } from "../../../state/thread.ts";
import type { ThreadViewProps } from "../../thread-props.ts";
import { after, drawn, press, type } from "../../testing.ts";
import { Composer } from "./Composer.tsx";
import { attachOnce, dropEdit, editMessage, giveBack } from "./edit-message.ts";
import { attachAgain } from "./use-attachments.ts";

const THREAD = "0195d1c2-7e7a-7c3e-8f00-0123456789ab";
const STORED = { type: "resource_link", uri: `file:///d/attachments/${THREAD}/${"0f".repeat(16)}/big%20one.pdf`, name: "big one.pdf", size: 3_000_000 };
const PICTURE = { type: "image", mimeType: "image/png", data: "iVBORw0KGgo=" };

function turn(number: number, text: string, others: readonly object[] = []): FoldedTurn & { id: string } {
  const said = { type: "userMessage", itemId: `item_${number}`, text, content: [{ type: "text", text }, ...others] } as unknown as Item;
  return { key: `turn_${number}`, id: `turn_${number}`, status: "completed", items: [said] };
}

const turns = [turn(1, "one"), turn(2, "two", [PICTURE]), turn(3, "three")];

function shown(state: Partial<ThreadState> = {}, head: Partial<Thread> = {}, actions: object = {}) {
  const acts = {
    send: vi.fn(async () => {}), sendInstead: vi.fn(async () => {}), startAgent: vi.fn(), interrupt: vi.fn(async () => {}),
    loadTurn: vi.fn(async () => {}),
    forkBefore: vi.fn(async (_: string, prepare: (threadId: string) => void) => prepare("fork")), ...actions,
  };
  const props = {
    thread: {
      threadId: "t", seq: 1, turns, questions: [], decisions: [], notices: [], steering: [], others: [], lanes: {},
      head: { id: "t", status: "idle", archived: false, pendingRequestIds: [], queuedTurnIds: [], ...head }, ...state,
    },
    rows: [], actions: acts, role: "owner", online: true,
  } as unknown as ThreadViewProps;
  const view = drawn(<Composer {...props} />);
  const area = () => view.one<HTMLTextAreaElement>("textarea");
  return { ...view, acts, area, close: () => view.draw(null), draw: (next: Partial<ThreadState>) => view.draw(<Composer {...props} thread={{ ...props.thread, ...next }} />) };
}

beforeEach(() => {
  dropEdit("t");
  for (const threadId of ["t", "fork"]) {
    attachAgain(threadId, []);
    keepDraft(threadId, "");
  }
  toasts.value = [];
});

test("an edited message is sent in place of the earlier one, with its attachments; the draft is there again", async () => {
  keepDraft("t", "half a thought");
  const view = shown();
  await after(() => editMessage("t", turns[1]!));
  expect([view.area().value, view.all(".th-attached-file").length]).toEqual(["two", 1]);
  expect(view.one(".th-editing").textContent).toContain("the turn after it");
  expect(view.text()).toContain("Files do not change.");
  await type(view.area(), "two, but better");
  expect(view.acts.startAgent, "it starts anew").not.toHaveBeenCalled();
  await press(view.area(), "Enter");
  expect(view.acts.sendInstead.mock.calls).toEqual([["turn_2", "two, but better", [PICTURE]]]);
  expect(view.acts.send).not.toHaveBeenCalled();
  expect([view.area().value, view.all(".th-editing, .th-attached-file").length]).toEqual(["half a thought", 0]);
  expect([editedTurn("t"), draftOf(editDraft("t"))]).toEqual([undefined, ""]);
});

test("what is refused stays, and says why", async () => {
  const refuse = async () => {
    throw new Error("the thread is being forked or deleted: try again when it is");
  };
  const view = shown({}, {}, { sendInstead: refuse });
  await after(() => editMessage("t", turns[1]!));
  await type(view.area(), "two, but better");
  await press(view.area(), "Enter");
  expect(view.one(".error-text").textContent).toContain("being forked");
  expect([view.area().value, view.all(".th-editing, .th-attached-file").length]).toEqual(["two, but better", 2]);
  await after(() => view.button("Cancel").click());
  expect(view.all(".error-text"), "the sentence was about the edited message").toEqual([]);
});

/** Returns a promise, and what resolves it. */
function later(): [promise: Promise<void>, resolve: () => void] {
  let resolve = () => {};
  return [new Promise<void>((done) => (resolve = done)), () => resolve()];
}

test("an edited message that is on its way can be neither left, nor forked, nor give way to another one", async () => {
  const [answer, answered] = later();
  const view = shown({}, {}, { sendInstead: () => answer });
  await after(() => editMessage("t", turns[1]!));
  await type(view.area(), "two, but better");
  await press(view.area(), "Enter");
  expect([view.button("Cancel").disabled, view.button("Edit in a fork").disabled, view.button("Resend").disabled]).toEqual([true, true, true]);
  await press(view.area(), "Escape");
  await after(() => editMessage("t", turns[0]!));
  expect([editedTurn("t"), view.area().value]).toEqual(["turn_2", "two, but better"]);
  expect(toasts.value.map(({ text }) => text)).toEqual(["The edited message is being sent"]);
  const again = shown();
  expect([again.area().readOnly, again.button("Cancel").disabled], "also in a composer that is drawn anew").toEqual([true, true]);
  await after(answered);
  expect([editedTurn("t"), view.area().value, again.area().readOnly]).toEqual([undefined, "", false]);
});

test("a message on its way is not sent again by a box that is drawn anew, and what another tab writes meanwhile stays", async () => {
  const [answer, answered] = later();
  keepDraft("t", "hello");
  const first = shown({}, {}, { send: () => answer });
  await press(first.area(), "Enter");
  first.close();
  const again = shown();
  expect([again.area().value, again.area().readOnly, again.button("Send").disabled]).toEqual(["hello", true, true]);
  await press(again.area(), "Enter");
  expect(again.acts.send).not.toHaveBeenCalled();
  await after(() => keepDraft("t", "hello, and more"));
  await after(answered);
  expect([again.area().value, again.area().readOnly]).toEqual(["hello, and more", false]);
});

test("a message that was sent is not in a box that was drawn anew", async () => {
  const [answer, answered] = later();
  keepDraft("t", "hello");
  const first = shown({}, {}, { send: () => answer });
  await press(first.area(), "Enter");
  first.close();
  const again = shown();
  await after(answered);
  expect([again.area().value, again.area().readOnly]).toEqual(["", false]);
});

test("a message that fails when its box is gone says so, and stays", async () => {
  const [answer, answered] = later();
  keepDraft("t", "hello");
  const send = async () => {
    await answer;
    throw new Error("Too many turns wait.");
  };
  const first = shown({}, {}, { send });
  await press(first.area(), "Enter");
  first.close();
  await after(answered);
  expect(toasts.value.map(({ text }) => text)).toEqual(["Couldn’t send a message. Too many turns wait."]);
  expect(draftOf("t")).toBe("hello");
});

test("a file that is dropped while an edited message is on its way is refused with a word, and what is attached stays", async () => {
  const [answer, answered] = later();
  keepDraft("t", "half a thought");
  const view = shown({}, {}, { sendInstead: () => answer });
  await after(() => editMessage("t", turns[1]!));
  await press(view.area(), "Enter");
  const event = new Event("drop", { bubbles: true, cancelable: true });
  Object.assign(event, { dataTransfer: { files: [new File(["x"], "x.txt", { type: "text/plain" })], types: ["Files"] } });
  await after(() => view.area().dispatchEvent(event));
  expect(event.defaultPrevented, "the browser would open it").toBe(true);
  expect(toasts.value.map(({ text }) => text)).toEqual(["The message is being sent. Attach the file when that is done."]);
  expect([view.all(".th-attached-file").length, view.text().includes("Reading")]).toEqual([1, false]);
  await after(answered);
  expect([view.area().value, view.all(".th-attached-file").length]).toEqual(["half a thought", 0]);
});

test("an edit that another tab began while this one was sent stays", async () => {
  const [answer, answered] = later();
  const view = shown({}, {}, { sendInstead: () => answer });
  await after(() => editMessage("t", turns[1]!));
  await press(view.area(), "Enter");
  await after(() => beginEdit("t", "turn_3", "three, but better"));
  await after(answered);
  expect([editedTurn("t"), view.area().value]).toEqual(["turn_3", "three, but better"]);
});

test("an edited message waits while its fork is made", async () => {
  const [answer, answered] = later();
  const forkBefore = async (_: string, prepare: (threadId: string) => void) => {
    await answer;
    prepare("fork");
  };
  const view = shown({}, {}, { forkBefore });
  await after(() => editMessage("t", turns[1]!));
  await after(() => view.button("Edit in a fork").click());
  await press(view.area(), "Enter");
  expect([view.acts.sendInstead.mock.calls, view.button("Cancel").disabled]).toEqual([[], true]);
  await after(answered);
  expect([draftOf("fork"), editedTurn("t")]).toEqual(["two", undefined]);
});

test("Escape restores the draft, stops no agent, and the edited text can be brought back", async () => {
  keepDraft("t", "half a thought");
  const view = shown({}, { turnId: "turn_3" });
  const seen = vi.fn();
  document.addEventListener("keydown", seen);
  await after(() => editMessage("t", turns[0]!));
  await type(view.area(), "one, but better");
  await press(view.area(), "Escape");
  document.removeEventListener("keydown", seen);
  expect(seen).not.toHaveBeenCalled();
  expect(view.area().value).toBe("half a thought");
  const [offer] = toasts.value;
  await after(() => offer!.action!.run());
  expect([view.area().value, view.all(".th-editing").length]).toEqual(["one, but better", 1]);
  await type(view.area(), "one");
  toasts.value = [];
  await press(view.area(), "Escape");
  expect(toasts.value, "nothing was changed").toEqual([]);
});

test("another message that is edited leaves the text and the files of the first one to be brought back", async () => {
  const view = shown();
  const undo = () => after(() => toasts.value.at(-1)!.action!.run());
  await after(() => editMessage("t", turns[1]!));
  await type(view.area(), "two, but better");
  await after(() => view.button("Remove image").click());
  await after(() => editMessage("t", turns[1]!));
  expect([view.area().value, view.all(".th-attached-file").length, toasts.value.length], "the same one").toEqual(["two, but better", 0, 0]);
  await after(() => editMessage("t", turns[0]!));
  expect([editedTurn("t"), view.area().value]).toEqual(["turn_1", "one"]);
  await undo();
  expect([editedTurn("t"), view.area().value, view.all(".th-attached-file").length]).toEqual(["turn_2", "two, but better", 0]);
  // The other one had no changes.
  expect(toasts.value).toHaveLength(1);
});

test("an edited message whose files have changed can be brought back with them", async () => {
  const view = shown();
  await after(() => editMessage("t", turns[1]!));
  await after(() => view.button("Remove image").click());
  await press(view.area(), "Escape");
  await after(() => toasts.value[0]!.action!.run());
  expect([view.area().value, view.all(".th-attached-file").length]).toEqual(["two", 0]);
  await after(() => attachAgain(editDraft("t"), [PICTURE], true));
  await press(view.area(), "Escape");
  await after(() => toasts.value[1]!.action!.run());
  expect([view.area().value, view.all(".th-attached-file").length]).toEqual(["two", 1]);
});

test("one Escape too many after the agent was stopped does not discard the edited text", async () => {
  const interrupt = vi.fn(async () => {});
  client.value = { on: () => () => {}, onState: () => () => {}, state: { name: "open" }, call: async () => ({}) } as unknown as Client;
  open.value = { threadId: "t", shown: { peek: () => ({ thread: { head: { turnId: "turn_3" } } }) }, interrupt } as unknown as OpenThread;
  // In the past, so that it is over for the other tests.
  const stopped = performance.now() - 60_000;
  const now = vi.spyOn(performance, "now").mockReturnValue(stopped);
  listenForShortcuts();
  const view = shown({}, { turnId: "turn_3" });
  await after(() => editMessage("t", turns[0]!));
  for (const _ of ["first", "second"]) await press(document.body, "Escape");
  expect(interrupt).toHaveBeenCalledOnce();
  await press(view.area(), "Escape");
  expect(view.all(".th-editing")).toHaveLength(1);
  now.mockReturnValue(stopped + 2_000);
  await press(view.area(), "Escape");
  expect(view.all(".th-editing")).toEqual([]);
  now.mockRestore();
  open.value = undefined;
  client.value = undefined;
});

test("while a turn runs or waits it is not sent, and the sentence says what to do", async () => {
  const running = shown({}, { turnId: "turn_3" });
  await after(() => editMessage("t", turns[0]!));
  expect(running.text()).toContain("Stop it to send this.");
  await press(running.area(), "Enter");
  await press(running.area(), "Enter", { altKey: true });
  expect([running.acts.sendInstead.mock.calls, running.acts.send.mock.calls]).toEqual([[], []]);
  expect(running.button("Stop").disabled).toBe(false);
  expect(running.button("Resend").disabled).toBe(true);
});

test("it moves to a fork with what was written, and this thread keeps its draft", async () => {
  const view = shown({}, { turnId: "turn_3" });
  await after(() => editMessage("t", turns[1]!));
  await type(view.area(), "two elsewhere");
  await after(() => view.button("Edit in a fork").click());
  expect(view.acts.forkBefore.mock.calls[0]![0]).toBe("turn_2");
  expect([draftOf("fork"), view.area().value, view.all(".th-editing").length]).toEqual(["two elsewhere", "", 0]);
  await after(() => editMessage("t", turns[0]!));
  expect(view.text(), "nothing is before the first message").not.toContain("Edit in a fork");
});

test("a file that is stored for this thread stays behind when the message moves to a fork, which says so", async () => {
  const sent = turn(2, "two", [PICTURE, STORED]);
  const view = shown({ threadId: THREAD, turns: [turns[0]!, sent] });
  await after(() => editMessage(THREAD, sent));
  expect(view.all(".th-attached-file")).toHaveLength(2);
  await after(() => view.button("Edit in a fork").click());
  const fork = shown({ threadId: "fork" });
  expect(fork.all(".th-attached-file")).toHaveLength(1);
  expect(fork.one(".th-warning").textContent).toBe("Couldn’t take big one.pdf along: it is stored for another thread. Attach it again.");
  await press(fork.area(), "Enter");
  expect(fork.acts.send.mock.calls).toEqual([["two", [PICTURE], "queue"]]);
});

test("in a fork, a message from before it is edited, and given back, with the file of the thread before", async () => {
  const sent = turn(2, "two", [STORED, PICTURE]);
  const view = shown({ turns: [turns[0]!, sent] });
  await after(() => editMessage("t", sent));
  expect(view.all(".th-attached-file")).toHaveLength(2);
  await press(view.area(), "Enter");
  expect(view.acts.sendInstead.mock.calls).toEqual([["turn_2", "two", [STORED, PICTURE]]]);
  await after(() => giveBack("t", sent));
  expect(view.all(".th-attached-file")).toHaveLength(2);
  await after(() => giveBack("t", sent));
  await after(() => toasts.value[0]!.action!.run());
  expect(view.all(".th-attached-file")).toHaveLength(4);
  expect(view.one(".th-composer-said").textContent).toBe("");
});

test("a message whose turn was removed meanwhile is sent as a new one", async () => {
  const view = shown();
  await after(() => editMessage("t", turns[2]!));
  view.draw({ turns: turns.slice(0, 2) });
  expect(view.text()).toContain("Sending adds a new message.");
  await press(view.area(), "Enter");
  expect(view.acts.send.mock.calls).toEqual([["three", [], "queue"]]);
  expect(view.acts.sendInstead).not.toHaveBeenCalled();
});

test("a message whose turn is not loaded is sent only once it is, with its attachments and those added meanwhile", async () => {
  beginEdit("t", "turn_2", "two, but better");
  const view = shown({ turns: turns.slice(2), older: "c" });
  expect(view.acts.loadTurn, "a forgotten edit loads nothing").not.toHaveBeenCalled();
  expect(view.text()).toContain("Load the earlier message to send this.");
  await after(() => view.button("Load it").click());
  expect(view.acts.loadTurn.mock.calls).toEqual([["turn_2"]]);
  expect(view.text()).toContain("Loading the earlier message…");
  expect(view.text()).not.toContain("Load it");
  expect(view.one(".th-editing").textContent).toContain("everything after it");
  expect(view.text(), "its files would be missing there").not.toContain("Edit in a fork");
  await after(() => attachAgain(editDraft("t"), [{ ...PICTURE, data: "AAAA" }], true));
  await press(view.area(), "Enter");
  expect(view.acts.sendInstead).not.toHaveBeenCalled();
  view.draw({ turns });
  expect(view.text()).not.toContain("Loading");
  await press(view.area(), "Enter");
  expect(view.acts.sendInstead.mock.calls).toEqual([["turn_2", "two, but better", [{ ...PICTURE, data: "AAAA" }, PICTURE]]]);
});

test("the text of a message whose turn is not loaded can be brought back", async () => {
  beginEdit("t", "turn_2", "two, but better");
  const view = shown({ turns: turns.slice(2), older: "c" });
  await press(view.area(), "Escape");
  expect(editedTurn("t")).toBeUndefined();
  await after(() => toasts.value[0]!.action!.run());
  expect([editedTurn("t"), view.area().value]).toEqual(["turn_2", "two, but better"]);
  view.draw({ turns });
  expect(view.all(".th-attached-file")).toHaveLength(1);
});

test("a message whose turn cannot be loaded is not sent, and says why", async () => {
  const refuse = async () => {
    throw new Error("too many requests");
  };
  beginEdit("t", "turn_2", "two, but better");
  const view = shown({ turns: turns.slice(2), older: "c" }, {}, { loadTurn: refuse });
  await after(() => view.button("Load it").click());
  expect(view.text()).toContain("The earlier message is not loaded. (too many requests)");
  expect(view.button("Load it").disabled, "it can be tried again").toBe(false);
  expect(view.button("Resend").disabled).toBe(true);
  view.draw({ turns });
  expect([view.text().includes("not loaded"), view.button("Resend").disabled]).toEqual([false, false]);
});

test("attachments are attached again once, and stay removed", async () => {
  const view = shown();
  await after(() => editMessage("t", turns[1]!));
  await after(() => view.button("Remove image").click());
  await after(() => attachOnce("t", turns[1]!));
  expect(view.all(".th-attached-file")).toEqual([]);
});

test("signing out leaves no attachments, and those of an edited message come back after the next sign-in", async () => {
  const view = shown();
  await after(() => editMessage("t", turns[1]!));
  expect(view.all(".th-attached-file")).toHaveLength(1);
  keepDraft("t", "half a thought");
  giveBack("t", turns[2]!);
  expect(toasts.value).toHaveLength(1);
  vi.stubGlobal("fetch", () => Promise.reject(new Error("offline")));
  await after(() => leave());
  vi.unstubAllGlobals();
  expect([view.all(".th-attached-file"), toasts.value]).toEqual([[], []]);
  await after(() => attachOnce("t", turns[1]!));
  expect(view.all(".th-attached-file")).toHaveLength(1);
});

test("a rewind gives the prompt back, or offers it where there is a draft", async () => {
  const view = shown();
  await after(() => giveBack("t", turns[1]!));
  expect([view.area().value, view.all(".th-attached-file").length, toasts.value.length]).toEqual(["two", 1, 0]);
  await after(() => giveBack("t", turns[2]!));
  expect(view.area().value).toBe("two");
  await after(() => toasts.value[0]!.action!.run());
  expect([view.area().value, view.all(".th-attached-file").length]).toEqual(["two\n\nthree", 1]);
});
