/** The layout of the main journeys is the stored one, at both sizes and in both themes. */

import { afterAll, beforeAll, expect, test } from "vitest";

import { DESKTOP, PHONE } from "./support/browser.ts";
import { Journeys, JOURNEYS } from "./support/journeys.ts";
import { atRest, boxDifferencesOf, FONTS, freeze, layoutDifferences, layoutOf } from "./support/layout.ts";

/** Returns which of the fonts of the stored layouts the browser does not have. */
async function missingFonts(names: readonly string[]): Promise<string[]> {
  const tried = names.map((name) => new FontFace("tried", `local("${name}")`).load().then(() => [], () => [name]));
  return (await Promise.all(tried)).flat();
}

let journeys: Journeys;

beforeAll(async () => {
  journeys = await Journeys.set();
  const page = await journeys.stage.page();
  expect(await page.evaluate(missingFonts, FONTS), "fonts of Debian's fonts-dejavu-core and fonts-droid-fallback are missing").toEqual([]);
});
afterAll(() => journeys?.end());

for (const [size, viewport] of Object.entries({ desktop: DESKTOP, phone: PHONE })) {
  // They mostly wait, so both at once.
  test.concurrent(`the layout is the stored one: ${size}`, { timeout: 300_000 }, async () => {
    const pageOf = journeys.pages({ size: viewport, prepare: freeze });
    const found: string[] = [];
    for (const journey of JOURNEYS) {
      if (journey.narrow && size !== "phone") continue;
      const page = await pageOf(journey);
      await journeys.go(journey, page);
      for (const theme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme: theme });
        found.push(...(await layoutDifferences(page, journey.name, size, theme)));
      }
    }
    expect(found).toEqual([]);
  });
}

test("a moved, a resized and a missing part are found", async () => {
  const page = await journeys.stage.page({ prepare: freeze });
  await journeys.go(JOURNEYS[0]!, page);
  const before = await layoutOf(page);
  const changed = async (style: string) => {
    await page.evaluate((text) => {
      const sheet = new CSSStyleSheet();
      sheet.replaceSync(text);
      document.adoptedStyleSheets = [document.adoptedStyleSheets[0]!, sheet];
    }, style);
    await atRest(page);
    return boxDifferencesOf(before, await layoutOf(page));
  };
  expect(await changed("")).toEqual([]);
  expect((await changed(".home-form { transform: translateY(8px) }")).length, "moved").toBeGreaterThan(0);
  expect((await changed("#prompt { max-width: 80% !important }")).length, "resized").toBeGreaterThan(0);
  expect(await changed(".side-new { display: none }")).toContain('a "New thread": 1 before, 0 now');
});
