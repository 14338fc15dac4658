/** The time, as views see it: it goes on every half minute, so that ages are right and nothing ticks. */

import { signal } from "@preact/signals";

export const now = signal(Date.now());

setInterval(() => {
  now.value = Date.now();
}, 30_000);
document.addEventListener("visibilitychange", () => {
  now.value = Date.now();
});
