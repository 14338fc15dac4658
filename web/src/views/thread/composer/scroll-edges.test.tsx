// @vitest-environment jsdom
import { expect, test, vi } from "vitest";

import { after, drawn } from "../../testing.ts";
import { useScrollEdges } from "./scroll-edges.ts";

const observed = new Set<Element>();
vi.stubGlobal("ResizeObserver", class {
  observe(element: Element) {
    observed.add(element);
  }
  disconnect() {
    observed.clear();
  }
});

function Row({ options }: { options: readonly string[] }) {
  return (
    <div class="row" ref={useScrollEdges()}>
      <button type="button">Attach</button>
      <div class="th-options">
        {options.map((name) => (
          <button key={name} type="button">
            {name}
          </button>
        ))}
      </div>
    </div>
  );
}

test("options that arrive later count, and the row stays at its start until the user moves in it", async () => {
  const view = drawn(<Row options={[]} />);
  const row = view.one(".row");
  expect(row.dataset.more).toBe("");
  Object.defineProperties(row, { scrollWidth: { value: 600 }, clientWidth: { value: 300 } });
  row.scrollLeft = 40;
  view.draw(<Row options={["Mode", "Model"]} />);
  await after(async () => {});
  expect([row.scrollLeft, row.dataset.more]).toEqual([0, "end"]);
  expect([...observed].map((element) => element.textContent)).toEqual(expect.arrayContaining(["Attach", "Mode", "Model"]));
  row.dispatchEvent(new Event("pointerdown"));
  row.scrollLeft = 40;
  row.dispatchEvent(new Event("scroll"));
  expect(row.dataset.more).toBe("both");
  view.draw(<Row options={["Mode", "Model", "Effort"]} />);
  await after(async () => {});
  expect(row.scrollLeft).toBe(40);
  row.scrollLeft = 300;
  row.dispatchEvent(new Event("scroll"));
  expect(row.dataset.more).toBe("start");
});
