import { afterEach, expect, test, vi } from "vitest";

import { focusWhenThere, showStarted } from "../../src/app/focus.ts";
import { touch } from "../../src/app/layout.ts";

vi.mock("../../src/app/route.ts", () => ({ go: () => {} }));

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

function pane(threadId: string): HTMLElement {
  const made = document.createElement("div");
  made.className = "pane";
  made.dataset.thread = threadId;
  made.innerHTML = '<textarea class="th-composer-area"></textarea>';
  return made;
}

test("a thread that was just started has the focus in its composer, and no other thread", async () => {
  showStarted("two");
  await new Promise((frame) => requestAnimationFrame(frame));
  document.body.append(pane("one"), pane("two"));
  await vi.waitFor(() => expect(document.activeElement?.closest<HTMLElement>(".pane")?.dataset.thread).toBe("two"));
});

test("on a touch device, a started thread opens no keyboard", async () => {
  touch.value = true;
  document.body.append(pane("three"));
  showStarted("three");
  await new Promise((frame) => requestAnimationFrame(frame));
  expect(document.activeElement).toBe(document.body);
  touch.value = false;
});
