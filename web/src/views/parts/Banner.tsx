/** Reports a lost connection, for as long as it lasts, and that the page reconnects automatically. */

import { client, link, reconnect, shared, wasOnline } from "../../connection/connection.ts";

export function Banner() {
  const state = link.value;
  // Before the first connection there is no failure to report.
  const shows = state.name === "waiting" || (state.name === "connecting" && wasOnline.value) || state.name === "closed";
  return (
    <div role="status" aria-live="polite">
      {shows && (
        <div class="banner">
          <span>
            {state.name === "closed"
              ? (state.error?.message ?? "The connection is closed.")
              : shared.value || !client.value
                ? "Offline. Reconnecting…"
                : "Offline. Reconnecting… Your agents keep running."}
          </span>
          {state.name !== "closed" && (
            <button type="button" class="button" onClick={reconnect}>
              Try now
            </button>
          )}
        </div>
      )}
    </div>
  );
}
