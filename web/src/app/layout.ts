/** Where there is room for what: whether the window is as narrow as a phone, and what is open over it. */

import { signal } from "@preact/signals";

const query = matchMedia("(max-width: 699px)");

export const narrow = signal(query.matches);
query.addEventListener("change", () => {
  narrow.value = query.matches;
  drawer.value = false;
});

/** Whether the sidebar is open, where it lies over the view. */
export const drawer = signal(false);
/** What is open over everything. */
export const over = signal<"shortcuts" | "settings" | undefined>(undefined);
