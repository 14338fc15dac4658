/** A conversation as the user sees it: messages, plans, tools, questions and drafts. */

import { mkdir, readFile, realpath, writeFile } from "node:fs/promises";
import { join } from "node:path";

import type { Client } from "@acpd/client";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";

import { openThread, say, sayToEnd, settled, startThread, until } from "./support/acts.ts";
import { accessible, PHONE, shoot, Stage } from "./support/browser.ts";

let stage: Stage;
let other: Client;
let page: Page;

beforeAll(async () => {
  stage = await Stage.set();
  other = await stage.daemon.client("other-program");
  page = await stage.page();
});
afterAll(() => stage?.end());

const line = (text: string) => page.locator(".virtual-line", { hasText: text });
const feed = () => page.getByRole("feed");

/** Returns the distance of the scroll position from the end, in pixels. */
const distance = () => feed().evaluate((el) => el.scrollHeight - el.clientHeight - el.scrollTop);

test("words stream in as Markdown, thoughts are folded, the end says why and how much", async () => {
  const id = await startThread(stage, other);
  await openThread(stage, page, id);
  const text = "**bold** and <img src=x onerror=alert(1)> and ![far](https://example.com/x.png)";
  await say(page, `think n=5; say "${text}"; usage used=1234 size=200000 cost=0.01; image`);
  await line("bold").locator("strong").first().waitFor();
  const thought = line("thought 1").or(page.locator(".virtual-line", { hasText: "Thought" })).first();
  await thought.waitFor();
  const remote = await page.evaluate(() => [...document.querySelectorAll("img")].filter((one) => /^https?:/.test(one.src) && !one.src.startsWith(location.origin)).length);
  expect(remote).toBe(0);
  await expect.poll(() => page.locator("img[onerror]").count()).toBe(0);
  await page.getByText(/1[.,]?2\d*\s?k?/).first().waitFor();
  await until(other, id, "idle");
  await shoot(page, "conversation-desktop");
  await accessible(page);
});

test("a command that asks for a password waits for it, and the user types it here", async () => {
  const id = await startThread(stage, other);
  await openThread(stage, page, id);
  const asks = `python3 -c 'import getpass; print("got", len(getpass.getpass("secret? ")))'`;
  await other.call("thread/command/run", { threadId: id, command: asks });
  await page.getByText("Waiting for input.").waitFor();
  await shoot(page, "input-desktop");
  await accessible(page);
  await page.setViewportSize(PHONE);
  await page.emulateMedia({ colorScheme: "dark" });
  await shoot(page, "input-phone-dark");
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize({ width: 1280, height: 800 });
  const field = page.getByLabel("Hidden input for the command");
  await field.fill("hush");
  await field.press("Enter");
  const output = async () => {
    const { thread } = await other.call("thread/read", { threadId: id, includeTurns: true });
    const item = thread.turns?.at(-1)?.items?.at(-1);
    return item?.type === "terminalCommand" ? item.output : undefined;
  };
  await expect.poll(output).toBe("secret? \r\ngot 4\r\n");
  await expect.poll(() => page.locator(".th-input").count()).toBe(0);
}, 60_000);

test("a live turn is followed only by who is at the end", async () => {
  const id = await startThread(stage, other, "stream n=40");
  await until(other, id, "idle");
  const lines = Array.from({ length: 40 }, (_, n) => `paragraph ${n}`).join("\\n\\n");
  await other.call("turn/start", { threadId: id, text: `say "${lines}"` });
  await until(other, id, "idle");
  await openThread(stage, page, id);
  await line("paragraph 39").first().waitFor();
  await expect.poll(distance).toBeLessThan(4);
  await feed().hover();
  await page.mouse.wheel(0, -300);
  await page.getByRole("button", { name: "Jump to latest" }).waitFor();
  await settled(feed());
  const read = page.getByText("paragraph 20", { exact: true }).last();
  const seen = (await read.boundingBox())!.y;
  await other.call("turn/start", { threadId: id, text: "say something new; stream n=30" });
  await page.getByRole("button", { name: "New below" }).waitFor();
  await until(other, id, "idle");
  await settled(feed());
  expect(Math.abs((await read.boundingBox())!.y - seen)).toBeLessThan(2);
  await page.getByRole("button", { name: "New below" }).click();
  await expect.poll(distance).toBeLessThan(4);
  await other.call("turn/start", { threadId: id, text: "stream n=200 ms=5" });
  await line("word 200").first().waitFor();
  await expect.poll(distance).toBeLessThan(4);
});

