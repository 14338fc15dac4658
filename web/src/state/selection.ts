/** Selections of threads in a list: what a click or a key makes of one. Pure. */

/** Maximum number of selected threads. The daemon limits requests, so more would take minutes. */
export const MOST = 500;

/** Adds a thread, or removes it if it is selected. */
export function toggled(selected: ReadonlySet<string>, id: string): ReadonlySet<string> {
  const next = new Set(selected);
  if (!next.delete(id) && next.size < MOST) {
    next.add(id);
  }
  return next;
}

/** Adds the threads between two others, and these. `order` is that of the list. */
export function withRange(selected: ReadonlySet<string>, order: readonly string[], from: string, to: string): ReadonlySet<string> {
  const [one, other] = [order.indexOf(from), order.indexOf(to)];
  if (other < 0) {
    return selected;
  }
  // What the range began at may have left the list.
  const [first, last] = one < 0 ? [other, other] : [Math.min(one, other), Math.max(one, other)];
  return new Set([...selected, ...order.slice(first, last + 1)].slice(0, MOST));
}

/** Returns the selection without threads that the list no longer shows; the same object if it shows all of them. */
export function stillShown(selected: ReadonlySet<string>, order: readonly string[]): ReadonlySet<string> {
  const shown = new Set(order);
  const left = [...selected].filter((id) => shown.has(id));
  return left.length === selected.size ? selected : new Set(left);
}

/** Returns the thread that has the focus when selected ones leave the list: the first left after them, or else the last before. */
export function nextFocus(order: readonly string[], leaving: ReadonlySet<string>): string | undefined {
  const at = order.findIndex((id) => leaving.has(id));
  return order.slice(at < 0 ? 0 : at).find((id) => !leaving.has(id)) ?? order.findLast((id) => !leaving.has(id));
}
