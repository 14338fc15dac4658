// @vitest-environment jsdom
import { beforeAll, beforeEach, expect, test } from "vitest";

import { drawer } from "../../src/app/layout.ts";
import { listenForShortcuts } from "../../src/app/shortcuts.ts";

beforeAll(listenForShortcuts);
beforeEach(() => {
  drawer.value = true;
  document.body.innerHTML = '<aside><button id="row"></button></aside><dialog open><button id="inside"></button></dialog>';
});

const escape = (id: string) =>
  document.getElementById(id)!.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true, cancelable: true }));

test("Escape closes the drawer", () => {
  escape("row");
  expect(drawer.value).toBe(false);
});

test("Escape in a dialog over the drawer leaves the drawer open", () => {
  escape("inside");
  expect(drawer.value).toBe(true);
});
