/** The screenshots for the README, of a realistic thread. With ACPD_PICTURES=1 they are written to docs/images. */

import { mkdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";

import type { Client } from "@acpd/client";
import { afterAll, beforeAll, expect, test } from "vitest";

import { openThread, startThread as start, until } from "./support/acts.ts";
import { DESKTOP, PHONE, Stage } from "./support/browser.ts";

const OUT = fileURLToPath(new URL(process.env.ACPD_PICTURES === "1" ? "../../docs/images/" : "./out/", import.meta.url));
/** Maximum size of a screenshot, in bytes. */
const BYTES = 200_000;

let stage: Stage;
let other: Client;
let id: string;

const startThread = (text: string, name: string) => start(stage, other, text, { agentType: "demo", name });

beforeAll(async () => {
  await mkdir(OUT, { recursive: true });
  stage = await Stage.set({ agentName: "demo" });
  other = await stage.daemon.client();
  await startThread("say done", "Release notes for 0.4");
  await startThread("error message='the model is overloaded'", "Port the tests to Vitest");
  await startThread("slow ms=600000", "Find the slow query");
  id = await startThread("The greeting in notes.md is rather short. Make it warmer, and more polite.", "A warmer greeting");
  await until(other, id, "waiting");
});
afterAll(() => stage?.end());

for (const [name, size] of Object.entries({ desktop: { ...DESKTOP, height: 900 }, phone: PHONE })) {
  test(`a thread with a plan, a diff and a question, as on a ${name}`, async () => {
    const page = await stage.page({ size });
    await openThread(stage, page, id);
    await page.locator(".pane-foot").getByRole("button", { name: "Allow once", exact: true }).waitFor();
    if (name === "desktop") {
      await page.locator(".row .live-failed").first().waitFor();
      await page.locator(".pane-foot").getByText("Plan", { exact: true }).click();
    }
    await page.evaluate(() => document.fonts.ready);
    const picture = await page.screenshot({ path: `${OUT}${name}.png`, animations: "disabled" });
    expect(picture.length).toBeLessThan(BYTES);
  });
}
