// Runs the demo of the page behind a sign-in link in Chromium, as a new user does, and prints the agent's answer.
// Usage: node demo.mjs CHROMIUM LINK

import { createRequire } from "node:module";

const { chromium } = createRequire(new URL("../../web/package.json", import.meta.url))("playwright-core");
const [executablePath, link] = process.argv.slice(2);
const browser = await chromium.launch({
  executablePath,
  args: ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"],
});
try {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  page.setDefaultTimeout(20_000);
  await page.goto(link);
  await page.getByRole("button", { name: "Try the demo" }).click();
  await page.getByRole("button", { name: /^Allow once/ }).click();
  const answer = page.locator(".th-agent", { hasText: "Done" }).last();
  await answer.waitFor();
  console.log(await answer.innerText());
} finally {
  await browser.close();
}