test("a user who is a little above the end stays there, and a press or a selection is not carried away", async () => {
  const id = await startThread(stage, other, `say "${"Many words. ".repeat(400)}"; tool kind=read; tool kind=edit; tool kind=edit path=b.rs; say done`);
  await until(other, id, "idle");
  await openThread(stage, page, id);
  await settled(feed());
  const work = page.locator(".th-work").last();
  const top = async () => (await work.boundingBox())!.y;
  await feed().hover();
  await page.mouse.wheel(0, -20);
  await expect.poll(distance).toBe(20);
  const before = await top();
  await other.call("turn/start", { threadId: id, text: "say something new; stream n=30" });
  await page.getByRole("button", { name: "New below" }).waitFor();
  await until(other, id, "idle");
  await settled(feed());
  expect(Math.abs((await top()) - before)).toBeLessThan(2);

  await page.getByRole("button", { name: "New below" }).click();
  await expect.poll(distance).toBeLessThan(4);
  const said = page.locator(".th-agent p", { hasText: "something new" }).last();
  await said.hover();
  const held = (await said.boundingBox())!.y;
  await page.mouse.down();
  await other.call("turn/start", { threadId: id, text: "say another line; stream n=30" });
  await until(other, id, "idle");
  await expect.poll(distance).toBeGreaterThan(50);
  await settled(feed());
  expect(Math.abs((await said.boundingBox())!.y - held)).toBeLessThan(2);
  // The press was no wish to stay. The selection of text is one.
  await page.mouse.up();
  await expect.poll(distance).toBeLessThan(4);
  await page.locator(".th-agent p", { hasText: "another line" }).last().dblclick();
  await other.call("turn/start", { threadId: id, text: "say the last line; stream n=30" });
  await page.getByRole("button", { name: "New below" }).waitFor();
  await expect.poll(() => page.evaluate(() => document.getSelection()?.toString())).toBeTruthy();
});

test("the plan is a card that is replaced live, and stays in the conversation after the turn", async () => {
  const id = await startThread(stage, other, "plan; slow ms=600000");
  await openThread(stage, page, id);
  const plan = page.locator(".pane-foot", { hasText: "Look around" });
  await plan.waitFor();
  for (const mark of ["●", "◐", "○"]) {
    await plan.getByText(mark).first().waitFor();
  }
  await shoot(page, "plan-desktop");
  await accessible(page);
  await other.call("turn/interrupt", { threadId: id });
  await plan.waitFor({ state: "detached" });
  const kept = line("1 of 3 done");
  await kept.locator("summary").click();
  await expect.poll(() => kept.locator("li").allInnerTexts()).toHaveLength(3);
  await kept.getByText("not done").first().waitFor();
  await shoot(page, "plan-ended-desktop");
  // The next turn has no plan.
  await say(page, "slow ms=600000");
  await page.locator(".pane-foot").getByRole("button", { name: "Stop" }).waitFor();
  await expect.poll(() => page.locator(".pane-foot .th-plan").count()).toBe(0);
});

test("each plan of the agent is a card of its own, until the agent removes it", async () => {
  const way = "plan-by-id markdown id=b text='# The *way*' path=/w/way.md";
  const id = await startThread(stage, other, `plan-by-id id=a text='First step'; ${way}; plan-by-id id=c; plan-by-id remove id=c; slow ms=600000`);
  await openThread(stage, page, id);
  const cards = page.locator(".pane-foot .th-plan");
  await expect.poll(() => cards.count()).toBe(2);
  const text = page.locator(".pane-foot .th-plan", { hasText: "way.md" });
  await text.locator("summary").click();
  await text.locator("em", { hasText: "way" }).waitFor();
  await accessible(page);
  await other.call("turn/interrupt", { threadId: id });
  await cards.first().waitFor({ state: "detached" });
  await expect.poll(() => page.locator(".virtual-line .th-plan").count()).toBe(2);
  await page.reload();
  await expect.poll(() => page.locator(".virtual-line .th-plan").count()).toBe(2);
});

