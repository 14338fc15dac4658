/** Announcements for screen readers. There is one live region, so that no text is announced twice. */

import { signal } from "@preact/signals";

export const announcement = signal("");

export function announce(text: string): void {
  // Screen readers announce the same text again only if the region's content changes.
  announcement.value = announcement.peek() === text ? `${text} ` : text;
}
