/** Roving focus in a list: Tab reaches one row, and the arrow keys move from there. */

/** Moves the focus among the elements with `data-rove` below `currentTarget`, of which a long list has only some. */
export function rove(event: KeyboardEvent): void {
  const list = event.currentTarget as HTMLElement;
  const from = (event.target as HTMLElement).closest<HTMLElement>("[data-rove]");
  if (!from || (event.target as HTMLElement).closest("[role=menu]") || event.ctrlKey || event.altKey || event.metaKey) {
    return;
  }
  const rows = () => [...list.querySelectorAll<HTMLElement>("[data-rove]")];
  switch (event.key) {
    case "ArrowDown":
    case "ArrowUp": {
      event.preventDefault();
      const step = event.key === "ArrowDown" ? 1 : -1;
      const move = () => focus(rows()[rows().indexOf(from) + step]);
      if (isVisible(from, list)) {
        move();
      } else {
        // Its neighbours are rendered once it is visible.
        from.scrollIntoView({ block: "nearest" });
        afterFrame(move);
      }
      break;
    }
    case "Home":
    case "End": {
      event.preventDefault();
      const end = event.key === "End";
      list.scrollTop = end ? list.scrollHeight : 0;
      afterFrame(() => focus(rows().at(end ? -1 : 0)));
      break;
    }
  }
}

function focus(row: HTMLElement | undefined): void {
  row?.focus({ preventScroll: true });
  row?.scrollIntoView({ block: "nearest" });
}

function isVisible(row: HTMLElement, list: HTMLElement): boolean {
  const [inner, outer] = [row.getBoundingClientRect(), list.getBoundingClientRect()];
  return inner.bottom > outer.top && inner.top < outer.bottom;
}

/** Runs a function after the next frame, in which scrolling has its effects. */
function afterFrame(run: () => void): void {
  requestAnimationFrame(() => requestAnimationFrame(run));
}
