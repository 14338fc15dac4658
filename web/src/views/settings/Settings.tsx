/** The settings of this browser, and the user's identity at the daemon. */

import { askForNotifications, permission, wanted } from "../../app/notifications.ts";
import { over } from "../../app/layout.ts";
import { type Theme, theme } from "../../app/theme.ts";
import { leave, link, standing } from "../../connection/connection.ts";
import { Dialog } from "../parts/Dialog.tsx";
import { ViewSettings } from "../thread/index.ts";

import "./settings.css";

const THEMES: readonly [Theme, string][] = [
  ["system", "System"],
  ["light", "Light"],
  ["dark", "Dark"],
];

export default function Settings() {
  const { value: now } = standing;
  const { value: state } = link;
  const close = () => (over.value = undefined);
  return (
    <Dialog title="Settings" onClose={close}>
      <fieldset class="setting">
        <legend>Appearance</legend>
        <div class="segments">
          {THEMES.map(([value, words]) => (
            <label key={value}>
              <input type="radio" name="theme" checked={theme.value === value} onChange={() => (theme.value = value)} />
              <span>{words}</span>
            </label>
          ))}
        </div>
      </fieldset>
      <ViewSettings />
      <section class="setting">
        <h3>Notifications</h3>
        <Notifications />
      </section>
      {now.name === "in" && (
        <section class="setting">
          <h3>Signed in</h3>
          <p>
            As <strong>{now.session.principal}</strong>, {now.session.role}
            {now.session.expiresAt ? `, until ${new Date(now.session.expiresAt).toLocaleDateString()}` : ""}.
          </p>
          {state.name === "open" && (
            <p class="hint">
              {state.server.serverInfo.name} {state.server.serverInfo.version}
            </p>
          )}
          <button
            type="button"
            class="button"
            onClick={() => {
              close();
              void leave();
            }}
          >
            Sign out
          </button>
        </section>
      )}
    </Dialog>
  );
}

function Notifications() {
  switch (permission.value) {
    case "none":
      return <p class="hint">This browser does not support it.</p>;
    case "insecure":
      return <p class="hint">Notifications require https or localhost.</p>;
    case "denied":
      return <p class="hint">Notifications are blocked for this page. Allow them in the browser settings.</p>;
    case "default":
      return (
        <button type="button" class="button" onClick={() => void askForNotifications()}>
          Notify me when a thread waits
        </button>
      );
    default:
      return (
        <label class="check">
          <input
            type="checkbox"
            checked={wanted.value}
            onChange={(event) => (wanted.value = event.currentTarget.checked)}
          />
          Notify me when a thread waits
        </label>
      );
  }
}
