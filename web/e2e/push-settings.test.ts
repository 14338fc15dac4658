/** Turning pushed notifications on and off, and the subscription of a browser. */

import { rm } from "node:fs/promises";
import { join } from "node:path";

import { expect, test } from "vitest";

import { startThread, until } from "./support/acts.ts";
import { accessible, shoot } from "./support/browser.ts";
import {
  arrives,
  browser,
  keptKey,
  openSettings,
  other,
  readOn,
  service,
  setPushStage,
  stage,
  subscription,
  SWITCH,
  turnOn,
} from "./support/push-stage.ts";

setPushStage();

/** Gives the worker another subscription, as browsers do; returns whether the worker has ended it. Runs in the worker. */
async function renewSubscription({ endpoint, p256dh, auth }: { endpoint: string; p256dh: string; auth: string }): Promise<boolean> {
  const event = new Event("pushsubscriptionchange");
  let done: Promise<unknown> = Promise.resolve();
  let isEnded = false;
  const unsubscribe = () => Promise.resolve((isEnded = true));
  const newSubscription = { endpoint, unsubscribe, toJSON: () => ({ endpoint, keys: { p256dh, auth } }) };
  dispatchEvent(Object.assign(event, { newSubscription, waitUntil: (promise: Promise<unknown>) => (done = promise) }));
  await done;
  return isEnded;
}

test("the user turns it on, and a test arrives", async () => {
  const { page, device } = await browser();
  await openSettings(page);
  await expect.poll(() => page.getByLabel(SWITCH).isDisabled()).toBe(true);
  await page.getByText("Choose first what to be notified about.").waitFor();
  await accessible(page);
  await page.keyboard.press("Escape");
  await turnOn(page);
  await page.getByRole("button", { name: "Send a test" }).click();
  await page.getByText("Sent. It arrives within seconds").waitFor();
  await accessible(page);
  await shoot(page, "push-settings");
  expect(await arrives(device)).toEqual({ type: "test" });
  await expect.poll(() => device.shown()).toMatchObject([{ title: "acpd can reach this device", tag: "acpd-test", buttons: [] }]);
});

test("the switches choose the kinds, and without any it is as off", async () => {
  const { page } = await browser();
  await turnOn(page);
  const on = () => page.evaluate(readOn);
  await expect.poll(on).toEqual(["done", "failed", "waiting"]);
  await page.getByLabel("Notify me when a turn is done").uncheck();
  await expect.poll(on).toEqual(["waiting"]);
  await page.getByLabel("Notify me when a thread is waiting").uncheck();
  await expect.poll(on).toBeUndefined();
  await expect.poll(() => page.getByLabel(SWITCH).isChecked()).toBe(false);
  await expect.poll(() => keptKey(page)).toBeUndefined();
  await page.getByLabel("Notify me when a turn is done").check();
  await expect.poll(on).toEqual(["done", "failed"]);
  await expect.poll(() => page.getByLabel(SWITCH).isChecked()).toBe(true);
  await page.getByLabel(SWITCH).uncheck();
  await expect.poll(on).toBeUndefined();
  await expect.poll(() => keptKey(page)).toBeUndefined();
});

test("the subscription is renewed quietly: for another session, another key of the daemon, and by the worker", async () => {
  const token = (await stage.daemon.run("token", "create", "--name", "tablet", "--role", "owner")).trim();
  const { page, device } = await browser({ token });
  await turnOn(page);
  const first = (await subscription(page))!;
  await page.reload();
  await openSettings(page);
  await page.getByRole("button", { name: "Send a test" }).click();
  await arrives(device);
  await expect.poll(() => subscription(page)).toEqual(first);
  await page.keyboard.press("Escape");

  // The session has ended without the user. The next one does not use its subscription.
  await stage.daemon.run("token", "revoke", "tablet");
  await page.locator("#token").waitFor();
  await page.fill("#token", await stage.daemon.token());
  await page.keyboard.press("Enter");
  await expect.poll(async () => (await subscription(page))?.endpoint).not.toBe(first.endpoint);
  await expect.poll(() => page.evaluate(readOn)).toEqual(["done", "failed", "waiting"]);
  await expect.poll(() => keptKey(page)).toBe(await page.evaluate(() => localStorage.getItem("acpd.page-key")));
  const second = (await subscription(page))!;
  expect(second.key).toBe(first.key);

  await page.goto("about:blank");
  await stage.daemon.kill();
  await rm(join(stage.daemon.root, "data", "push.key"));
  await stage.daemon.launch();
  await other.ready();
  const isStored = page.waitForResponse((answer) => answer.url().endsWith("/api/push") && answer.request().method() === "PUT");
  await Promise.all([isStored, page.goto(stage.url)]);
  await expect.poll(async () => (await subscription(page))?.key ?? first.key).not.toBe(first.key);
  await openSettings(page);
  await page.getByRole("button", { name: "Send a test" }).click();
  await arrives(device, 2);

  // The push service changes the subscription while no page is open.
  const third = (await subscription(page))!;
  const changed = service.issue(third.key);
  expect(await device.worker.evaluate(renewSubscription, changed)).toBe(false);
  await page.getByRole("button", { name: "Send a test" }).click();
  await arrives(device, 3);
  const paths = service.received.map(({ path }) => service.origin + path);
  expect(paths).toEqual([first.endpoint, third.endpoint, changed.endpoint]);
});

