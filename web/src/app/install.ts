/**
 * Registers the service worker, which shows the page when the daemon is unreachable, and pushed notifications. Installing the
 * page needs it.
 */

/** Time after the page was loaded, in milliseconds: what the user wants now comes first. */
const LATER_MS = 3_000;

/** Registers the worker, if it is not registered yet. */
export const registerWorker = (): Promise<ServiceWorkerRegistration> => navigator.serviceWorker.register("/worker.js");

// Browsers have no workers over plain http, other than from this host. With `npm run dev`, there is no build to store.
if (import.meta.env.PROD && isSecureContext && "serviceWorker" in navigator) {
  addEventListener("load", () => {
    // Browsers reject it in some private windows, and with a certificate that they do not trust.
    setTimeout(() => registerWorker().catch((error: unknown) => console.warn(error)), LATER_MS);
  });
}
