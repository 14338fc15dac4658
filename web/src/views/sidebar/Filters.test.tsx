// @vitest-environment jsdom
import { expect, test, vi } from "vitest";

import { after, drawn, press } from "../testing.ts";
import { FilterButton, Filters } from "./Filters.tsx";

test("Escape closes the filters, and gives the focus back to their button", async () => {
  const view = drawn(
    <>
      <FilterButton />
      <Filters />
    </>,
  );
  await after(() => view.button("Filter").click());
  await vi.waitFor(() => expect(view.all("select")).not.toEqual([]));
  await press(view.one("select"), "Escape");
  expect(view.all("select")).toEqual([]);
  expect(document.activeElement).toBe(view.button("Filter"));
});
