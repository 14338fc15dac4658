/** Every view fits on a phone, even a small one, and even if the agent offers many options. */

import type { Client } from "@acpd/client";
import { afterAll, beforeAll, expect, test } from "vitest";

import { openThread, startThread, until } from "./support/acts.ts";
import { accessible, PHONE, shoot, Stage } from "./support/browser.ts";
import { beyond, walk } from "./support/room.ts";

let stage: Stage;
let other: Client;
let asking: string;
let running: string;
/** A thread with everything that can be copied. */
let talk: string;
/** A thread whose turn had a plan. */
let planned: string;

beforeAll(async () => {
  stage = await Stage.set();
  other = await stage.daemon.client();
  running = await startThread(stage, other, "plan; say `a_name_that_is_quite_long_and_cannot_be_broken_anywhere_at_all_in_any_way`; tool kind=edit; slow ms=600000", {
    name: "A thread with a name that is longer than a phone is wide, by far",
  });
  const long = "a line that is longer than a phone is wide, so that it goes on in the next one and ends anywhere. ";
  talk = await startThread(stage, other, `terminal /usr/bin/seq 40; say "${long.repeat(3)}\\n\\n\`\`\`sh\\n${"npm-run-a-command ".repeat(8)}\\n\`\`\`\\n\\nThe end."`);
  await until(other, talk, "idle");
  planned = await startThread(stage, other, "plan; say 'All of it is done.'");
  await until(other, planned, "idle");
  asking = await startThread(stage, other, "permission kind=execute command='npm run a-script-with-a-long-name -- --and-one-more-flag-that-is-long'");
  await until(other, asking, "waiting");
});
afterAll(() => stage?.end());

/** Returns texts that a copy button covers. */
function covered(pane: Element): string[] {
  const buttons = [...pane.querySelectorAll(".th-copy")].filter((button) => button.checkVisibility({ visibilityProperty: true }));
  const walker = document.createTreeWalker(pane, NodeFilter.SHOW_TEXT);
  const found: string[] = [];
  for (let text = walker.nextNode(); text !== null; text = walker.nextNode()) {
    const range = document.createRange();
    range.selectNodeContents(text);
    for (const { left, right, top, bottom } of range.getClientRects()) {
      const under = buttons
        .map((button) => button.getBoundingClientRect())
        .find((at) => left < at.right && right > at.left && top < at.bottom && bottom > at.top);
      if (under && right - left > 1) found.push(`${text.textContent}: text ${left}–${right}, button ${under.left}–${under.right}`);
    }
  }
  return found;
}

for (const width of [1280, 390]) {
  test(`at ${width} px what copies an answer is clear of the plan below it`, async () => {
    const page = await stage.page({ size: { width, height: 700 } });
    await openThread(stage, page, planned);
    const plan = page.locator(".virtual-line .th-plan");
    await plan.waitFor();
    const answer = page.locator(".th-agent", { hasText: "All of it is done." });
    await answer.hover();
    const copy = answer.getByRole("button", { name: "Copy message" });
    await copy.waitFor();
    const overlaps = () =>
      plan.evaluate((card) => {
        const at = card.getBoundingClientRect();
        const buttons = [...document.querySelectorAll(".virtual-line :is(.th-copy, .th-message-acts)")].filter((one) => one.checkVisibility());
        return buttons
          .map((one) => one.getBoundingClientRect())
          .filter(({ left, right, top, bottom }) => left < at.right && right > at.left && top < at.bottom && bottom > at.top)
          .map(({ top, bottom }) => `button ${top}–${bottom}, card ${at.top}–${at.bottom}`);
      });
    await expect.poll(overlaps).toEqual([]);
  });
}

