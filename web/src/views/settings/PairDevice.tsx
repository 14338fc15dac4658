/** Signs another device in: a link that works once, as a QR code. */

import type { Role } from "@acpd/client";
import { useEffect, useMemo, useState } from "preact/hooks";

import { sentence } from "../../connection/connection.ts";
import { endPairing, pairDevice, pairingState } from "../../connection/devices-api.ts";
import { visibleLine } from "../../text/bidi-guard.ts";
import { dayAndClock } from "../../text/format.ts";
import { encodeQr, pathOfQr } from "../../text/qr.ts";

/** Addresses that lead to the device itself. */
const LOOPBACK = /^(localhost|127\.|\[::1\]|.*\.localhost$)/;

/** All roles, each with what it adds to the one before. */
const ROLES: readonly [Role, string][] = [
  ["observer", "Observer: reads all threads"],
  ["approver", "Approver: also answers questions"],
  ["operator", "Operator: also starts threads and sends prompts"],
  ["owner", "Owner: also changes policies and installs agents"],
];

/** Returns the roles that a client with this role can give to a device. */
export function rolesUpTo(role: Role): readonly [Role, string][] {
  return ROLES.slice(0, ROLES.findIndex(([known]) => known === role) + 1);
}

type Step =
  | { readonly name: "making" }
  | { readonly name: "open"; readonly ticket: string; readonly until: number }
  | { readonly name: "used"; readonly device: string }
  | { readonly name: "gone" }
  | { readonly name: "failed"; readonly why: string };

export function PairDevice({ own, onDone }: { own: Role; onDone: () => void }) {
  const [role, setRole] = useState<Role>("approver");
  const [round, setRound] = useState(0);
  const [step, setStep] = useState<Step>({ name: "making" });
  useEffect(() => {
    let over = false;
    let unused: string | undefined;
    const show = (next: Step) => {
      if (!over) {
        setStep(next);
      }
    };
    const run = async () => {
      const { ticket, expiresInSecs } = await pairDevice(role);
      unused = ticket;
      if (over) {
        return endPairing(ticket);
      }
      show({ name: "open", ticket, until: Date.now() + expiresInSecs * 1_000 });
      let state = await pairingState(ticket);
      while (state.state === "open" && !over) {
        state = await pairingState(ticket);
      }
      if (state.state !== "open") {
        unused = undefined;
        show(state.state === "used" ? { name: "used", device: state.name } : { name: "gone" });
      }
    };
    show({ name: "making" });
    run().catch((error: unknown) => show({ name: "failed", why: sentence(error) }));
    return () => {
      over = true;
      if (unused !== undefined) {
        // If the daemon is unreachable, the ticket expires.
        endPairing(unused).catch(() => undefined);
      }
    };
  }, [role, round]);
  return (
    <div class="pair">
      {LOOPBACK.test(location.hostname) && (
        <p class="hint">
          This page’s address, <code>{location.host}</code>, works only on this computer. To pair a phone, open acpd at an address that the
          phone can reach, or run <code>acpd pair --tailscale</code> on the daemon’s host.
        </p>
      )}
      <label class="label" for="pair-role">
        Role of the device
      </label>
      <select id="pair-role" class="field" value={role} onChange={(event) => setRole(event.currentTarget.value as Role)}>
        {rolesUpTo(own).map(([value, words]) => (
          <option key={value} value={value}>
            {words}
          </option>
        ))}
      </select>
      <p role="status">{said(step)}</p>
      {step.name === "open" && <Qr text={`${location.origin}/#ticket=${step.ticket}`} />}
      <div class="dialog-foot">
        {(step.name === "gone" || step.name === "failed") && (
          <button type="button" class="button" onClick={() => setRound(round + 1)}>
            New code
          </button>
        )}
        <button type="button" class="button" onClick={onDone}>
          Done
        </button>
      </div>
    </div>
  );
}

function said(step: Step): string {
  switch (step.name) {
    case "making":
      return "Making a code…";
    case "open":
      return `Scan this code with the device. It works once, until ${dayAndClock(step.until)}.`;
    case "used":
      return `Paired ${visibleLine(step.device)}.`;
    case "gone":
      return "The code has expired, and no device has used it.";
    case "failed":
      return step.why;
  }
}

function Qr({ text }: { text: string }) {
  const modules = useMemo(() => encodeQr(text), [text]);
  // The quiet zone around a code is four modules wide.
  const size = modules.length + 8;
  return (
    <svg class="qr" viewBox={`-4 -4 ${size} ${size}`} role="img" aria-label="QR code with a sign-in link" shape-rendering="crispEdges">
      <path d={pathOfQr(modules)} fill="currentColor" />
    </svg>
  );
}