test("the worker does not renew a subscription while a page ends it", async () => {
  const { page, device } = await browser();
  await turnOn(page);
  const { endpoint, key } = (await subscription(page))!;
  await page.evaluate(
    () =>
      new Promise<void>((held) => {
        const hold = () => new Promise<void>((release) => (held(), Object.assign(window, { release })));
        void navigator.locks.request("acpd-push", hold);
      }),
  );
  let isOver = false;
  const renewed = device.worker.evaluate(renewSubscription, service.issue(key)).finally(() => (isOver = true));
  // It is awaited below. A step that fails before must not have a second failure behind it.
  renewed.catch(() => {});
  const waits = () =>
    page.evaluate(async () => (await navigator.locks.query()).pending!.filter(({ name }) => name === "acpd-push").length);
  await expect.poll(async () => isOver || (await waits()) === 1).toBe(true);
  expect(isOver).toBe(false);
  // The page's last step.
  await page.evaluate(
    () =>
      new Promise<void>((done) => {
        const opening = indexedDB.open("acpd");
        opening.onsuccess = () => {
          const transaction = opening.result.transaction("push", "readwrite");
          transaction.objectStore("push").clear();
          transaction.oncomplete = () => (opening.result.close(), done());
        };
      }),
  );
  await page.evaluate(() => (window as unknown as { release(): void }).release());
  expect(await renewed).toBe(true);
  await page.getByRole("button", { name: "Send a test" }).click();
  await expect.poll(() => service.received.map(({ path }) => service.origin + path)).toEqual([endpoint]);
});

test("after signing out nothing is pushed any more, and nothing of the session stays", async () => {
  const { page, device } = await browser();
  await turnOn(page);
  await page.getByRole("button", { name: "Send a test" }).click();
  await arrives(device);
  await expect.poll(() => device.shown()).toHaveLength(1);
  const { endpoint } = (await subscription(page))!;
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.locator("#token").waitFor();
  await expect.poll(() => device.shown()).toEqual([]);
  await expect.poll(() => subscription(page)).toBeNull();
  await expect.poll(() => keptKey(page)).toBeUndefined();
  const id = await startThread(stage, other, "say hello", { name: "After" });
  await until(other, id, "idle");
  // Another browser's notification of the same turn shows that there was time.
  const second = await browser();
  await turnOn(second.page);
  await other.call("turn/start", { threadId: id, text: "say hello" });
  await arrives(second.device, 2);
  expect(service.tooLate).not.toContain(new URL(endpoint).pathname);
  // The next user of this browser has to turn it on again.
  await page.fill("#token", await stage.daemon.token());
  await page.keyboard.press("Enter");
  await openSettings(page);
  await expect.poll(() => page.getByLabel(SWITCH).isChecked()).toBe(false);
});

test("a subscription that its service has ended is gone from the settings, with the reason", async () => {
  const { page } = await browser();
  await turnOn(page);
  service.endAll();
  const id = await startThread(stage, other, "say hello");
  await until(other, id, "idle");
  await expect.poll(() => page.evaluate(readOn)).toBeUndefined();
  await page.reload();
  await page.locator(".home-form").waitFor();
  await openSettings(page);
  await page.getByText("The browser’s push service ended the notifications. Turn them on again.").waitFor();
  await accessible(page);
  await expect.poll(() => page.getByLabel(SWITCH).isChecked()).toBe(false);
  await expect.poll(() => subscription(page)).toBeNull();
  await page.getByLabel(SWITCH).check();
  await page.getByRole("button", { name: "Send a test" }).click();
  await expect.poll(() => service.received.length).toBe(1);
  // A test finds it out as well.
  service.endAll();
  await page.getByRole("button", { name: "Send a test" }).click();
  await page.getByText("The browser’s push service ended the notifications. Turn them on again.").waitFor();
});

test("what goes wrong is a sentence at the switch, and leaves nothing half done", async () => {
  const { page } = await browser();
  await openSettings(page);
  await page.getByLabel("Notify me when a thread is waiting").check();
  const fails = async (sentence: string) => {
    // Not checked in the end.
    await page.getByLabel(SWITCH).click();
    await page.getByRole("alert").filter({ hasText: sentence }).waitFor();
    await expect.poll(() => page.getByLabel(SWITCH).isChecked()).toBe(false);
    expect([await subscription(page), await keptKey(page), await page.evaluate(readOn)]).toEqual([null, undefined, undefined]);
  };
  service.isReachable = false;
  await fails("The browser cannot reach its push service");
  service.isReachable = true;
  // A service that the daemon does not know.
  await page.evaluate(() => {
    const tools = window as unknown as { pushSubscribe(key: string): Promise<{ endpoint: string }> };
    const { pushSubscribe } = tools;
    tools.pushSubscribe = async (key) => ({ ...(await pushSubscribe(key)), endpoint: "https://push.example.com/x" });
  });
  await fails("push.example.com");
  await page.reload();
  await openSettings(page);
  await page.evaluate(() => Object.defineProperty(window, "indexedDB", { value: undefined }));
  await page.getByLabel(SWITCH).click();
  await page.getByRole("alert").filter({ hasText: "This browser stores nothing for acpd" }).waitFor();
  await accessible(page);
  await expect.poll(() => subscription(page)).toBeNull();
  await page.reload();
  await turnOn(page);
  service.status = 500;
  await page.getByRole("button", { name: "Send a test" }).click();
  await page.getByRole("alert").filter({ hasText: "The test was not delivered" }).waitFor();
  await expect.poll(() => page.getByLabel(SWITCH).isChecked()).toBe(true);
  // The user has withdrawn the permission in the browser.
  await page.context().clearPermissions();
  await page.reload();
  await expect.poll(() => page.evaluate(readOn)).toBeUndefined();
  await expect.poll(async () => [await subscription(page), await keptKey(page)]).toEqual([null, undefined]);
});
