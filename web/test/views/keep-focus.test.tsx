// @vitest-environment jsdom
import { useRef } from "preact/hooks";
import { beforeEach, expect, test } from "vitest";

import type { Listed, Section } from "../../src/state/threads.ts";
import { heir, useKeptFocus } from "../../src/views/sidebar/keep-focus.ts";
import { drawn } from "../../src/views/testing.ts";

function List({ sections }: { sections: readonly Section[] }) {
  const list = useRef<HTMLDivElement>(null);
  useKeptFocus(list, sections);
  return (
    <div class="side-list" ref={list}>
      {sections.map(({ key, threads }) => (
        <ul key={key}>
          {threads.map(({ id }) => (
            <li key={id} data-thread={id}>
              <a data-rove href="/">
                {id}
              </a>
              <button type="button">Menu of {id}</button>
            </li>
          ))}
        </ul>
      ))}
    </div>
  );
}

const section = (key: string, ...ids: string[]): Section => ({ key, title: key, threads: ids.map((id) => ({ id }) as Listed) });
const focused = () => document.activeElement?.textContent;

beforeEach(() => {
  (document.activeElement as HTMLElement | null)?.blur();
});

test("a row that moves to another section keeps the focus", () => {
  const view = drawn(<List sections={[section("Today", "a", "b", "c")]} />);
  view.one("[data-thread=b] a").focus();
  view.draw(<List sections={[section("Running", "b"), section("Today", "a", "c")]} />);
  expect(focused()).toBe("b");
});

test("when the row leaves, such as by its own menu, the next one has the focus, or the last one before", () => {
  const view = drawn(<List sections={[section("Today", "a", "b", "c")]} />);
  view.one("[data-thread=b] button").focus();
  view.draw(<List sections={[section("Today", "a", "c")]} />);
  expect(focused()).toBe("c");
  view.draw(<List sections={[section("Today", "a")]} />);
  expect(focused()).toBe("a");
  view.draw(<List sections={[]} />);
  expect(document.activeElement).toBe(document.body);
});

test("a focus elsewhere stays where it is", () => {
  const view = drawn(<List sections={[section("Today", "a", "b")]} />);
  const field = document.createElement("input");
  document.body.append(field);
  field.focus();
  view.draw(<List sections={[section("Running", "a"), section("Today", "b")]} />);
  expect(document.activeElement).toBe(field);
  field.remove();
  view.draw(<List sections={[section("Running", "b")]} />);
  expect(document.activeElement).toBe(document.body);
});

test("the heir of a row is the row itself, the next one, or the one before", () => {
  const order = ["a", "b", "c", "d"];
  expect(heir(order, ["d", "b"], "b")).toBe("b");
  expect(heir(order, ["a", "d"], "b")).toBe("d");
  expect(heir(order, ["a", "b"], "d")).toBe("b");
  expect(heir(order, [], "b")).toBeUndefined();
  expect(heir([], ["a"], "b")).toBeUndefined();
});