test("tool calls show what they do: diffs, terminals, places", async () => {
  const id = await startThread(stage, other);
  await openThread(stage, page, id);
  await sayToEnd(page, `tool kind=edit; terminal sh -c 'printf "\\033[31mred\\033[0m"; exit 3'`);
  await page.locator(".th-work", { hasText: "ran 1 command · 1 file +1" }).click();
  const edit = page.locator(".th-tool[data-kind=edit] summary");
  await expect.poll(() => edit.innerText()).toMatch(/edit src\/example\.rs\s*\+1\s*−1/);
  await edit.click();
  await line("println").first().waitFor();
  await page.locator(".hljs-built_in, .hljs-title").first().waitFor();
  await page.getByRole("button", { name: "Split" }).click();
  await shoot(page, "tools-split-desktop");
  await page.getByRole("button", { name: "Unified" }).click();
  // A failed command is open.
  await line("red").first().waitFor();
  await page.getByText("exit code 3").first().waitFor();
  await shoot(page, "tools-desktop");
  await accessible(page);
});

test("of long output the end is shown, and all of it can be read, searched and downloaded", async () => {
  const id = await startThread(stage, other);
  await openThread(stage, page, id);
  await sayToEnd(page, "terminal sh -c 'for n in $(seq 30000); do printf \"\\033[32mline $n\\033[0m\\n\"; done'");
  const command = page.locator(".th-tool[data-kind=execute]").last();
  await command.locator("summary", { hasText: "exit code 0" }).click();
  await command.getByText("line 30000").first().waitFor();
  const downloads = page.waitForEvent("download");
  const [download] = await Promise.all([downloads, command.getByRole("button", { name: "Download" }).click()]);
  const whole = await readFile(await download.path(), "utf8");
  expect(whole.split("\n").slice(0, -1)).toEqual(Array.from({ length: 30_000 }, (_, at) => `line ${at + 1}`));
  await command.getByRole("button", { name: "Open all" }).click();
  const viewer = page.getByRole("dialog");
  await viewer.getByText("30,000 lines").waitFor();
  await viewer.getByText("line 1", { exact: true }).waitFor();
  await expect.poll(() => viewer.locator(".th-terminal-line").count()).toBeLessThan(200);
  await page.keyboard.press("Control+f");
  await page.keyboard.type("line 1234");
  await viewer.getByText("1 of 11").waitFor();
  await page.keyboard.press("Enter");
  await viewer.getByText("2 of 11").waitFor();
  await viewer.locator(".is-current mark", { hasText: "line 1234" }).waitFor();
  await expect.poll(() => viewer.locator(".is-current").innerText()).toBe("line 12340");
  await shoot(page, "viewer-desktop");
  await accessible(page);
  await page.keyboard.press("Escape");
  await viewer.waitFor({ state: "detached" });
});

test("what the agent asks is answered by its own options", async () => {
  const id = await startThread(stage, other);
  await openThread(stage, page, id);
  await say(page, "permission kind=execute command='npm test -- --all'");
  await page.locator(".pane-foot").getByText("npm test -- --all").first().waitFor();
  await shoot(page, "approval-desktop");
  await accessible(page);
  await page.locator(".pane-foot").getByRole("button", { name: "Allow once", exact: true }).click();
  await line("allowed (allow_once)").first().waitFor();
});

test("a question that another client answers is gone at once, and says by whom", async () => {
  const id = await startThread(stage, other, "permission kind=execute command=make");
  await openThread(stage, page, id);
  await page.locator(".pane-foot").getByRole("button", { name: "Allow once", exact: true }).waitFor();
  await page.getByText("Also open on: owner (other-program)").waitFor();
  const { thread } = await other.call("thread/read", { threadId: id });
  await other.call("item/approve", { requestId: thread.pendingRequestIds[0]!, approved: false });
  await page.locator(".pane-foot").getByRole("button", { name: "Allow once", exact: true }).waitFor({ state: "detached" });
  await page.getByText("other-program").first().waitFor();
  await shoot(page, "approval-answered-desktop");
});

test("an observer sees what is asked, and has nothing to press", async () => {
  const said = await stage.daemon.run("token", "create", "--name", "eve", "--role", "observer");
  const looker = await stage.page({ token: said.trim().split(/\s+/).at(-1)! });
  const id = await startThread(stage, other, "permission kind=execute command='make all'");
  await until(other, id, "waiting");
  await looker.goto(`${stage.url}/threads/${id}`);
  await looker.locator(".pane-foot").getByText("make all").first().waitFor();
  await expect.poll(() => looker.locator(".pane textarea").count()).toBe(0);
  const allow = looker.locator(".pane-foot").getByRole("button", { name: "Allow once", exact: true });
  expect((await allow.count()) === 0 || (await allow.isDisabled())).toBe(true);
});

