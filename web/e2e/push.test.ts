/** Pushed notifications: they reach a device without an open page, and answer questions. */

import { rm } from "node:fs/promises";
import { join } from "node:path";

import type { Client } from "@acpd/client";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";

import { openThread, startThread, until } from "./support/acts.ts";
import { accessible, PHONE, shoot, Stage } from "./support/browser.ts";
import { Device } from "./support/device.ts";
import { PushService } from "./support/push-service.ts";
import { beyond } from "./support/room.ts";

const SWITCH = "Also when acpd is closed";

let service: PushService;
let stage: Stage;
let other: Client;

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

/** Opens the page in a browser of its own, and waits until its worker works. */
async function browser(options: Parameters<Stage["page"]>[0] = {}): Promise<{ page: Page; device: Device }> {
  const page = await stage.page({ permissions: ["notifications"], prepare: (context) => service.serve(context), ...options });
  await page.locator(".home-form").waitFor();
  await page.evaluate(async () => {
    const { active } = await navigator.serviceWorker.ready;
    while (active!.state !== "activated") {
      await new Promise((done) => active!.addEventListener("statechange", done, { once: true }));
    }
  });
  return { page, device: await Device.of(page, stage.url) };
}

async function openSettings(page: Page): Promise<void> {
  if (page.viewportSize()!.width === PHONE.width) {
    await page.locator(".view-head .drawer-button").click();
  }
  await page.getByRole("button", { name: "Settings" }).click();
  await page.getByRole("dialog", { name: "Settings" }).waitFor();
}

async function turnOn(page: Page): Promise<void> {
  await openSettings(page);
  await page.getByLabel("Notify me when a thread is waiting").check();
  await page.getByLabel("Notify me when a turn is done").check();
  await page.getByLabel(SWITCH).check();
  await page.getByRole("button", { name: "Send a test" }).waitFor();
}

/** Waits until a number of messages have arrived at the push service; hands the last one to the device. */
async function arrives(device: Device, count = 1): Promise<Record<string, unknown>> {
  await expect.poll(() => service.received.length).toBe(count);
  const { text } = service.received.at(-1)!;
  await device.push(text);
  return JSON.parse(text) as Record<string, unknown>;
}

async function waiting(name: string, what: string): Promise<string> {
  const id = await startThread(stage, other, `permission ${what}`, { name });
  await until(other, id, "waiting");
  return id;
}

/** Answers the question of a thread as another client. */
async function answerElsewhere(threadId: string): Promise<void> {
  const { thread } = await other.call("thread/read", { threadId });
  await other.call("item/approve", { requestId: thread.question!.requestId, approved: false });
  await until(other, threadId, "idle");
}

/** Returns what the agent was told, and who has answered. */
async function answered(threadId: string): Promise<[string | undefined, unknown]> {
  await until(other, threadId, "idle");
  const { thread } = await other.call("thread/read", { threadId, includeTurns: true });
  const turn = thread.turns!.at(-1)!;
  const said = (turn.items ?? []).map((item) => ("text" in item ? item.text : "")).join("");
  return [/allowed|rejected/.exec(said)?.[0], turn.answers?.at(-1)?.by];
}

/** Returns what the daemon pushes to the page's session. Runs in the page. */
async function readOn(): Promise<unknown> {
  const headers = { "acpd-page-key": localStorage.getItem("acpd.page-key")! };
  return ((await (await fetch("/api/push", { headers })).json()) as { on?: unknown }).on;
}

/** Returns the subscription at the browser's push service. */
const subscription = (page: Page) =>
  page.evaluate(() => JSON.parse(localStorage.getItem("test.push") ?? "null") as { endpoint: string; key: string } | null);

/** Returns the page key that the worker can read. */
const keptKey = (page: Page) =>
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

/** Gives the worker another subscription, as browsers do. Runs in the worker. */
async function renewSubscription({ endpoint, p256dh, auth }: { endpoint: string; p256dh: string; auth: string }): Promise<void> {
  const event = new Event("pushsubscriptionchange");
  let done: Promise<unknown> = Promise.resolve();
  const newSubscription = { endpoint, toJSON: () => ({ endpoint, keys: { p256dh, auth } }) };
  dispatchEvent(Object.assign(event, { newSubscription, waitUntil: (promise: Promise<unknown>) => (done = promise) }));
  await done;
}

