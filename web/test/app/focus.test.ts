import { afterEach, expect, test, vi } from "vitest";

import { focusWhenThere } from "../../src/app/focus.ts";

afterEach(() => document.body.replaceChildren());

function field(): HTMLInputElement {
  const made = document.createElement("input");
  made.id = "search";
  return made;
}

test("an element that is there has the focus at once, before the user's next key", () => {
  document.body.append(field());
  focusWhenThere("#search");
  expect(document.activeElement?.id).toBe("search");
});

test("one that appears later has it then, unless the user goes on meanwhile", async () => {
  focusWhenThere("#search");
  await new Promise((frame) => requestAnimationFrame(frame));
  document.body.append(field());
  await vi.waitFor(() => expect(document.activeElement?.id).toBe("search"));
});
