// @vitest-environment jsdom
import { afterEach, expect, test } from "vitest";

import source from "../../app/shortcuts.ts?raw";
import { sendKey } from "../thread/content/settings.ts";
import { shortcuts } from "./shortcut-list.ts";

afterEach(() => {
  sendKey.value = "enter";
});

const keysOf = (title: string, send: "enter" | "modEnter") =>
  shortcuts(send).filter((group) => group.title === title).flatMap(({ shortcuts }) => shortcuts.flatMap(({ keys }) => keys));

test("every single key is listed", () => {
  const keys = [...source.matchAll(/^ {4}case "(.)":$/gm)].map(([, key]) => key);
  expect(keys.length).toBeGreaterThan(8);
  const listed = [...keysOf("Anywhere", "enter"), ...keysOf("In a thread", "enter")];
  expect(keys.filter((key) => !listed.includes(key!))).toEqual([]);
});

test("the keys of the message box are those of the user's settings", () => {
  expect(keysOf("In the message box", "enter")).toEqual(expect.arrayContaining(["Enter", "Shift Enter", "Alt Enter", "Alt M", "↑"]));
  expect(keysOf("In the message box", "modEnter")).toEqual(expect.arrayContaining(["Ctrl Enter", "Enter"]));
});
