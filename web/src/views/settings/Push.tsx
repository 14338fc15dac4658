/** The switch for notifications that are pushed to this device, and a test of it. */

import { useState } from "preact/hooks";

import { push, pushProblem } from "../../app/notifications.ts";
import { canPush, pushKinds, testPush, turning, turnOff, turnOn } from "../../app/push.ts";
import { sentence } from "../../connection/connection.ts";

export function Push() {
  if (!canPush) {
    return null;
  }
  const isEmpty = pushKinds.value.length === 0;
  const isWanted = (turning.value ?? push.value) === "on";
  const isOn = push.value === "on" && turning.value === undefined && pushProblem.value === undefined && !isEmpty;
  const explained = isEmpty
    ? "Choose first what to be notified about."
    : push.value === "ended"
      ? "The browser’s push service ended the notifications. Turn them on again."
      : undefined;
  return (
    <>
      <label class="check setting-check">
        <input
          type="checkbox"
          checked={isWanted && !isEmpty}
          disabled={isEmpty}
          aria-describedby={explained ? "push-explained" : undefined}
          onChange={(event) => void (event.currentTarget.checked ? turnOn() : turnOff())}
        />
        Also when acpd is closed
      </label>
      {explained && (
        <p class="hint" id="push-explained">
          {explained}
        </p>
      )}
      {turning.value === "on" && (
        <p class="hint" role="status">
          Asking the browser’s push service…
        </p>
      )}
      {pushProblem.value !== undefined && (
        <p class="error-text" role="alert">
          {pushProblem.value}
        </p>
      )}
      {isOn && <Test />}
    </>
  );
}

type Outcome = { readonly name: "none" | "sending" | "sent" } | { readonly name: "failed"; readonly why: string };

function Test() {
  const [outcome, setOutcome] = useState<Outcome>({ name: "none" });
  const send = async () => {
    if (outcome.name !== "sending") {
      setOutcome({ name: "sending" });
      await testPush().then(
        () => setOutcome({ name: "sent" }),
        (error: unknown) => setOutcome({ name: "failed", why: sentence(error) }),
      );
    }
  };
  return (
    <>
      <button type="button" class="button" aria-disabled={outcome.name === "sending" || undefined} onClick={() => void send()}>
        Send a test
      </button>
      {outcome.name === "failed" ? (
        <p class="error-text" role="alert">
          {outcome.why}
        </p>
      ) : (
        <p class="hint" role="status">
          {outcome.name === "sent" ? "Sent. It arrives within seconds, unless the device is offline." : ""}
        </p>
      )}
    </>
  );
}
