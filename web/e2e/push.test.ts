/** Pushed notifications: they reach a device without an open page, and answer questions. */

import { expect, test } from "vitest";

import { openThread, startThread } from "./support/acts.ts";
import { PHONE, shoot } from "./support/browser.ts";
import {
  answered,
  answerElsewhere,
  arrives,
  browser,
  keptKey,
  openSettings,
  other,
  service,
  setPushStage,
  stage,
  SWITCH,
  turnOn,
  waiting,
} from "./support/push-stage.ts";
import { beyond } from "./support/room.ts";

setPushStage();

test("a turn that ends while no page is open is shown, and a press opens its thread", async () => {
  const { page, device } = await browser({ size: PHONE });
  await turnOn(page);
  await shoot(page, "push-settings-phone");
  await expect.poll(() => beyond(page)).toEqual([]);
  await page.close();
  const id = await startThread(stage, other, "say hello", { name: "Heron" });
  const pushed = await arrives(device);
  expect(pushed).toMatchObject({ type: "done", threadId: id, agentType: "fake", name: "Heron", cwd: stage.daemon.work, status: "completed" });
  await expect.poll(() => device.shown()).toEqual([
    { title: "Heron is done", body: "fake has finished.", tag: id, requireInteraction: false, buttons: [] },
  ]);
  expect(await device.press(id)).toEqual([`/threads/${id}`]);
  await expect.poll(() => device.shown()).toEqual([]);
  // The next one takes the place of the last.
  await other.call("turn/start", { threadId: id, text: "say again; error message='out of credits'" });
  expect(await arrives(device, 2)).toMatchObject({ type: "failed", status: "failed" });
  await expect.poll(async () => (await device.shown()).map(({ title, body }) => [title, body])).toEqual([["Heron has failed", expect.stringContaining("out of credits")]]);
});

test("a command is allowed by a press on the notification, and the log says who has allowed it", async () => {
  const { page, device } = await browser();
  await turnOn(page);
  await page.close();
  const id = await waiting("Builder", "kind=execute command='echo all'");
  expect(await arrives(device)).toMatchObject({ type: "waiting", canAnswer: true, question: { type: "permission" } });
  await expect.poll(() => device.shown()).toEqual([
    { title: "Builder is waiting for approval", body: "Run echo all", tag: id, requireInteraction: true, buttons: ["Allow once", "Reject"] },
  ]);
  // A press that may have been meant for what was there before leads to the question.
  const [text] = service.received.map(({ text }) => text);
  expect(await device.press(id, "Allow once", -60_000)).toEqual([`/threads/${id}#question`]);
  await device.push(text!);
  await expect.poll(() => device.shown()).toHaveLength(1);
  expect(await device.press(id, "Allow once")).toEqual([]);
  await expect.poll(() => device.shown()).toEqual([]);
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
  const seen = await waiting("Seen", "kind=execute command='echo seen'");
  await openThread(stage, page, seen);
  await page.locator("[data-question]").waitFor();
  // What answers the worker is loaded later than the page.
  await page.waitForFunction(() => performance.getEntriesByType("resource").some(({ name }) => name.includes("/pushed-")));
  await page.bringToFront();
  await arrives(device);
  // A push of another thread shows that the first one was handled.
  const other_ = await waiting("Beside", "kind=execute command='echo beside'");
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
  // A page that has not seen it wait closes the notification when its list is surely newer.
  await expect.poll(() => device.shown(), { timeout: 30_000 }).toEqual([]);
});

test("a press that comes too late, after a sign-out, or without the daemon says so in a sentence", async () => {
  const token = (await stage.daemon.run("token", "create", "--name", "phone", "--role", "owner")).trim();
  const { page, device } = await browser({ token });
  await turnOn(page);
  await page.goto("about:blank");
  const late = async (name: string) => {
    const id = await waiting(name, "kind=execute command='echo late'");
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
  await expect.poll(() => shownOf(first)).toEqual([{ title: "First", body: "Already answered.", tag: first, requireInteraction: false, buttons: [] }]);
  expect(await device.press(first)).toEqual([`/threads/${first}#question`]);
  await expect.poll(() => shownOf(first)).toEqual([]);

  const second = await late("Second");
  stage.cable.cut();
  await device.press(second, "Allow once");
  await expect.poll(() => shownOf(second)).toMatchObject([{ title: "Second", body: "Couldn’t answer: the daemon is unreachable." }]);
  stage.cable.mend();
  // The notification of an error has no buttons: the question has to be opened.
  await answerElsewhere(second);

  const third = await late("Third");
  await stage.daemon.run("token", "revoke", "phone");
  await device.press(third, "Reject");
  await expect.poll(() => shownOf(third)).toMatchObject([{ title: "Third", body: expect.stringContaining("your session has ended") }]);
});

test("an answer that takes long does not touch the notification of the thread's next question", async () => {
  const { page, device } = await browser();
  await turnOn(page);
  await page.goto("about:blank");
  const id = await waiting("Twice", "kind=execute command='echo one'; permission kind=execute command='echo two'");
  await arrives(device);
  await expect.poll(() => device.shown()).toMatchObject([{ tag: id, body: "Run echo one" }]);
  await device.hold(id);
  const { thread } = await other.call("thread/read", { threadId: id });
  await other.call("item/approve", { requestId: thread.question!.requestId, approved: true });
  await arrives(device, 2);
  const next = [{ tag: id, body: "Run echo two", buttons: ["Allow once", "Reject"] }];
  await expect.poll(() => device.shown()).toMatchObject(next);
  // It was refused, because another client had answered.
  await device.press(id, "Allow once");
  await expect.poll(() => device.shown()).toMatchObject(next);
  // It is accepted.
  await device.hold(id);
  const later = { ...JSON.parse(service.received[1]!.text), name: "Later" } as { question: { requestId: string } };
  later.question.requestId = "later";
  await device.push(JSON.stringify(later));
  await expect.poll(() => device.shown()).toMatchObject([{ title: "Later is waiting for approval" }]);
  await device.press(id, "Allow once");
  expect((await answered(id))[0]).toBe("allowed");
  await expect.poll(() => device.shown()).toMatchObject([{ title: "Later is waiting for approval", buttons: ["Allow once", "Reject"] }]);
});

test("what is no message of the daemon still shows a notification, and has no buttons", async () => {
  const { device } = await browser();
  for (const text of ["", "{", '{"type":"waiting"}', `{"type":"waiting","threadId":"../../api","question":{"requestId":{}},"canAnswer":true}`, `"${"x".repeat(3000)}"`]) {
    await device.push(text);
  }
  await expect.poll(async () => (await device.shown()).map(({ title, buttons }) => [title, buttons]).sort()).toEqual([
    ["Untitled thread is waiting for you", []],
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
  await waiting("Quiet", "kind=execute command='echo quiet'");
  await expect.poll(() => page.locator("[aria-live]").allInnerTexts()).toContain("Quiet is waiting for approval");
  await expect.poll(notes).toEqual([]);
  await openSettings(page);
  await page.getByLabel(SWITCH).uncheck();
  await page.keyboard.press("Escape");
  await waiting("Loud", "kind=execute command='echo loud'");
  await expect.poll(notes).toEqual(["Loud is waiting for approval"]);
});

test("a page with a shared thread takes no part", async () => {
  const { page, device } = await browser();
  await turnOn(page);
  const key = await keptKey(page);
  await page.close();
  const id = await waiting("Shared", "kind=execute command='echo shared'");
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
