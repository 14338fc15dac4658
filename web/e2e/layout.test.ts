/** The layout of the main journeys is the stored one, at both sizes and in both themes. */

import { afterAll, beforeAll, expect, test } from "vitest";

import { DESKTOP, PHONE } from "./support/browser.ts";
import { Journeys, JOURNEYS } from "./support/journeys.ts";
import { atRest, boxDifferencesOf, freeze, layoutDifferences, layoutOf } from "./support/layout.ts";

/** Returns whether the browser has the fonts of the stored layouts. */
function hasFonts(): boolean {
  const context = document.createElement("canvas").getContext("2d")!;
  const width = (font: string) => {
    context.font = `40px ${font}`;
    return context.measureText("Widths differ: il1MW").width;
  };
  return ["DejaVu Sans", "DejaVu Sans Mono"].every((name) => ["serif", "cursive"].some((other) => width(other) !== width(`"${name}", ${other}`)));
}

let journeys: Journeys;

beforeAll(async () => {
  journeys = await Journeys.set();
  const page = await journeys.stage.page();
  expect(await page.evaluate(hasFonts), "the fonts of Debian's fonts-dejavu-core").toBe(true);
});
afterAll(() => journeys?.stage.end());

for (const [size, viewport] of Object.entries({ desktop: DESKTOP, phone: PHONE })) {
  for (const theme of ["light", "dark"]) {
    test(`the layout is the stored one: ${size}, ${theme}`, async () => {
      const options = { size: viewport, dark: theme === "dark", prepare: freeze };
      const pages = {
        in: await journeys.stage.page(options),
        out: await journeys.stage.page({ ...options, signIn: false }),
      };
      const found: string[] = [];
      for (const journey of JOURNEYS) {
        if (journey.narrow && size !== "phone") continue;
        const page = journey.signedOut ? pages.out : pages.in;
        await journeys.go(journey, page);
        found.push(...(await layoutDifferences(page, journey.name, size, theme)));
      }
      expect(found).toEqual([]);
    });
  }
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
