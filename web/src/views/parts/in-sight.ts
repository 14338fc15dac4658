/** Returns whether an element is visible to its end: in the window, and in everything around it that scrolls or clips. */
export function isInSight(element: HTMLElement): boolean {
  const { top, bottom } = element.getBoundingClientRect();
  for (let at = element.parentElement; at !== null; at = at.parentElement) {
    const clip = at.getBoundingClientRect();
    if (getComputedStyle(at).overflowY !== "visible" && (bottom > clip.bottom + 1 || top < clip.top - 1)) return false;
  }
  return bottom > 0 && bottom <= innerHeight;
}
