// Marks a row that scrolls sideways with the edges at which more follows, so that its style can show that.

import { useCallback, useRef } from "preact/hooks";

/**
 * Returns a ref for the row, whose `data-more` is kept up to date: `start`, `end`, `both` or empty. The row begins at its start,
 * also when its content arrives later, until the user moves in it.
 */
export function useScrollEdges(): (row: HTMLElement | null) => void {
  const stop = useRef<() => void>(undefined);
  return useCallback((row) => {
    stop.current?.();
    stop.current = undefined;
    if (row === null || typeof ResizeObserver === "undefined") return;
    let untouched = true;
    const touch = () => {
      untouched = false;
    };
    const look = () => {
      const before = Math.abs(row.scrollLeft) > 1;
      const after = row.scrollWidth - row.clientWidth - Math.abs(row.scrollLeft) > 1;
      row.dataset.more = before ? (after ? "both" : "start") : after ? "end" : "";
    };
    const sizes = new ResizeObserver(look);
    // Groups of options have no box of their own, so their content is watched.
    const watch = () => {
      if (untouched) row.scrollLeft = 0;
      sizes.disconnect();
      sizes.observe(row);
      for (const part of row.querySelectorAll(":scope > *, :scope > .th-options > *")) sizes.observe(part);
      look();
    };
    const content = new MutationObserver(watch);
    content.observe(row, { childList: true, subtree: true });
    const over = new AbortController();
    const { signal } = over;
    row.addEventListener("scroll", look, { passive: true, signal });
    for (const event of ["pointerdown", "wheel", "keydown", "focusin"]) row.addEventListener(event, touch, { passive: true, signal });
    watch();
    stop.current = () => {
      sizes.disconnect();
      content.disconnect();
      over.abort();
    };
  }, []);
}
