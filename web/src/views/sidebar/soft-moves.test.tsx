// @vitest-environment jsdom
import { useRef } from "preact/hooks";
import { beforeEach, expect, test, vi } from "vitest";

import type { Listed, Section } from "../../state/threads.ts";
import { drawn } from "../testing.ts";
import { useSoftMoves } from "./soft-moves.ts";

const animate = vi.fn();

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
  // The tests' DOM has no layout: each row is 50 px high.
  HTMLElement.prototype.getBoundingClientRect = function () {
    return { top: 50 * [...document.querySelectorAll("[data-thread]")].indexOf(this) } as DOMRect;
  };
  HTMLElement.prototype.animate = function (this: HTMLElement, frames: Keyframe[]) {
    animate(this.dataset.thread, frames[0]!.transform);
  } as unknown as HTMLElement["animate"];
});

test("a row slides into its new section; rows that make room, and new rows, do not", () => {
  const view = drawn(<List sections={[section("Today", "a", "b")]} />);
  expect(animate).not.toHaveBeenCalled();
  view.draw(<List sections={[section("Running", "b"), section("Today", "new", "a")]} />);
  expect(animate.mock.calls).toEqual([["b", "translateY(50px)"]]);
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
