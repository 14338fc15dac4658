/** Lets a row that changes its section slide to its new place, instead of jumping there, and a new thread's row come in. */

import type { RefObject } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

import type { Section } from "../../state/threads.ts";

interface RowPosition {
  readonly section: string;
  /** Distance from the beginning of the list, in pixels. */
  readonly top: number;
}

/** As `--slide`, `--quick` and `--ease` in the styles. */
const EASING = "cubic-bezier(0.2, 0, 0, 1)";
const SLIDE = { duration: 180, easing: EASING };
const QUICK = { duration: 120, easing: EASING };

/** If more rows change or come at once, such as at midnight, for another grouping or from another page, none moves. */
const AT_ONCE = 3;

const still = matchMedia("(prefers-reduced-motion: reduce)");

/** Follows the rows below an element. Rows that only move along with others do not slide: the whole list would swim. */
export function useSoftMoves(list: RefObject<HTMLElement | null>, sections: readonly Section[]): void {
  const before = useRef<ReadonlyMap<string, RowPosition>>(new Map());
  /** The threads that the list had, also those that it does not render. */
  const had = useRef<ReadonlyMap<string, string>>(new Map());
  useLayoutEffect(() => {
    const element = list.current;
    if (!element) {
      return;
    }
    const origin = element.getBoundingClientRect().top;
    const sectionOf = new Map(sections.flatMap(({ key, threads }) => threads.map(({ id }) => [id, key] as const)));
    const now = new Map<string, RowPosition>();
    const moved: [HTMLElement, number][] = [];
    for (const row of element.querySelectorAll<HTMLElement>("[data-thread]")) {
      const id = row.dataset.thread!;
      const section = sectionOf.get(id);
      if (section !== undefined) {
        // A row may still slide because of an earlier change.
        const place = { section, top: row.getBoundingClientRect().top - offsetOf(row) - origin };
        now.set(id, place);
        const from = before.current.get(id);
        if (from !== undefined && from.section !== section) {
          moved.push([row, from.top - place.top]);
        }
      }
    }
    before.current = now;
    // Not `@starting-style`: a row is made anew when it changes its section, or is scrolled into sight.
    const come = had.current.size === 0 ? [] : [...sectionOf.keys()].filter((id) => !had.current.has(id));
    had.current = sectionOf;
    if (come.length <= AT_ONCE) {
      come.forEach((id) => comeIn(element.querySelector<HTMLElement>(`[data-thread="${CSS.escape(id)}"]`)));
    }
    if (moved.length <= AT_ONCE) {
      moved.forEach(([row, distance]) => slide(row, distance));
    }
  }, [sections]);
}

interface Slide {
  readonly animation: Animation;
  /** From the row's place to where the slide began, in pixels. */
  readonly distance: number;
}

const slides = new WeakMap<HTMLElement, Slide>();

/** Returns how far a row still is from its place, in pixels. */
function offsetOf(row: HTMLElement): number {
  const slide = slides.get(row);
  const progress = slide?.animation.effect?.getComputedTiming().progress;
  // After the slide, there is none.
  return slide === undefined || progress == null ? 0 : slide.distance * (1 - progress);
}

/** Whether nothing moves. A hidden page is not watched, and its rows are where they belong when the user comes back. */
const isStill = () => still.matches || document.hidden;

function comeIn(row: HTMLElement | null): void {
  if (!isStill()) {
    row?.animate?.([{ opacity: 0, translate: "0 4px" }, { opacity: 1, translate: "none" }], QUICK);
  }
}

function slide(row: HTMLElement, distance: number): void {
  if (isStill()) {
    return;
  }
  const from = Math.max(-innerHeight, Math.min(distance, innerHeight));
  const animation = row.animate?.([{ transform: `translateY(${from}px)`, zIndex: 1 }, { transform: "none", zIndex: 1 }], SLIDE);
  if (animation !== undefined) {
    slides.set(row, { animation, distance: from });
  }
}
