// @vitest-environment jsdom
import type { Item, Thread } from "@acpd/client";
import { beforeAll, expect, test } from "vitest";

import type { ThreadActions } from "../../state/actions.ts";
import { layOut } from "../../state/rows.ts";
import type { FoldedTurn, ThreadState } from "../../state/thread.ts";
import { after, drawn } from "../testing.ts";
import { Conversation } from "./Conversation.tsx";

/** Height of the list's window, in pixels. The DOM of the tests has no layout. */
const HEIGHT = 800;
const ROW = 34;

beforeAll(() => {
  const isScroller = (element: Element) => element.classList.contains("virtual-scroller");
  const content = (element: Element) => Math.max(HEIGHT, Number.parseFloat((element.firstElementChild as HTMLElement | null)?.style.height ?? "0"));
  const define = (on: object, name: string, of: (element: Element) => number) =>
    Object.defineProperty(on, name, { configurable: true, get: function (this: Element) { return of(this); } });
  define(HTMLElement.prototype, "offsetHeight", (element) => (isScroller(element) ? HEIGHT : ROW));
  define(HTMLElement.prototype, "offsetWidth", () => HEIGHT);
  define(Element.prototype, "clientHeight", (element) => (isScroller(element) ? HEIGHT : ROW));
  define(Element.prototype, "scrollHeight", (element) => (isScroller(element) ? content(element) : ROW));
  Element.prototype.scrollTo = function (this: Element, to?: ScrollToOptions | number) {
    this.scrollTop = Math.max(0, Math.min(typeof to === "object" ? (to.top ?? 0) : 0, this.scrollHeight - this.clientHeight));
    this.dispatchEvent(new Event("scroll"));
  } as typeof Element.prototype.scrollTo;
  globalThis.ResizeObserver ??= class {
    observe() {}
    unobserve() {}
    disconnect() {}
  };
});

/** Returns the elements that can be reached from the nodes of a rendered tree and are in no page. */
function detached(place: HTMLElement): Element[] {
  const seen = new Set<unknown>();
  const found = new Set<Element>();
  const open: unknown[] = Object.values(place).filter((value) => typeof value === "object");
  for (let next = open.pop(); open.length > 0 || next !== undefined; next = open.pop()) {
    if (typeof next !== "object" || next === null || seen.has(next)) continue;
    seen.add(next);
    if (next instanceof Node) {
      if (next instanceof Element && !next.isConnected) found.add(next);
    } else if (next instanceof Map || next instanceof Set) {
      open.push(...next.values());
    } else {
      // What development builds add for messages is not in the page that is served.
      for (const [name, value] of Object.entries(next)) if (name !== "__self" && name !== "__source") open.push(value);
    }
  }
  return [...found];
}

test("rows that have left the page are not kept, however many turns end in it", async () => {
  const head = { id: "t", agentType: "fake", cwd: "/w", status: "running" } as unknown as Thread;
  const actions = { readDiff: async () => "", loadOlder: async () => {} } as unknown as ThreadActions;
  const rowsOf = layOut();
  let turns: readonly FoldedTurn[] = [];
  const node = () => {
    const thread = { threadId: "t", seq: 1, head, turns, questions: [], decisions: [], answers: [], notices: [], steering: [], others: [], lanes: {} } as unknown as ThreadState;
    return <Conversation thread={thread} rows={rowsOf(thread)} actions={actions} role="owner" online />;
  };
  const view = drawn(node());
  const WORK = [
    { type: "userMessage", text: "Do it" },
    { type: "agentThought", text: "How?" },
    { type: "toolCall", kind: "read", title: "Read a.rs", toolCall: {} },
    { type: "agentMessage", text: "I look\n\n- at `a`\n\n```js\nlet x;\n```\n" },
    { type: "toolCall", kind: "edit", title: "Edit a.rs", toolCall: { content: [{ type: "diff", path: "/w/a.rs", oldText: "a\n", newText: "b\n" }] } },
    { type: "agentMessage", text: "Done.\n\nIt has `code`.\n\nAnd more." },
  ];
  const counts: number[] = [];
  for (let n = 0; n < 12; n++) {
    const before = turns;
    const items: Item[] = [];
    const turn = { key: `turn_${n}`, id: `turn_${n}`, status: "running", startedAt: 1 };
    const draw = (more: object = {}) => {
      turns = [...before, { ...turn, items: [...items], ...more } as FoldedTurn];
      return after(() => view.draw(node()));
    };
    for (const [at, one] of WORK.entries()) {
      const item = { ...one, itemId: `${turn.id}-${at}` };
      // A message arrives in pieces: its finished blocks are not rendered again.
      const { text: whole } = one;
      for (const text of whole === undefined ? [undefined] : [whole.slice(0, 5), whole.slice(0, -5), whole]) {
        items[at] = { ...item, text, status: "in_progress" } as unknown as Item;
        await draw();
      }
      items[at] = { ...item, status: "completed", outcome: "completed" } as unknown as Item;
      await draw();
    }
    await draw({ status: "completed", completedAt: 5, changes: { files: 1, added: 1, removed: 1 } });
    counts.push(detached(view.place).length);
  }
  expect(view.all(".virtual-line").length).toBeGreaterThan(20);
  expect(counts.at(-1), `elements after each turn: ${counts.join(" ")}`).toBeLessThanOrEqual(counts[0]!);
});

test("a conversation opens at its end, and that of a reader at its beginning, until the reader scrolls", async () => {
  const head = { id: "t", agentType: "fake", cwd: "/w", status: "idle" } as unknown as Thread;
  const actions = { readDiff: async () => "", loadOlder: async () => {} } as unknown as ThreadActions;
  const turnsFrom = (first: number) =>
    Array.from({ length: 60 }, (_, at) => first + at).map((n) => ({
      key: `turn_${n}`,
      id: `turn_${n}`,
      status: "completed",
      startedAt: 1,
      completedAt: 2,
      items: [{ itemId: `i${n}`, type: "userMessage", text: `Prompt ${n}`, status: "completed" } as unknown as Item],
    })) as unknown as FoldedTurn[];
  const node = (threadId: string, turns: FoldedTurn[], more: { fromStart?: boolean; older?: object }) => {
    const { fromStart, older } = more;
    const thread = { threadId, seq: 1, head, turns, older, questions: [], decisions: [], answers: [], notices: [], steering: [], others: [], lanes: {} } as unknown as ThreadState;
    return <Conversation thread={thread} rows={layOut()(thread)} actions={actions} role="observer" online fromStart={fromStart} />;
  };
  const top = (view: ReturnType<typeof drawn>) => view.one(".virtual-scroller").scrollTop;
  const usual = drawn(node("usual", turnsFrom(0), {}));
  await after(() => {});
  expect(top(usual)).toBeGreaterThan(HEIGHT);
  const reader = drawn(node("read", turnsFrom(60), { fromStart: true, older: { cursor: "x" } }));
  await after(() => {});
  expect(top(reader)).toBe(0);
  // Earlier turns arrive above: the reader sees these.
  await after(() => reader.draw(node("read", [...turnsFrom(0), ...turnsFrom(60)], { fromStart: true })));
  await after(() => {});
  expect(top(reader)).toBe(0);
  expect(reader.text()).toContain("Prompt 0");
});
