/** The current time for views. It advances every half minute, often enough for ages. */

import { signal } from "@preact/signals";

export const now = signal(Date.now());

setInterval(() => {
  now.value = Date.now();
}, 30_000);
document.addEventListener("visibilitychange", () => {
  now.value = Date.now();
});