for (const width of [390, 320]) {
  test(`at ${width} px nothing is out of reach`, async () => {
    const page = await stage.page({ size: { width, height: 700 } });
    const fits = async (name: string) => {
      await shoot(page, `room-${width}-${name}`);
      await expect.poll(() => beyond(page), { message: name }).toEqual([]);
    };
    await page.locator(".home-form").waitFor();
    await fits("new-thread");
    for (const view of ["agents", "policy", "archive", `threads/${asking}/policy`]) {
      await page.goto(`${stage.url}/${view}`);
      await page.locator(".page").waitFor();
      await fits(view.split("/").at(-1)!);
    }
    await openThread(stage, page, asking);
    await page.locator(".pane-foot").getByRole("button", { name: "Allow once", exact: true }).waitFor();
    await fits("approval");
    await expect.poll(() => page.locator(".pane").evaluate(covered)).toEqual([]);
    await openThread(stage, page, talk);
    await page.locator(".th-agent pre").first().waitFor();
    await expect.poll(() => page.locator(".pane .th-copy:visible").count()).toBeGreaterThan(2);
    await expect.poll(() => page.locator(".pane").evaluate(covered)).toEqual([]);
    await openThread(stage, page, running);
    await page.locator(".pane textarea").waitFor();
    await page.getByRole("button", { name: "Stop" }).waitFor();
    await fits("running");
    await page.locator(".pane textarea").fill("something to say");
    await page.getByRole("button", { name: "Queue" }).waitFor();
    await fits("composer");
    await page.locator(".drawer-button").click();
    await page.locator(".row").first().waitFor();
    await fits("drawer");
    // Long texts in names, messages and commands.
    await page.fill("#search", "long");
    await page.locator(".row-link.is-hit mark").first().waitFor();
    await page.locator(".hits-head mark").first().waitFor();
    await fits("search");
    await accessible(page);
    await page.fill("#search", "nothing-that-was-ever-said-and-cannot-be-broken-either");
    await page.getByText("Nothing found").first().waitFor();
    await fits("search-nothing");
    await page.getByRole("button", { name: "Settings" }).click();
    await page.getByRole("dialog").first().waitFor();
    await fits("settings");
  });

  test(`at ${width} px the composer's options show that there are more`, async () => {
    const page = await stage.page({ size: { width, height: 700 } });
    await openThread(stage, page, running);
    const options = page.locator(".th-composer-options");
    await expect.poll(() => options.getAttribute("data-more")).toBe("end");
    expect(await options.evaluate((at) => at.scrollLeft)).toBe(0);
    await expect.poll(() => options.evaluate((at) => getComputedStyle(at).maskImage)).toContain("gradient");
    await options.evaluate((at) => at.scrollTo(at.scrollWidth, 0));
    await expect.poll(() => options.getAttribute("data-more")).toBe("start");
    // The last of it, which may be the tokens and the cost, is in sight then.
    const gap = await options.evaluate((at) => {
      const last = [...at.querySelectorAll(":scope > *, :scope > .th-options > *")].filter((one) => one.getClientRects().length > 0).at(-1)!;
      return last.getBoundingClientRect().right - at.getBoundingClientRect().right;
    });
    expect(gap).toBeLessThanOrEqual(1);
  });

  test(`at ${width} px the dot of what waits is on the button of the list`, async () => {
    const page = await stage.page({ size: { width, height: 700 } });
    await page.locator(".drawer-button .dot").waitFor();
    const [dot, icon] = await page.locator(".drawer-button").evaluate((button) =>
      [".dot", "svg"].map((one) => button.querySelector(one)!.getBoundingClientRect()).map(({ left, right, top, bottom }) => ({ left, right, top, bottom })),
    );
    expect(dot!.left).toBeLessThan(icon!.right);
    expect(dot!.bottom).toBeGreaterThan(icon!.top);
  });

  test(`at ${width} px one can sign in`, async () => {
    const page = await stage.page({ size: { width, height: 700 }, signIn: false });
    const fits = async (name: string) => {
      await shoot(page, `room-${width}-${name}`);
      await expect.poll(() => beyond(page), { message: name }).toEqual([]);
    };
    await page.locator("#token").waitFor();
    await fits("sign-in");
    await page.fill("#token", "wrong".repeat(40));
    await page.keyboard.press("Enter");
    await page.locator("#token-error").waitFor();
    await fits("sign-in-refused");
    await accessible(page);
  });

  test(`at ${width} px what sends and stops is at the right, in the last row`, async () => {
    const page = await stage.page({ size: { width, height: 700 } });
    await openThread(stage, page, running);
    const place = () =>
      page.evaluate(() => {
        const box = document.querySelector(".th-composer")!.getBoundingClientRect();
        const acts = document.querySelector(".th-composer-acts")!.getBoundingClientRect();
        return { right: box.right - acts.right, below: box.bottom - acts.bottom };
      });
    for (const words of ["", "something to say"]) {
      await page.locator(".pane textarea").fill(words);
      await page.getByRole("button", { name: words ? "Queue" : "Stop" }).waitFor();
      const { right, below } = await place();
      expect(right).toBeGreaterThanOrEqual(0);
      expect(right).toBeLessThan(16);
      expect(below).toBeLessThan(16);
    }
  });
}

test("on a phone with a keyboard all is done by keys alone: from the list to a thread, to its composer, to an answer", async () => {
  const id = await startThread(stage, other, "say hello", { name: "By keys" });
  await until(other, id, "idle");
  const page = await stage.page({ size: PHONE });
  await page.goto(`${stage.url}/agents`);
  await page.locator(".page").waitFor();
  await walk(page, "Tab", { selector: ".drawer-button" });
  await page.keyboard.press("Enter");
  await page.locator("#sidebar.is-open").waitFor();
  await expect.poll(() => page.evaluate(() => document.activeElement?.closest("#sidebar") != null)).toBe(true);
  await walk(page, "Tab", { selector: "[data-rove]" });
  await walk(page, "ArrowDown", { selector: `[data-thread="${id}"] [data-rove]` });
  await page.keyboard.press("Enter");
  await page.waitForURL(`**/threads/${id}`);
  await page.locator(".pane textarea").waitFor();
  // The drawer is closed, and the focus is in the conversation.
  await expect.poll(() => page.evaluate(() => document.activeElement?.getAttribute("role"))).toBe("feed");
  await walk(page, "Tab", { selector: ".pane textarea" });
  await page.keyboard.type("permission kind=execute command='npm test'");
  await page.keyboard.press("Enter");
  await until(other, id, "waiting");
  await page.locator(".pane-foot").getByRole("button", { name: "Allow once", exact: true }).waitFor();
  await walk(page, "Shift+Tab", { name: "Allow once" });
  await shoot(page, "keys-phone");
  await page.keyboard.press("Enter");
  await page.locator(".virtual-line", { hasText: "allowed (allow_once)" }).first().waitFor();
  // Its button is gone; the focus moves to the composer.
  await expect.poll(() => page.evaluate(() => document.activeElement?.tagName)).toBe("TEXTAREA");
});
