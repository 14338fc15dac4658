/** A daemon with a push service, browsers that subscribe, and common steps of their tests. */

import type { Client } from "@acpd/client";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect } from "vitest";

import { startThread, startWorker, until } from "./acts.ts";
import { PHONE, Stage } from "./browser.ts";
import { Device } from "./device.ts";
import { PushService } from "./push-service.ts";

/** The label of the switch. */
export const SWITCH = "Also when acpd is closed";

export let service: PushService;
export let stage: Stage;
export let other: Client;

/** Gives the tests of a file a daemon and a push service that it knows. */
export function setPushStage(): void {
  beforeAll(async () => {
    service = await PushService.start();
    stage = await Stage.set(
      { config: ["[notifications]", `push_services = [${JSON.stringify(service.origin)}]`, "waiting_secs = 0"] },
      { workers: true },
    );
    other = await stage.daemon.client("other-program");
  });
  afterEach(async () => {
    service.status = undefined;
    service.isReachable = true;
    // The browsers of one test receive nothing of the next one, and no thread waits.
    service.endAll();
    service.received.length = 0;
    const { data } = await other.call("thread/list", { status: "waiting", limit: 50 });
    await Promise.all(data.map(({ id }) => other.call("turn/interrupt", { threadId: id })));
  });
  afterAll(async () => {
    await stage?.end();
    await service?.end();
  });
}

/** Opens the page in a browser of its own, and waits until its worker works. */
export async function browser(options: Parameters<Stage["page"]>[0] = {}): Promise<{ page: Page; device: Device }> {
  const page = await stage.page({ permissions: ["notifications"], prepare: (context) => service.serve(context), ...options });
  await page.locator(".home-form").waitFor();
  await startWorker(page);
  return { page, device: await Device.of(page, stage.url) };
}

export async function openSettings(page: Page): Promise<void> {
  if (page.viewportSize()!.width === PHONE.width) {
    await page.locator(".view-head .drawer-button").click();
  }
  await page.getByRole("button", { name: "Settings" }).click();
  await page.getByRole("dialog", { name: "Settings" }).waitFor();
}

export async function turnOn(page: Page): Promise<void> {
  await openSettings(page);
  await page.getByLabel("Notify me when a thread is waiting").check();
  await page.getByLabel("Notify me when a turn is done").check();
  await page.getByLabel(SWITCH).check();
  await page.getByRole("button", { name: "Send a test" }).waitFor();
}

/** Waits until a number of messages have arrived at the push service; hands the last one to the device. */
export async function arrives(device: Device, count = 1): Promise<Record<string, unknown>> {
  await expect.poll(() => service.received.length).toBe(count);
  const { text } = service.received.at(-1)!;
  await device.push(text);
  return JSON.parse(text) as Record<string, unknown>;
}

export async function waiting(name: string, what: string): Promise<string> {
  const id = await startThread(stage, other, `permission ${what}`, { name });
  await until(other, id, "waiting");
  return id;
}

/** Answers the question of a thread as another client. */
export async function answerElsewhere(threadId: string): Promise<void> {
  const { thread } = await other.call("thread/read", { threadId });
  await other.call("item/approve", { requestId: thread.question!.requestId, approved: false });
  await until(other, threadId, "idle");
}

/** Returns what the agent was told, and who has answered. */
export async function answered(threadId: string): Promise<[string | undefined, unknown]> {
  await until(other, threadId, "idle");
  const { thread } = await other.call("thread/read", { threadId, includeTurns: true });
  const turn = thread.turns!.at(-1)!;
  const said = (turn.items ?? []).map((item) => ("text" in item ? item.text : "")).join("");
  return [/allowed|rejected/.exec(said)?.[0], turn.answers?.at(-1)?.by];
}

/** Returns what the daemon pushes to the page's session. Runs in the page. */
export async function readOn(): Promise<unknown> {
  const headers = { "acpd-page-key": localStorage.getItem("acpd.page-key")! };
  return ((await (await fetch("/api/push", { headers })).json()) as { on?: unknown }).on;
}

/** Returns the subscription at the browser's push service. */
export const subscription = (page: Page) =>
  page.evaluate(() => JSON.parse(localStorage.getItem("test.push") ?? "null") as { endpoint: string; key: string } | null);

/** Returns the page key that the worker can read. */
export const keptKey = (page: Page) =>
  page.evaluate(
    () =>
      new Promise<unknown>((done, failed) => {
        const opening = indexedDB.open("acpd");
        opening.onerror = () => failed(opening.error);
        opening.onsuccess = () => {
          const database = opening.result;
          if (!database.objectStoreNames.contains("push")) {
            database.close();
            done(undefined);
            return;
          }
          const reading = database.transaction("push").objectStore("push").get("session");
          reading.onsuccess = () => {
            database.close();
            done((reading.result as { pageKey?: unknown } | undefined)?.pageKey);
          };
        };
      }),
  );
