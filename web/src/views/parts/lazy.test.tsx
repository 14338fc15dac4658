import { render } from "preact";
import { act } from "preact/test-utils";
import { expect, test, vi } from "vitest";

import { drawn } from "../testing.ts";
import { lazy } from "./lazy.tsx";

function View() {
  return <p>here</p>;
}

test("a view appears when its code has loaded", async () => {
  const Lazy = lazy<object>(async () => ({ default: View }));
  const view = drawn(<Lazy />);
  expect(view.text()).toBe("");
  await vi.waitFor(() => act(() => expect(view.text()).toBe("here")));
});

test("a view whose code arrives between its rendering and its effects appears as well", async () => {
  let arrive!: (loaded: { default: typeof View }) => void;
  const Lazy = lazy<object>(() => new Promise((resolve) => (arrive = resolve)));
  Lazy.preload();
  const place = document.createElement("div");
  // Effects run after the next frame; microtasks before it.
  render(<Lazy />, place);
  arrive({ default: View });
  await Promise.resolve();
  await vi.waitFor(() => expect(place.textContent).toBe("here"));
});