test("the user turns it on, and a test arrives", async () => {
  const { page, device } = await browser();
  await openSettings(page);
  expect(await page.getByLabel(SWITCH).isDisabled()).toBe(true);
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

test("a turn that ends while no page is open is shown, and a press opens its thread", async () => {
  const { page, device } = await browser({ size: PHONE });
  await turnOn(page);
  await shoot(page, "push-settings-phone");
  expect(await beyond(page)).toEqual([]);
  await page.close();
  const id = await startThread(stage, other, "say hello", { name: "Heron" });
  const pushed = await arrives(device);
  expect(pushed).toMatchObject({ type: "done", threadId: id, agentType: "fake", name: "Heron", cwd: stage.daemon.work, status: "completed" });
  await expect.poll(() => device.shown()).toEqual([
    { title: "Heron is done", body: "fake has finished.", tag: id, requireInteraction: false, buttons: [] },
  ]);
  expect(await device.press(id)).toEqual([`/threads/${id}`]);
  expect(await device.shown()).toEqual([]);
  // The next one takes the place of the last.
  await other.call("turn/start", { threadId: id, text: "say again; error message='out of credits'" });
  expect(await arrives(device, 2)).toMatchObject({ type: "failed", status: "failed" });
  await expect.poll(async () => (await device.shown()).map(({ title, body }) => [title, body])).toEqual([["Heron has failed", expect.stringContaining("out of credits")]]);
});

test("a command is allowed by a press on the notification, and the log says who has allowed it", async () => {
  const { page, device } = await browser();
  await turnOn(page);
  await page.close();
  const id = await waiting("Builder", "kind=execute command='make all'");
  expect(await arrives(device)).toMatchObject({ type: "waiting", canAnswer: true, question: { type: "permission" } });
  await expect.poll(() => device.shown()).toEqual([
    { title: "Builder is waiting for approval", body: "Run make all", tag: id, requireInteraction: true, buttons: ["Allow once", "Reject"] },
  ]);
  // A press that may have been meant for what was there before leads to the question.
  const [text] = service.received.map(({ text }) => text);
  expect(await device.press(id, "Allow once", 0)).toEqual([`/threads/${id}#question`]);
  await device.push(text!);
  await expect.poll(() => device.shown()).toHaveLength(1);
  expect(await device.press(id, "Allow once")).toEqual([]);
  expect(await device.shown()).toEqual([]);
  expect(await answered(id)).toEqual(["allowed", { kind: "client", client: "acpd-web", principal: "owner" }]);

  const second = await waiting("Reader", "kind=read path=/etc/hostname");
  await expect.poll(() => service.received.some(({ text }) => text.includes(second))).toBe(true);
  await device.push(service.received.find(({ text }) => text.includes(second))!.text);
  await expect.poll(async () => (await device.shown()).some(({ tag }) => tag === second)).toBe(true);
  await device.press(second, "Reject");
  expect((await answered(second))[0]).toBe("rejected");
});

test.each<[string, string]>([
  ["a long command", `kind=execute command='echo ${"x".repeat(120)}'`],
  ["a second line", "kind=execute command='echo hello\nrm -rf /'"],
  ["a change of a file", "kind=edit path=src/a.rs"],
])("the notification of what it cannot show as a whole has no buttons, and leads to the question: %s", async (name, what) => {
  const { page, device } = await browser();
  await turnOn(page);
  await page.close();
  const id = await waiting(name, what);
  await arrives(device);
  await expect.poll(() => device.shown()).toMatchObject([{ title: `${name} is waiting for approval`, tag: id, buttons: [] }]);
  const [path] = await device.press(id);
  expect(path).toBe(`/threads/${id}#question`);
  const tab = await page.context().newPage();
  await tab.goto(stage.url + path);
  await expect.poll(() => tab.evaluate(() => document.activeElement?.hasAttribute("data-question"))).toBe(true);
  expect(tab.url()).toBe(`${stage.url}/threads/${id}`);
});

test("an open page shows what was pressed, and needs no notification of the thread that the user looks at", async () => {
  const { page, device } = await browser();
  await turnOn(page);
  await page.keyboard.press("Escape");
  const seen = await waiting("Seen", "kind=execute command='make seen'");
  await openThread(stage, page, seen);
  await page.locator("[data-question]").waitFor();
  await page.bringToFront();
  await arrives(device);
  // A push of another thread shows that the first one was handled.
  const other_ = await waiting("Beside", "kind=execute command='make beside'");
  await arrives(device, 2);
  await expect.poll(async () => (await device.shown()).map(({ tag }) => tag)).toEqual([other_]);
  expect(await device.press(other_)).toEqual(["focus"]);
  await expect.poll(() => new URL(page.url()).pathname).toBe(`/threads/${other_}`);
  await expect.poll(() => page.evaluate(() => document.activeElement?.hasAttribute("data-question"))).toBe(true);
  // With the user elsewhere, the same push is shown. An answer in the page closes it.
  await page.goto(`${stage.url}/agents`);
  await device.push(service.received.find(({ text }) => text.includes(seen))!.text);
  await expect.poll(async () => (await device.shown()).map(({ tag }) => tag)).toEqual([seen]);
  await answerElsewhere(seen);
  await expect.poll(() => device.shown()).toEqual([]);
});

test("a press that comes too late, after a sign-out, or without the daemon says so in a sentence", async () => {
  const token = (await stage.daemon.run("token", "create", "--name", "phone", "--role", "owner")).trim();
  const { page, device } = await browser({ token });
  await turnOn(page);
  await page.goto("about:blank");
  const late = async (name: string) => {
    const id = await waiting(name, "kind=execute command='make late'");
    const isOf = ({ text }: { text: string }) => text.includes(id);
    await expect.poll(() => service.received.some(isOf)).toBe(true);
    await device.push(service.received.find(isOf)!.text);
    await expect.poll(async () => (await device.shown()).find(({ tag }) => tag === id)?.buttons).toEqual(["Allow once", "Reject"]);
    return id;
  };
  const shownOf = async (id: string) => (await device.shown()).filter(({ tag }) => tag === id);
  const first = await late("First");
  await answerElsewhere(first);
  await device.press(first, "Allow once");
  expect(await shownOf(first)).toEqual([{ title: "First", body: "Already answered.", tag: first, requireInteraction: false, buttons: [] }]);
  expect(await device.press(first)).toEqual([`/threads/${first}#question`]);
  expect(await shownOf(first)).toEqual([]);

  const second = await late("Second");
  stage.cable.cut();
  await device.press(second, "Allow once");
  expect(await shownOf(second)).toMatchObject([{ title: "Second", body: "Couldn’t answer: the daemon is unreachable." }]);
  stage.cable.mend();
  // The notification of an error has no buttons: the question has to be opened.
  await answerElsewhere(second);

  const third = await late("Third");
  await stage.daemon.run("token", "revoke", "phone");
  await device.press(third, "Reject");
  expect(await shownOf(third)).toMatchObject([{ title: "Third", body: expect.stringContaining("your session has ended") }]);
});

test("what is no message of the daemon still shows a notification, and has no buttons", async () => {
  const { device } = await browser();
  for (const text of ["", "{", '{"type":"waiting"}', `{"type":"waiting","threadId":"../../api","question":{"requestId":{}},"canAnswer":true}`, `"${"x".repeat(3000)}"`]) {
    await device.push(text);
  }
  await expect.poll(async () => (await device.shown()).map(({ title, buttons }) => [title, buttons]).sort()).toEqual([
    ["Untitled thread is waiting for approval", []],
    ["acpd has news", []],
  ]);
  expect(await device.press("../../api")).toEqual(["/threads/..%2F..%2Fapi#question"]);
  expect(await device.press("acpd")).toEqual(["/"]);
});

test("a page that holds on to the notifications keeps none back", async () => {
  const { page, device } = await browser();
  await page.evaluate(() => void navigator.locks.request("acpd-notifications", () => new Promise(() => {})));
  await device.push('{"type":"test"}');
  expect((await device.shown()).map(({ tag }) => tag)).toEqual(["acpd-test"]);
});

test("the switches choose the kinds, and without any it is as off", async () => {
  const { page } = await browser();
  await turnOn(page);
  const on = () => page.evaluate(readOn);
  expect(await on()).toEqual(["done", "failed", "waiting"]);
  await page.getByLabel("Notify me when a turn is done").uncheck();
  await expect.poll(on).toEqual(["waiting"]);
  await page.getByLabel("Notify me when a thread is waiting").uncheck();
  await expect.poll(on).toBeUndefined();
  expect(await page.getByLabel(SWITCH).isChecked()).toBe(false);
  await expect.poll(() => keptKey(page)).toBeUndefined();
  await page.getByLabel("Notify me when a turn is done").check();
  await expect.poll(on).toEqual(["done", "failed"]);
  expect(await page.getByLabel(SWITCH).isChecked()).toBe(true);
  await page.getByLabel(SWITCH).uncheck();
  await expect.poll(on).toBeUndefined();
  await expect.poll(() => keptKey(page)).toBeUndefined();
});

test("the page itself is silent meanwhile, and still tells screen readers", async () => {
  const { page } = await browser();
  await page.addInitScript(() => {
    const notes: string[] = [];
    const Own = class extends Notification {
      constructor(title: string) {
        super(title);
        notes.push(title);
      }
    };
    Object.assign(window, { Notification: Own, notes });
  });
  await page.reload();
  const notes = () => page.evaluate(() => (window as unknown as { notes: string[] }).notes);
  await turnOn(page);
  await page.keyboard.press("Escape");
  await waiting("Quiet", "kind=execute command='make quiet'");
  await expect.poll(() => page.locator("[aria-live]").allInnerTexts()).toContain("Quiet is waiting for approval");
  expect(await notes()).toEqual([]);
  await openSettings(page);
  await page.getByLabel(SWITCH).uncheck();
  await page.keyboard.press("Escape");
  await waiting("Loud", "kind=execute command='make loud'");
  await expect.poll(notes).toEqual(["Loud is waiting for approval"]);
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
  expect(await subscription(page)).toEqual(first);
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
  await page.goto(stage.url);
  await expect.poll(async () => (await subscription(page))?.key).not.toBe(first.key);
  await openSettings(page);
  await page.getByRole("button", { name: "Send a test" }).click();
  await arrives(device, 2);

  // The push service changes the subscription while no page is open.
  const third = (await subscription(page))!;
  const changed = service.issue(third.key);
  await device.worker.evaluate(renewSubscription, changed);
  await page.getByRole("button", { name: "Send a test" }).click();
  await arrives(device, 3);
  const paths = service.received.map(({ path }) => service.origin + path);
  expect(paths).toEqual([first.endpoint, third.endpoint, changed.endpoint]);
});

test("a page with a shared thread takes no part", async () => {
  const { page, device } = await browser();
  await turnOn(page);
  const key = await keptKey(page);
  await page.close();
  const id = await waiting("Shared", "kind=execute command='make shared'");
  await arrives(device);
  const { secret } = await other.call("thread/share/create", { threadId: id });
  const reader = await page.context().newPage();
  const asked: string[] = [];
  reader.on("request", (request) => request.url().includes("/api/push") && asked.push(request.url()));
  await reader.goto(`${stage.url}/#share=${secret}`);
  await reader.locator(".shared-note").waitFor();
  await reader.bringToFront();
  // It does not count as the user's page: neither for what is seen, nor for what is pressed.
  await device.push(service.received[0]!.text);
  await expect.poll(async () => (await device.shown()).map(({ tag }) => tag)).toEqual([id]);
  expect(await device.press(id)).toEqual([`/threads/${id}#question`]);
  expect(await keptKey(reader)).toBe(key);
  expect(asked).toEqual([]);
  // The user's own page is not disturbed by it.
  const own = await page.context().newPage();
  await own.goto(stage.url);
  await openSettings(own);
  await own.getByRole("button", { name: "Send a test" }).waitFor();
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
  expect(await page.getByLabel(SWITCH).isChecked()).toBe(false);
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
  expect(await page.getByLabel(SWITCH).isChecked()).toBe(false);
  expect(await subscription(page)).toBeNull();
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
  expect(await subscription(page)).toBeNull();
  await page.reload();
  await turnOn(page);
  service.status = 500;
  await page.getByRole("button", { name: "Send a test" }).click();
  await page.getByRole("alert").filter({ hasText: "The push service did not take the notification" }).waitFor();
  expect(await page.getByLabel(SWITCH).isChecked()).toBe(true);
  // The user has withdrawn the permission in the browser.
  await page.context().clearPermissions();
  await page.reload();
  await expect.poll(() => page.evaluate(readOn)).toBeUndefined();
  await expect.poll(async () => [await subscription(page), await keptKey(page)]).toEqual([null, undefined]);
});
