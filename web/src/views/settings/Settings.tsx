/** The settings of this browser, and the user's identity and devices at the daemon. */

import type { Signal } from "@preact/signals";
import { useState } from "preact/hooks";

import { askForNotifications, permission, wanted, wantedDone } from "../../app/notifications.ts";
import { over } from "../../app/layout.ts";
import { type CodeTheme, codeTheme, type TextSize, textSize, type Theme, theme } from "../../app/theme.ts";
import { leave, link, standing, startsThreads } from "../../connection/connection.ts";
import { visibleLine } from "../../text/bidi-guard.ts";
import { dayAndClock } from "../../text/format.ts";
import { Dialog } from "../parts/Dialog.tsx";
import { ViewSettings } from "../thread/ViewSettings.tsx";

import { DefaultFolder } from "./DefaultFolder.tsx";
import { Devices } from "./Devices.tsx";
import { PairDevice } from "./PairDevice.tsx";
import { Push } from "./Push.tsx";

import "./settings.css";

const THEMES: readonly [Theme, string][] = [
  ["system", "System"],
  ["light", "Light"],
  ["dark", "Dark"],
];
const SIZES: readonly [TextSize, string][] = [
  [88, "Small"],
  [100, "Medium"],
  [113, "Large"],
  [125, "Larger"],
];
const CODE_THEMES: readonly [CodeTheme, string][] = [
  ["", "Default"],
  ["vivid", "Vivid"],
  ["quiet", "Quiet"],
];

export default function Settings() {
  const { value: now } = standing;
  const { value: state } = link;
  const [isPairing, setPairing] = useState(false);
  const close = () => (over.value = undefined);
  if (isPairing && now.name === "in") {
    // A dialog of its own, in which the code is seen without scrolling.
    return (
      <Dialog key="pair" title="Pair a device" onClose={() => setPairing(false)}>
        <PairDevice own={now.session.role} onDone={() => setPairing(false)} />
      </Dialog>
    );
  }
  return (
    <Dialog key="settings" title="Settings" onClose={close}>
      <Choice title="Appearance" name="theme" choices={THEMES} chosen={theme} />
      <Choice title="Text size" name="text-size" choices={SIZES} chosen={textSize} />
      <Choice title="Colours of code" name="code-theme" choices={CODE_THEMES} chosen={codeTheme} />
      <ViewSettings />
      {startsThreads.value && <DefaultFolder />}
      <section class="setting">
        <h3>Notifications</h3>
        <Notifications />
      </section>
      <section class="setting">
        <h3>Help</h3>
        <p>
          <a href="/docs/" target="_blank" rel="noopener">
            Documentation
          </a>
        </p>
      </section>
      {now.name === "in" && now.session.share === undefined && <Devices onPair={() => setPairing(true)} />}
      {now.name === "in" && (
        <section class="setting">
          <h3>Signed in as</h3>
          <p>
            <strong>{visibleLine(now.session.principal)}</strong>
            {now.session.role !== now.session.principal && `, ${now.session.role}`}
            {now.session.expiresAt ? ` until ${dayAndClock(now.session.expiresAt)}` : ""}
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

interface ChoiceProps<T extends string | number> {
  title: string;
  name: string;
  choices: readonly [T, string][];
  chosen: Signal<T>;
}

/** A setting of this browser, which applies at once. */
function Choice<T extends string | number>({ title, name, choices, chosen }: ChoiceProps<T>) {
  return (
    <fieldset class="setting">
      <legend>{title}</legend>
      <div class="segments">
        {choices.map(([value, words]) => (
          <label key={value}>
            <input type="radio" name={name} checked={chosen.value === value} onChange={() => (chosen.value = value)} />
            <span>{words}</span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}

/** Whether this is a tab of Safari on a phone or tablet, where only pages on the home screen have notifications. */
const isOutsideOfHome = (navigator as { standalone?: boolean }).standalone === false;

function Notifications() {
  switch (permission.value) {
    case "none":
      return (
        <p class="hint">
          {isOutsideOfHome
            ? "To receive notifications, add acpd to the home screen of this device, and turn them on there."
            : "This browser does not support notifications."}
        </p>
      );
    case "insecure":
      return <p class="hint">Notifications require https or 127.0.0.1.</p>;
    case "denied":
      return <p class="hint">Notifications are blocked. Allow them in this site’s browser settings.</p>;
    default:
      return (
        <>
          <Notify kind={wanted}>Notify me when a thread is waiting for me</Notify>
          <Notify kind={wantedDone}>Notify me when a turn is done</Notify>
          <Push />
        </>
      );
  }
}

function Notify({ kind, children }: { kind: typeof wanted; children: string }) {
  return (
    <label class="check setting-check">
      <input
        type="checkbox"
        checked={kind.value && permission.value === "granted"}
        onChange={(event) => {
          const { checked } = event.currentTarget;
          if (checked && permission.value !== "granted") {
            void askForNotifications(kind);
          } else {
            kind.value = checked;
          }
        }}
      />
      {children}
    </label>
  );
}
