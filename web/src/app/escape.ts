/** Escape, which stops the agent when it is pressed twice. */

/** Time in which a second Escape stops the agent, in milliseconds. */
export const TWICE_MS = 1_500;

let stoppedAt = -Infinity;

/** Notes that Escape has just stopped the agent. */
export function noteStop(): void {
  stoppedAt = performance.now();
}

/** Returns whether Escape has just stopped the agent: one more press was meant for that, not for what has the focus since. */
export function hasJustStopped(): boolean {
  return performance.now() - stoppedAt < TWICE_MS;
}
