/** The devices that are signed in: each can be named and removed. */

import { useEffect, useState } from "preact/hooks";

import { announce } from "../../app/live-region.ts";
import { sentence } from "../../connection/connection.ts";
import {
  listDevices,
  removeDevice,
  renameDevice,
  type SignedInDevice,
  type SignedInDevices,
} from "../../connection/devices-api.ts";
import { visibleLine } from "../../text/bidi-guard.ts";
import { dateAndTime, dayAndClock } from "../../text/format.ts";

/** Number of devices that are shown at first. */
const FIRST = 6;

export function Devices({ onPair }: { onPair: () => void }) {
  const [listed, setListed] = useState<SignedInDevices>();
  const [error, setError] = useState<string>();
  const [all, setAll] = useState(false);
  const [open, setOpen] = useState<{ id: string; act: "rename" | "remove" }>();
  const look = () => {
    listDevices().then(
      (found) => {
        setListed(found);
        setError(undefined);
      },
      (why: unknown) => setError(sentence(why)),
    );
  };
  useEffect(look, []);
  const change = async (run: () => Promise<void>, done: string) => {
    try {
      await run();
      setOpen(undefined);
      announce(done);
      look();
    } catch (why) {
      setError(sentence(why));
    }
  };
  const devices = listed?.devices ?? [];
  return (
    <section class="setting">
      <h3>Devices</h3>
      <ul role="list" class="devices">
        {devices.slice(0, all ? undefined : FIRST).map((device) => {
          const isOpen = open?.id === device.id;
          const name = nameOfDevice(device);
          return (
            <li key={device.id}>
              {isOpen && open.act === "rename" ? (
                <Rename
                  device={device}
                  onSave={(to) => void change(() => renameDevice(device.id, to), "Renamed the device")}
                  onClose={() => setOpen(undefined)}
                />
              ) : (
                <>
                  <span class="device-words">
                    <span class="truncate">{name}</span>
                    <span class="hint" title={`Signed in ${dateAndTime(device.createdAt)}, until ${dateAndTime(device.expiresAt)}`}>
                      {about(device, name)}
                    </span>
                  </span>
                  {isOpen ? (
                    <Confirm
                      device={device}
                      name={name}
                      onRemove={() => void change(() => removeDevice(device.id), `Removed ${name}`)}
                      onClose={() => setOpen(undefined)}
                    />
                  ) : (
                    <>
                      <button
                        type="button"
                        class="button quiet"
                        aria-label={`Rename ${name}`}
                        onClick={() => setOpen({ id: device.id, act: "rename" })}
                      >
                        Rename
                      </button>
                      {!device.isCurrent && (
                        <button
                          type="button"
                          class="button quiet danger"
                          aria-label={`Remove ${name}`}
                          onClick={() => setOpen({ id: device.id, act: "remove" })}
                        >
                          Remove
                        </button>
                      )}
                    </>
                  )}
                </>
              )}
            </li>
          );
        })}
      </ul>
      {devices.length > FIRST && !all && (
        <button type="button" class="button quiet" onClick={() => setAll(true)}>
          Show all {devices.length}
        </button>
      )}
      {error !== undefined && (
        <p class="error-text" role="alert">
          {error}
        </p>
      )}
      {listed?.mayPair && (
        <button type="button" class="button" onClick={onPair}>
          Pair a device…
        </button>
      )}
    </section>
  );
}

/** Returns what a device is called. Names come from users, so that they are made visible. */
export function nameOfDevice({ name, isPaired, browser, principal }: SignedInDevice): string {
  return visibleLine(name ?? (isPaired ? principal : (browser ?? principal)));
}

function about({ isCurrent, browser, principal, role, usedAt }: SignedInDevice, name: string): string {
  const token = principal === role ? role : `${visibleLine(principal)}, ${role}`;
  const seen = isCurrent ? "this device" : `last seen ${dayAndClock(usedAt)}`;
  return [seen, ...(browser !== undefined && browser !== name ? [browser] : []), principal === name ? role : token].join(" · ");
}

interface ConfirmProps {
  device: SignedInDevice;
  name: string;
  onRemove: () => void;
  onClose: () => void;
}

function Confirm({ device, name, onRemove, onClose }: ConfirmProps) {
  return (
    <span class="device-confirm">
      <span class="hint">
        {device.isPaired
          ? "Signs it out, with all that it has signed in."
          : `Signs it out. Its token, ${visibleLine(device.principal)}, stays valid.`}
      </span>
      <button type="button" class="button danger" aria-label={`Remove ${name} now`} onClick={onRemove}>
        Remove
      </button>
      <button type="button" class="button" onClick={onClose}>
        Keep
      </button>
    </span>
  );
}

interface RenameProps {
  device: SignedInDevice;
  onSave: (name: string) => void;
  onClose: () => void;
}

function Rename({ device, onSave, onClose }: RenameProps) {
  const [name, setName] = useState(device.name ?? "");
  return (
    <form
      class="device-rename"
      onSubmit={(event) => {
        event.preventDefault();
        onSave(name.trim());
      }}
    >
      <input
        class="field"
        aria-label="Name of the device"
        value={name}
        maxLength={32}
        placeholder={nameOfDevice(device)}
        onInput={(event) => setName(event.currentTarget.value)}
      />
      <button type="submit" class="button">
        Save
      </button>
      <button type="button" class="button quiet" onClick={onClose}>
        Cancel
      </button>
    </form>
  );
}