test("the composer sets modes and options, queues, steers and stops", async () => {
  const id = await startThread(stage, other);
  await openThread(stage, page, id);
  await page.locator(".pane-foot").getByRole("button", { name: /Ask/ }).or(page.locator(".pane-foot select")).first().waitFor();
  await say(page, "slow ms=600000");
  const stop = page.locator(".pane-foot").getByRole("button", { name: "Stop" });
  await stop.waitFor();
  await say(page, "say the second");
  await page.getByRole("region", { name: "Queued messages" }).getByText("say the second").waitFor();
  await shoot(page, "composer-desktop");
  await accessible(page);
  await stop.click();
  await page.getByRole("button", { name: "Send next" }).click();
  await line("the second").last().waitFor();
  await until(other, id, "idle");
  // Drafts survive a reload.
  await page.locator(".pane textarea").fill("half a thought");
  await page.reload();
  await page.locator(".pane textarea").waitFor();
  await expect.poll(() => page.locator(".pane textarea").inputValue()).toBe("half a thought");
  // Slash commands are completed.
  await sayToEnd(page, "commands; say now there are commands");
  await page.locator(".pane textarea").pressSequentially("/pl");
  await page.getByRole("option", { name: /plan/ }).first().waitFor();
  await shoot(page, "commands-desktop");
});

test("a form of the agent's is filled in", async () => {
  const id = await startThread(stage, other, "elicit");
  await openThread(stage, page, id);
  await page.getByText("Who are you?").first().waitFor();
  await shoot(page, "form-desktop");
  await accessible(page);
  await page.locator(".pane-foot").getByLabel(/Name/).first().fill("Ann");
  await page.locator(".pane-foot").getByRole("button", { name: /Send|Submit|Answer/ }).first().click();
  await line("elicited accept").first().waitFor();
});

test("a form is declined as that, and not as cancelled", async () => {
  const id = await startThread(stage, other, "elicit");
  await openThread(stage, page, id);
  await page.getByText("Who are you?").first().waitFor();
  await page.locator(".pane-foot").getByRole("button", { name: /Decline/ }).first().click();
  await line("elicited decline").first().waitFor();
});

test("an address is opened only when the person says so, and then it is accepted", async () => {
  const asked = await stage.page();
  await asked.addInitScript(() => {
    const opened: string[] = [];
    Object.assign(window, { opened, open: (url: string) => void opened.push(url) });
  });
  const id = await startThread(stage, other, "elicit url");
  await openThread(stage, asked, id);
  const opened = () => asked.evaluate(() => (window as unknown as { opened: string[] }).opened);
  const go = asked.locator(".pane-foot").getByRole("button", { name: /^Open / });
  await go.waitFor();
  await expect.poll(opened).toEqual([]);
  await shoot(asked, "address-desktop");
  await accessible(asked);
  await go.click();
  await expect.poll(opened).toHaveLength(1);
  await asked.locator(".pane-foot").getByRole("button", { name: "I’ve finished" }).click();
  await asked.locator(".virtual-line", { hasText: "elicited accept" }).first().waitFor();
});

test("a pasted image is sent, and shown", async () => {
  const id = await startThread(stage, other);
  await openThread(stage, page, id);
  await page.locator(".pane textarea").fill("echo");
  await page.locator(".pane textarea").evaluate((area) => {
    const data = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
    const clipboardData = new DataTransfer();
    clipboardData.items.add(new File([bytes], "shot.png", { type: "image/png" }));
    area.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
  });
  await page.getByRole("list", { name: "Attached" }).waitFor();
  await page.locator(".pane textarea").press("Enter");
  await line("2 blocks").first().waitFor();
  await page.locator(".virtual-line img").first().waitFor();
  await shoot(page, "image-desktop");
  await page.getByRole("button", { name: /^Enlarge/ }).first().click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("img").waitFor();
  const [download] = await Promise.all([page.waitForEvent("download"), dialog.getByRole("button", { name: "Save" }).click()]);
  expect(download.suggestedFilename()).toMatch(/\.png$/);
  await accessible(page);
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
});

