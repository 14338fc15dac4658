// @vitest-environment jsdom
import type { Client, ListChanged, ThreadSummary } from "@acpd/client";
import { useRef } from "preact/hooks";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { work } from "../../src/app/selected-threads.ts";
import { selection } from "../../src/app/selection.ts";
import { toasts } from "../../src/app/toasts.ts";
import { client, leave, link, standing } from "../../src/connection/connection.ts";
import { after, drawn, press } from "../../src/views/testing.ts";
import Selecting from "../../src/views/sidebar/Selecting.tsx";
import { query } from "../../src/views/sidebar/SearchField.tsx";
import { ThreadSections } from "../../src/views/sidebar/ThreadSections.tsx";

HTMLDialogElement.prototype.showModal = function () {
  this.setAttribute("open", "");
};
HTMLDialogElement.prototype.close = function () {
  this.removeAttribute("open");
};
HTMLElement.prototype.scrollIntoView = () => {};
vi.stubGlobal("ResizeObserver", class {
  observe() {}
  disconnect() {}
});

const thread = (id: string, more: Partial<ThreadSummary> = {}) =>
  ({ id, name: `Thread ${id}`, agentType: "fake", cwd: "/w", status: "idle", updatedAt: 1000 - id.charCodeAt(0), turnCount: 1, ...more }) as ThreadSummary;

const refused = new Map<string, string>();
let asked: string[] = [];
/** What the answers of the daemon wait for. */
let held: Promise<void> | undefined;
let changed: (change: ListChanged) => void = () => {};
let data: ThreadSummary[] = [];

beforeEach(() => {
  refused.clear();
  held = undefined;
  asked = [];
  data = ["a", "b", "c", "d"].map((id) => thread(id));
});
afterEach(() => {
  client.value = undefined;
  toasts.value = [];
  selection.value = new Set();
  query.value = "";
});

function List() {
  const list = useRef<HTMLElement>(null);
  return (
    <>
      <nav class="side-list" ref={list}>
        <ThreadSections />
      </nav>
      <Selecting list={list} />
    </>
  );
}

/** A daemon with threads, and the list of them. */
async function view(role: "observer" | "operator" | "owner" = "owner") {
  const call = async (method: string, params: Record<string, unknown> = {}) => {
    const { threadId } = params as { threadId?: string };
    if (method === "thread/list") {
      return { data: params.status === "active" || params.pinned === true ? [] : data };
    }
    if (threadId === undefined) {
      return { since: 0 };
    }
    asked.push(`${method} ${threadId}${"pinned" in params ? ` ${String(params.pinned)}` : ""}`);
    await held;
    if (refused.has(threadId)) {
      throw new Error(refused.get(threadId));
    }
    if (method === "thread/archive" || method === "thread/delete") {
      changed({ threadId, thread: null } as unknown as ListChanged);
    }
    return {};
  };
  const on = (method: string, listener: (params: ListChanged) => void) => {
    if (method === "thread/list/changed") {
      changed = listener;
    }
    return () => {};
  };
  link.value = { name: "open" } as typeof link.value;
  standing.value = { name: "in", session: { principal: "ann", role } };
  client.value = { call, on, close: () => {}, onState: () => () => {}, state: { name: "open" } } as unknown as Client;
  const shown = drawn(<List />);
  await vi.waitFor(() => expect(shown.all(".row")).toHaveLength(data.length));
  const row = (id: string) => shown.one(`[data-thread=${id}] .row-link`);
  const toggle = (...ids: string[]) =>
    after(() => ids.forEach((id) => row(id).dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, ctrlKey: true }))));
  const act = async (name: string) => {
    await after(() => shown.button(name).click());
  };
  return { ...shown, row, toggle, act };
}

const texts = () => toasts.value.map(({ text }) => text);

test("the bar counts what is selected, and the rows say it", async () => {
  const list = await view();
  expect(list.all(".select-bar")).toEqual([]);
  await list.toggle("a", "c");
  expect(list.one(".select-count").textContent).toBe("2 selected");
  expect(list.all(".row.is-selected").map(({ dataset }) => dataset.thread)).toEqual(["a", "c"]);
  expect(list.row("a").querySelector("[role=img]")?.getAttribute("aria-label")).toBe("selected");
  await list.act("Clear the selection");
  expect(list.all(".select-bar, .row.is-selected")).toEqual([]);
});

test("threads are archived in the order of the list, and Undo brings them back", async () => {
  const list = await view();
  await list.toggle("c", "a");
  await list.act("Archive 2 threads");
  await vi.waitFor(() => expect(texts()).toEqual(["Archived 2 threads"]));
  expect(asked).toEqual(["thread/archive a", "thread/archive c"]);
  expect(selection.value.size).toBe(0);
  await vi.waitFor(() => expect(document.activeElement).toBe(list.row("b")));
  await after(() => toasts.value[0]!.action!.run());
  await vi.waitFor(() => expect(asked.slice(2)).toEqual(["thread/unarchive a", "thread/unarchive c"]));
});

test("those that an action fails for are named, and stay selected", async () => {
  refused.set("b", "a turn runs");
  const list = await view();
  await list.toggle("a", "b");
  list.button("Archive 2 threads").focus();
  await list.act("Archive 2 threads");
  await vi.waitFor(() => expect(list.one(".select-failures").textContent).toBe("Couldn’t archive 1 thread:Thread b: a turn runs"));
  expect(texts()).toEqual(["Archived “Thread a”"]);
  expect([...selection.value]).toEqual(["b"]);
  expect(list.one(".select-bar").contains(document.activeElement)).toBe(true);
  await press(list.one(".select-bar"), "Escape");
  expect(list.all(".select-bar")).toEqual([]);
});

