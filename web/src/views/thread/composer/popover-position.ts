// The position of a list that opens from a button or a field: above it, or below it if there is more room. It is fixed
// to the window, since its anchor may be inside a scrolling element.

import type { RefObject } from "preact";
import { useLayoutEffect } from "preact/hooks";

/** Pixels between the list and its anchor, and between the list and the edge of the window. */
const [GAP, EDGE] = [6, 8];

/** Keeps a list next to its anchor while it is open. With `stretch`, it is as wide as the anchor. */
export function usePopoverPosition(anchor: RefObject<HTMLElement | null>, list: RefObject<HTMLElement | null>, open: boolean, stretch = false): void {
  useLayoutEffect(() => {
    if (!open) return;
    const stand = () => {
      if (anchor.current !== null && list.current !== null) placePopover(anchor.current, list.current, stretch);
    };
    stand();
    window.addEventListener("resize", stand);
    window.addEventListener("scroll", stand, true);
    return () => {
      window.removeEventListener("resize", stand);
      window.removeEventListener("scroll", stand, true);
    };
  });
}

function placePopover(anchor: HTMLElement, list: HTMLElement, stretch: boolean): void {
  const { top, bottom, left, width } = anchor.getBoundingClientRect();
  const { clientWidth, clientHeight } = document.documentElement;
  const above = top - GAP - EDGE;
  const below = clientHeight - bottom - GAP - EDGE;
  const { style } = list;
  if (stretch) style.width = `${width}px`;
  style.left = `${Math.max(EDGE, Math.min(left, clientWidth - list.offsetWidth - EDGE))}px`;
  if (above >= below || above > 320) {
    style.bottom = `${clientHeight - top + GAP}px`;
    style.top = "auto";
    style.maxHeight = `${Math.min(360, above)}px`;
  } else {
    style.top = `${bottom + GAP}px`;
    style.bottom = "auto";
    style.maxHeight = `${Math.min(360, below)}px`;
  }
}
