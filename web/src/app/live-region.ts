/** What is said to screen readers as it happens. One region, so that nothing is said twice. */

import { signal } from "@preact/signals";

export const announcement = signal("");

export function announce(text: string): void {
  // The same words again are news only if something else stood there in between.
  announcement.value = announcement.peek() === text ? `${text} ` : text;
}
