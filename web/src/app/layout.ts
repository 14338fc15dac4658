/** Layout state: whether the window is as narrow as a phone, and which overlay is open. */

import { signal } from "@preact/signals";

const query = matchMedia("(max-width: 699px)");

export const narrow = signal(query.matches);
query.addEventListener("change", () => {
  narrow.value = query.matches;
  drawer.value = false;
});

/** Whether the sidebar is open as a drawer over the view. */
export const drawer = signal(false);
/** The open dialog. */
export const over = signal<"shortcuts" | "settings" | undefined>(undefined);
