/** Whether everything has room, and is reached by keys. */

import type { Locator, Page } from "playwright-core";
import { expect } from "vitest";

/** Returns the elements that overflow the window and are not inside a scrolling or clipping element. */
export function beyond(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const clipped = (el: Element): boolean => {
      for (let at = el.parentElement; at && at !== document.body; at = at.parentElement) {
        if (getComputedStyle(at).overflowX !== "visible") return true;
      }
      return false;
    };
    const wide = document.documentElement.scrollWidth > window.innerWidth ? ["the page itself scrolls"] : [];
    const out = [...document.body.querySelectorAll("*")].filter((el) => {
      const { left, right, width, height } = el.getBoundingClientRect();
      return width > 1 && height > 1 && (left < -1 || right > window.innerWidth + 1) && el.checkVisibility({ visibilityProperty: true }) && !clipped(el);
    });
    // The clipping elements themselves must be fully visible: no button may be cut off.
    const half = [...document.querySelectorAll("button, select, input, textarea")].filter((el) => {
      const { left, right, width, height } = el.getBoundingClientRect();
      const moves = el.closest("pre, table, .th-diff, .th-terminal, .th-composer-options");
      return width > 1 && height > 1 && !moves && el.checkVisibility({ visibilityProperty: true }) && (left < -1 || right > window.innerWidth + 1);
    });
    return [...wide, ...new Set([...out, ...half])].map((el) => (typeof el === "string" ? el : `${el.tagName} ${el.className} ${el.textContent?.slice(0, 40)}`));
  });
}

/** Returns what can be pressed below `root` and is smaller than `least` pixels in a direction. */
export function tooSmall(page: Page, root: string, least: number): Promise<string[]> {
  return page.locator(`${root} :is(button, summary, a[href], select):visible`).evaluateAll(
    (all, least) =>
      all.flatMap((one) => {
        const { width, height } = one.getBoundingClientRect();
        // Links within a sentence have its height. What only keys reach, and what a swipe uncovers, is not pressed here.
        const isFree = getComputedStyle(one).display === "inline" || one.matches(".skip, .row-answers button");
        return isFree || (width >= least && height >= least) ? [] : [`${one.className} ${one.textContent}: ${width}×${height}`];
      }),
    least,
  );
}

/** Returns whether an element is inside the window as a whole, and not covered. */
export function isInSight(element: Locator): Promise<boolean> {
  return element.evaluate((at) => {
    const { left, right, top, bottom, width, height } = at.getBoundingClientRect();
    const inside = width > 0 && left >= 0 && top >= 0 && right <= innerWidth && bottom <= innerHeight;
    const hit = document.elementFromPoint(left + width / 2, top + height / 2);
    return inside && (at === hit || at.contains(hit));
  });
}

/**
 * Presses a key until the element with this name or selector has the focus; checks that each focused element is
 * visible.
 */
export async function walk(page: Page, key: string, to: { name: string } | { selector: string }): Promise<void> {
  const [name, selector] = "name" in to ? [to.name] : [undefined, to.selector];
  for (let steps = 0; steps < 60; steps++) {
    await page.keyboard.press(key);
    const at = await page.evaluate((selector) => {
      const el = document.activeElement!;
      return { name: el.getAttribute("aria-label") ?? el.textContent?.trim(), fits: selector !== undefined && el.matches(selector) };
    }, selector);
    if (at.fits || (name !== undefined && at.name === name)) {
      await expect.poll(() => page.evaluate(isSeen)).toBe(true);
      return;
    }
  }
  throw new Error(`${key} never comes to ${name ?? selector}`);
}

/** Returns whether the focused element is inside the window and has a visible focus mark. */
function isSeen(): boolean {
  const el = document.activeElement!;
  const { left, right, top, bottom } = el.getBoundingClientRect();
  return left >= 0 && top >= 0 && right <= innerWidth && bottom <= innerHeight && el.matches(":focus-visible");
}
