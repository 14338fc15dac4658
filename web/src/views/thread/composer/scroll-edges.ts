// Marks a row that scrolls sideways with the edges at which more follows, so that its style can show that.

import { useCallback, useRef } from "preact/hooks";

/** Returns a ref for the row, whose `data-more` is kept up to date: `start`, `end`, `both` or empty. */
export function useScrollEdges(): (row: HTMLElement | null) => void {
  const stop = useRef<() => void>(undefined);
  return useCallback((row) => {
    stop.current?.();
    stop.current = undefined;
    if (row === null || typeof ResizeObserver === "undefined") return;
    const look = () => {
      const before = Math.abs(row.scrollLeft) > 1;
      const after = row.scrollWidth - row.clientWidth - Math.abs(row.scrollLeft) > 1;
      row.dataset.more = before ? (after ? "both" : "start") : after ? "end" : "";
    };
    const observer = new ResizeObserver(look);
    observer.observe(row);
    for (const child of row.children) observer.observe(child);
    row.addEventListener("scroll", look, { passive: true });
    look();
    stop.current = () => {
      observer.disconnect();
      row.removeEventListener("scroll", look);
    };
  }, []);
}
