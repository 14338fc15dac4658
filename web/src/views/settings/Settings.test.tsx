import type { Client } from "@acpd/client";
import { afterEach, expect, test, vi } from "vitest";

import { defaultFolder } from "../../app/agents.ts";
import { codeTheme, textSize } from "../../app/theme.ts";
import { client, link, standing } from "../../connection/connection.ts";
import { after, drawn, type } from "../testing.ts";
import { DefaultFolder } from "./DefaultFolder.tsx";
import Settings from "./Settings.tsx";

// The tests' DOM lacks it.
vi.hoisted(() => Object.assign(globalThis, { isSecureContext: false }));

afterEach(() => {
  client.value = undefined;
  link.value = { name: "connecting" };
  standing.value = { name: "looking" };
  textSize.value = 100;
  codeTheme.value = "";
  defaultFolder.value = "";
});

test("the size of text and the colours of code apply at once", async () => {
  const view = drawn(<Settings />);
  const { dataset, style } = document.documentElement;
  const pick = (name: string, words: string) => {
    const label = view.all("label").find((one) => one.textContent === words && one.querySelector(`[name=${name}]`));
    return after(() => label!.querySelector("input")!.click());
  };
  expect([style.fontSize, dataset.code]).toEqual(["", ""]);
  await pick("text-size", "Larger");
  await pick("code-theme", "Vivid");
  expect([style.fontSize, dataset.code]).toEqual(["125%", "vivid"]);
  await pick("text-size", "Medium");
  await pick("code-theme", "Default");
  expect([style.fontSize, dataset.code]).toEqual(["", ""]);
});

test("the folder of new threads exists, and is kept as an absolute path", async () => {
  const call = async (_method: string, { path }: { path: string }) => {
    if (path.startsWith("/none")) throw Object.assign(new Error("folder not found: /none"), { code: "not_found" });
    return { path: path.replace("~", "/home/ann"), host: "box", home: "/home/ann", truncated: false, folders: [] };
  };
  client.value = { call, state: { name: "open" }, on: () => () => {}, onState: () => () => {} } as unknown as Client;
  const view = drawn(<DefaultFolder />);
  const save = async (path: string) => {
    await type(view.one<HTMLInputElement>("input"), path);
    await after(() => view.one<HTMLFormElement>("form").requestSubmit());
    await after(() => new Promise((done) => setTimeout(done)));
  };
  await save("proj");
  expect(view.one("[role=alert]").textContent).toContain("absolute path");
  await save("/none/x");
  expect(view.one("[role=alert]").textContent).toContain("older not found");
  expect(defaultFolder.value).toBe("");
  await save("~/proj");
  expect(defaultFolder.value).toBe("/home/ann/proj");
  expect(view.text()).toContain("New threads begin in /home/ann/proj.");
  await save("");
  expect(defaultFolder.value).toBe("");
});
