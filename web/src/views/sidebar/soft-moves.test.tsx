// @vitest-environment jsdom
import { useRef } from "preact/hooks";
import { beforeEach, expect, test, vi } from "vitest";

import type { Listed, Section } from "../../state/threads.ts";
import { drawn } from "../testing.ts";
import { useSoftMoves } from "./soft-moves.ts";

const animate = vi.fn();
/** How much of each slide is done; `null` after it. */
let progress: number | null = null;

function List({ sections }: { sections: readonly Section[] }) {
  const list = useRef<HTMLDivElement>(null);
  useSoftMoves(list, sections);
  return (
    <div ref={list}>
      {sections.map(({ key, threads }) => (
        <section key={key}>
          {threads.map(({ id }) => (
            <p key={id} data-thread={id} />
          ))}
        </section>
      ))}
    </div>
  );
}

const section = (key: string, ...ids: string[]): Section => ({ key, title: key, threads: ids.map((id) => ({ id }) as Listed) });

beforeEach(() => {
  animate.mockReset();
  progress = null;
  // The tests' DOM has no layout: each row is 50 px high. A slide moves it.
  const starts = new Map<HTMLElement, number>();
  HTMLElement.prototype.getBoundingClientRect = function () {
    const offset = progress === null ? 0 : (starts.get(this) ?? 0) * (1 - progress);
    return { top: 50 * [...document.querySelectorAll<HTMLElement>("[data-thread]")].indexOf(this) + offset } as DOMRect;
  };
  HTMLElement.prototype.animate = function (this: HTMLElement, frames: Keyframe[]) {
    const { transform, opacity } = frames[0]!;
    animate(this.dataset.thread, transform ?? `opacity ${String(opacity)}`);
    if (transform === undefined) {
      return {};
    }
    starts.set(this, Number.parseFloat(String(frames[0]!.transform).slice("translateY(".length)));
    return { effect: { getComputedTiming: () => ({ progress }) } };
  } as unknown as HTMLElement["animate"];
});

test("a row slides into its new section, and a new thread's comes in; rows that make room do not move", () => {
  const view = drawn(<List sections={[section("Today", "a", "b")]} />);
  expect(animate).not.toHaveBeenCalled();
  view.draw(<List sections={[section("Running", "b"), section("Today", "new", "a")]} />);
  expect(animate.mock.calls).toEqual([["new", "opacity 0"], ["b", "translateY(50px)"]]);
});

test("the first list and another page of it do not come in", () => {
  const view = drawn(<List sections={[]} />);
  view.draw(<List sections={[section("Today", "a")]} />);
  view.draw(<List sections={[section("Today", "a"), section("Earlier", "b", "c", "d", "e")]} />);
  expect(animate).not.toHaveBeenCalled();
});

test("a user who wants less motion sees none", async () => {
  vi.resetModules();
  vi.stubGlobal("matchMedia", () => ({ matches: true, addEventListener: () => {} }));
  const calm = await import("./soft-moves.ts");
  function Calm({ sections }: { sections: readonly Section[] }) {
    const list = useRef<HTMLDivElement>(null);
    calm.useSoftMoves(list, sections);
    return <div ref={list}>{sections.flatMap(({ threads }) => threads.map(({ id }) => <p key={id} data-thread={id} />))}</div>;
  }
  const view = drawn(<Calm sections={[section("Today", "a", "b")]} />);
  view.draw(<Calm sections={[section("Running", "b"), section("Today", "new", "a")]} />);
  expect(animate).not.toHaveBeenCalled();
  vi.unstubAllGlobals();
});

test("a row is measured at its place while it slides there", () => {
  const lists = { first: [section("Today", "a", "b", "c", "d")], second: () => [section("Running", "d"), section("Today", "a", "b", "c")] };
  const view = drawn(<List sections={lists.first} />);
  view.draw(<List sections={lists.second()} />);
  expect(animate.mock.calls).toEqual([["d", "translateY(150px)"]]);
  // Two thirds of the way are left when the list changes otherwise.
  progress = 1 / 3;
  view.draw(<List sections={lists.second()} />);
  view.draw(<List sections={lists.first} />);
  expect(animate.mock.calls.slice(1)).toEqual([["d", "translateY(-150px)"]]);
});

test("another grouping, which moves all rows, is no slide", () => {
  const view = drawn(<List sections={[section("Today", "a", "b", "c", "d")]} />);
  view.draw(<List sections={[section("/one", "d", "b"), section("/two", "c", "a")]} />);
  expect(animate).not.toHaveBeenCalled();
});

test("in a hidden page nothing moves", () => {
  vi.spyOn(document, "hidden", "get").mockReturnValue(true);
  const view = drawn(<List sections={[section("Today", "a", "b")]} />);
  view.draw(<List sections={[section("Running", "b"), section("Today", "a")]} />);
  expect(animate).not.toHaveBeenCalled();
  vi.restoreAllMocks();
});
