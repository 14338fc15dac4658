/** Prints what a user would see when a test fails, and saves a picture of it: a failure that is seldom can then be understood. */

import { afterEach } from "vitest";

import { shoot, Stage } from "./browser.ts";

/** Maximum length of what is printed of a page's text, and of the daemon's log, in characters. */
const SHOWN = 3_000;

afterEach(async ({ task }) => {
  if (task.result?.state !== "fail") {
    return;
  }
  const name = task.name.replace(/\W+/g, "-").slice(0, 60);
  for (const stage of Stage.all) {
    const pages = stage.pages();
    for (const [at, page] of pages.entries()) {
      // A page that hangs would hide the others.
      const seen = await Promise.race([
        shoot(page, `failed-${name}-${at}`).then(() => page.locator("body").innerText({ timeout: 2_000 })),
        new Promise<string>((done) => setTimeout(done, 5_000, "no answer")),
      ]).catch(String);
      console.error(`${page.url()}:\n${seen.slice(0, SHOWN)}`);
    }
    console.error(`the daemon's log ends with:\n${(await stage.daemon.log()).slice(-SHOWN)}`);
  }
});