test("a picture that is too large for a prompt is made smaller, and says so", async () => {
  const id = await startThread(stage, other);
  await openThread(stage, page, id);
  await page.locator(".pane textarea").fill("echo");
  // Noise, which no encoding compresses well.
  const given = await page.locator(".pane textarea").evaluate(async (area) => {
    const canvas = Object.assign(document.createElement("canvas"), { width: 3_000, height: 2_000 });
    const context = canvas.getContext("2d")!;
    const image = context.createImageData(canvas.width, canvas.height);
    const pixels = new Uint32Array(image.data.buffer);
    for (let at = 0, seed = 1; at < pixels.length; at++) {
      seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
      pixels[at] = seed | 0xff00_0000;
    }
    context.putImageData(image, 0, 0);
    const blob = await new Promise<Blob | null>((done) => canvas.toBlob(done));
    const clipboardData = new DataTransfer();
    clipboardData.items.add(new File([blob!], "noise.png", { type: "image/png" }));
    area.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
    return blob!.size;
  });
  expect(given).toBeGreaterThan(5_000_000);
  const chip = page.getByRole("list", { name: "Attached" });
  await chip.waitFor({ timeout: 45_000 });
  const [, width, height] = /3000 × 2000 → (\d+) × (\d+)/.exec(await chip.innerText())!.map(Number);
  expect(width).toBeLessThanOrEqual(2_576);
  expect(Math.abs(width! / height! - 1.5)).toBeLessThan(0.01);
  await shoot(page, "image-shrunk-desktop");
  await accessible(page);
  await page.locator(".pane textarea").press("Enter");
  await line("2 blocks").first().waitFor();
  await until(other, id, "idle");
  const { thread } = await other.call("thread/read", { threadId: id, includeTurns: true });
  const sent = /"mimeType":"(image\/[a-z]+)"/.exec(JSON.stringify(thread.turns));
  expect(sent?.[1]).toBe("image/jpeg");
  const shown = page.locator(".virtual-line img").first();
  await expect.poll(() => shown.evaluate((img: HTMLImageElement) => [img.naturalWidth, img.naturalHeight])).toEqual([width, height]);
});

test("words are said into a running turn", async () => {
  const steered = await Stage.set({ agentArgs: ["--pace", "0", "--steer"] });
  try {
    const client = await steered.daemon.client();
    const view = await steered.page();
    const id = await startThread(steered, client, "steered");
    await openThread(steered, view, id);
    await view.locator(".pane textarea").fill("look left");
    await view.getByRole("button", { name: "Steer", exact: true }).click();
    await view.locator(".virtual-line", { hasText: "heard: look left" }).first().waitFor();
  } finally {
    await steered.end();
  }
});

test("all of it has room on a phone", async () => {
  const id = await startThread(stage, other, "hello");
  await until(other, id, "waiting");
  const phone = await stage.page({ size: PHONE });
  await openThread(stage, phone, id);
  await phone.locator(".pane-foot").getByRole("button", { name: "Allow once", exact: true }).waitFor();
  await expect.poll(() => phone.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
  await shoot(phone, "conversation-phone");
  await accessible(phone);
});

test("a folder outside of the thread is allowed from the notice about it, after it was named", async () => {
  const page = await stage.page();
  const line = (text: string) => page.locator(".virtual-line", { hasText: text });
  const library = join(await realpath(stage.daemon.root), "library");
  await mkdir(library);
  await writeFile(join(library, "book.txt"), "quince");
  const look = `read path='${join(library, "book.txt")}'`;
  const id = await startThread(stage, other, look);
  await openThread(stage, page, id);
  const notice = page.locator(".th-notice[data-code=outsideWorkspace]");
  await notice.getByRole("button", { name: "Allow a folder for this thread…" }).click();
  await expect.poll(() => notice.locator("code").allInnerTexts()).toEqual([library]);
  await accessible(page);
  await notice.getByRole("button", { name: `Allow ${library}`, exact: true }).click();
  await notice.getByRole("status").waitFor();
  const { thread } = await other.call("thread/read", { threadId: id });
  expect(thread.additionalDirectories).toEqual([library]);
  await sayToEnd(page, look);
  await line("quince").first().waitFor();
});