test("deleting asks once, with the number and the names", async () => {
  const list = await view();
  await list.toggle("a", "b", "d");
  await list.act("Delete 3 threads");
  expect(list.one("dialog h2").textContent).toBe("Delete 3 threads?");
  expect(list.all(".select-names li").map(({ textContent }) => textContent)).toEqual(["Thread a", "Thread b", "Thread d"]);
  await list.act("Cancel");
  expect([list.all("dialog"), asked]).toEqual([[], []]);
  await list.act("Delete 3 threads");
  await after(() => list.one("dialog .danger").click());
  await vi.waitFor(() => expect(texts()).toEqual(["Deleted 3 threads"]));
  expect(asked).toEqual(["thread/delete a", "thread/delete b", "thread/delete d"]);
});

test("the question about many threads stays short, and says which do not go", async () => {
  data = Array.from({ length: 30 }, (_, n) => thread(`m${n}`, { updatedAt: 1000 - n, name: "x".repeat(5_000), status: n < 2 ? "running" : "idle" }));
  const list = await view();
  await after(() => (selection.value = new Set(data.map(({ id }) => id))));
  await list.act("Delete 30 threads");
  expect(list.all(".select-names li")).toHaveLength(9);
  expect(list.one(".select-names").lastElementChild!.textContent).toBe("and 22 more");
  expect(list.one("dialog .hint").textContent).toContain("2 threads are at work");
});

test("pinning pins all; if all are pinned, it removes the pins", async () => {
  data = [thread("a", { pinned: true }), thread("b")];
  const list = await view();
  await list.toggle("a", "b");
  await list.act("Pin 2 threads");
  await vi.waitFor(() => expect(texts()).toEqual(["Pinned 2 threads"]));
  await list.toggle("a");
  await list.act("Unpin 1 thread");
  await vi.waitFor(() => expect(asked).toEqual(["thread/pin/set a true", "thread/pin/set b true", "thread/pin/set a false"]));
});

test("a role sees only what it may do", async () => {
  const labels = (list: { all(selector: string): HTMLElement[] }) => list.all(".select-acts button").map((button) => button.title);
  const observer = await view("observer");
  await observer.toggle("a");
  expect(labels(observer)).toEqual(["Mark as read", "Clear the selection (Esc)"]);
  const operator = await view("operator");
  await after(() => (selection.value = new Set(["a"])));
  expect(labels(operator)).toEqual(["Pin", "Mark as read", "Archive", "Clear the selection (Esc)"]);
});

test("without a connection nothing is sent", async () => {
  const list = await view();
  await list.toggle("a");
  await after(() => (link.value = { name: "waiting" } as typeof link.value));
  await list.act("Archive 1 thread");
  expect(list.button("Archive 1 thread").getAttribute("aria-disabled")).toBe("true");
  expect(asked).toEqual([]);
});

test("what leaves the list leaves the selection", async () => {
  const list = await view();
  await list.toggle("a", "b");
  await after(() => changed({ threadId: "a", thread: null } as unknown as ListChanged));
  await vi.waitFor(() => expect([...selection.value]).toEqual(["b"]));
});

/** Holds the daemon's answers. Returns what lets them go. */
function hold(): () => Promise<void> {
  let release = () => {};
  held = new Promise((over) => (release = over));
  return () => after(release);
}

test("the end of a long action leaves the focus to the user who writes elsewhere", async () => {
  const list = await view();
  const composer = document.body.appendChild(document.createElement("textarea"));
  const release = hold();
  await list.toggle("a");
  list.button("Archive 1 thread").focus();
  await list.act("Archive 1 thread");
  composer.focus();
  await release();
  await vi.waitFor(() => expect(texts()).toEqual(["Archived “Thread a”"]));
  await after(() => new Promise((next) => requestAnimationFrame(next)));
  expect(document.activeElement).toBe(composer);
  composer.remove();
});

test("a question about threads that are gone does not come back with the next ones", async () => {
  const list = await view();
  await list.toggle("a");
  await list.act("Delete 1 thread");
  expect(list.all("dialog")).toHaveLength(1);
  await after(() => changed({ threadId: "a", thread: null } as unknown as ListChanged));
  await vi.waitFor(() => expect(list.all(".select-bar, dialog")).toEqual([]));
  await list.toggle("b");
  expect([list.all(".select-bar").length, list.all("dialog")]).toEqual([1, []]);
});

test("an action can be stopped while the user searches, and what failed is said", async () => {
  const list = await view();
  const release = hold();
  refused.set("a", "a turn runs");
  await list.toggle("a", "b", "c");
  await list.act("Archive 3 threads");
  await after(() => (query.value = "x"));
  expect(list.one(".select-count").textContent).toBe("Archiving 0 of 3…");
  expect([...selection.value]).toEqual([]);
  await list.act("Stop");
  await release();
  await vi.waitFor(() => expect(texts()).toEqual(["Couldn’t archive “Thread a”: a turn runs"]));
  expect([asked, list.all(".select-bar")]).toEqual([["thread/archive a"], []]);
  // Nothing is selected among results.
  await list.toggle("d");
  expect(list.all(".select-bar")).toEqual([]);
});

test("an action ends when the user signs out, without a word to the next one", async () => {
  vi.stubGlobal("fetch", async () => new Response(null, { status: 204 }));
  const list = await view();
  const release = hold();
  await list.toggle("a", "b");
  await list.act("Archive 2 threads");
  await after(() => leave());
  await release();
  expect([work.value, asked, texts()]).toEqual([undefined, ["thread/archive a"], []]);
});
