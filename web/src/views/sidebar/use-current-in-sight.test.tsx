// @vitest-environment jsdom
import { useRef } from "preact/hooks";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { drawn } from "../testing.ts";
import { useCurrentInSight } from "./use-current-in-sight.ts";

const ROW = 50;
const HEIGHT = 200;

function List({ rows, current }: { rows: readonly string[]; current?: string | undefined }) {
  const list = useRef<HTMLDivElement>(null);
  useCurrentInSight(list, current);
  return (
    <div class="side-list">
      <div ref={list}>
        {rows.map((id) => (
          <div key={id} data-thread={id} />
        ))}
      </div>
    </div>
  );
}

const rows = (count: number) => Array.from({ length: count }, (_, at) => `thread ${at}`);
const scroller = () => document.querySelector<HTMLElement>(".side-list")!;
let now = 1_000;

beforeEach(() => {
  vi.spyOn(performance, "now").mockImplementation(() => now);
  // There is no layout here: a row is where its index and the scrolling put it, in a list below a head of 40 pixels.
  vi.spyOn(HTMLElement.prototype, "getBoundingClientRect").mockImplementation(function (this: HTMLElement) {
    const at = [...document.querySelectorAll("[data-thread]")].indexOf(this);
    const [top, height] = at < 0 ? [40, HEIGHT] : [40 + at * ROW - scroller().scrollTop, ROW];
    return { top, height, bottom: top + height } as DOMRect;
  });
});
afterEach(() => void vi.restoreAllMocks());

test("the row of a thread that is opened comes into sight, from below and from above", () => {
  const view = drawn(<List rows={rows(20)} />);
  expect(scroller().scrollTop, "no thread is open").toBe(0);
  view.draw(<List rows={rows(20)} current="thread 10" />);
  expect(scroller().scrollTop, "at the lower edge, with some distance").toBe(11 * ROW - HEIGHT + 8);
  view.draw(<List rows={rows(20)} current="thread 9" />);
  expect(scroller().scrollTop, "it is in sight already").toBe(11 * ROW - HEIGHT + 8);
  view.draw(<List rows={rows(20)} current="thread 2" />);
  expect(scroller().scrollTop, "at the upper edge").toBe(2 * ROW - 8);
});

test("a row that appears late, and then moves to another group, is followed for a while", () => {
  const view = drawn(<List rows={rows(10)} current="new" />);
  expect(scroller().scrollTop).toBe(0);
  now += 4_000;
  view.draw(<List rows={[...rows(10), "new"]} current="new" />);
  expect(scroller().scrollTop).toBe(11 * ROW - HEIGHT + 8);
  view.draw(<List rows={["new", ...rows(10)]} current="new" />);
  expect(scroller().scrollTop).toBe(-8);
  now += 2_000;
  view.draw(<List rows={[...rows(10), "new"]} current="new" />);
  expect(scroller().scrollTop, "too late").toBe(-8);
});

test.each(["wheel", "touchstart", "pointerdown", "keydown"])("after a %s, the list stays where the user wants it, until another thread is opened", (type) => {
  const view = drawn(<List rows={rows(20)} current="thread 10" />);
  scroller().dispatchEvent(new Event(type, { bubbles: true }));
  scroller().scrollTop = 0;
  view.draw(<List rows={rows(20)} current="thread 10" />);
  expect(scroller().scrollTop).toBe(0);
  view.draw(<List rows={rows(20)} current="thread 19" />);
  expect(scroller().scrollTop).toBe(20 * ROW - HEIGHT + 8);
});
