/** Roving focus in a list: Tab reaches one row, and the arrow keys move from there. */

/** Moves the focus among the elements with `data-rove` below `currentTarget`. */
export function rove(event: KeyboardEvent): void {
  const steps: Record<string, (at: number, all: number) => number> = {
    ArrowDown: (at) => at + 1,
    ArrowUp: (at) => at - 1,
    Home: () => 0,
    End: (_, all) => all - 1,
  };
  const step = steps[event.key];
  const from = (event.target as HTMLElement).closest<HTMLElement>("[data-rove]");
  if (!step || !from || (event.target as HTMLElement).closest("[role=menu]")) {
    return;
  }
  const all = [...(event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>("[data-rove]")];
  const to = all[step(all.indexOf(from), all.length)];
  event.preventDefault();
  to?.focus();
  to?.scrollIntoView({ block: "nearest" });
}
