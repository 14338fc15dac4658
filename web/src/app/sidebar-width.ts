/** The width of the sidebar beside the view, as the user has set it in this browser. Without one, the styles decide. */

import { effect, signal } from "@preact/signals";

import { stored } from "../state/stored.ts";

/** The least width, in CSS pixels: the search and its button fit. */
export const LEAST = 220;
/** The greatest width, in CSS pixels. Never more than half of the window. */
const GREATEST = 560;

const isWidth = (value: unknown): boolean => value === null || (typeof value === "number" && value >= LEAST && value <= GREATEST);

/** The width in CSS pixels; `null` if the user has set none. */
export const sidebarWidth = stored<number | null>("sidebar-width", null, isWidth);
/** The width while the user drags its edge. */
export const draggedWidth = signal<number | undefined>(undefined);

/** Returns the greatest width in a window. */
export function greatestWidth(windowWidth: number): number {
  return Math.max(LEAST, Math.min(GREATEST, Math.floor(windowWidth / 2)));
}

/** Returns the possible width next to a wanted one. */
export function possibleWidth(wanted: number, windowWidth: number): number {
  return Math.round(Math.max(LEAST, Math.min(wanted, greatestWidth(windowWidth))));
}

effect(() => {
  const width = draggedWidth.value ?? sidebarWidth.value;
  const { style } = document.documentElement;
  if (width === null) {
    style.removeProperty("--sidebar-width");
  } else {
    // A window that is made smaller keeps the room of the view.
    style.setProperty("--sidebar-width", `max(${LEAST}px, min(${width}px, 50vw))`);
  }
});
