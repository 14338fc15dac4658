/** The devices that are signed in, and pairings of new ones. */

import type { Role } from "@acpd/client";

import { request } from "./daemon-api.ts";

/** A browser with a session. Times are milliseconds since the epoch. */
export interface SignedInDevice {
  id: string;
  /** The name that a user gave to it. */
  name?: string;
  /** Such as "Firefox on Linux". */
  browser?: string;
  /** The name of its token in the log. */
  principal: string;
  role: Role;
  /** Whether it has a token of its own, which ends with it. */
  isPaired: boolean;
  isCurrent: boolean;
  /** Whether it receives notifications while the page is closed. */
  hasPush: boolean;
  createdAt: number;
  /** Accurate to an hour. */
  usedAt: number;
  expiresAt: number;
}

export interface SignedInDevices {
  devices: SignedInDevice[];
  /** Whether this client may pair more. */
  mayPair: boolean;
}

export interface Pairing {
  ticket: string;
  expiresInSecs: number;
}

export type PairingState = { state: "open" | "gone" } | { state: "used"; name: string };

const DEVICES = "/api/devices";
const PAIRINGS = "/api/pairings";

/** Lists the devices that this client may see, its own first. */
export async function listDevices(): Promise<SignedInDevices> {
  return request<SignedInDevices>("GET", DEVICES);
}

/** Names a device; an empty name removes the name. */
export async function renameDevice(id: string, name: string): Promise<void> {
  await request("PUT", DEVICES, { id, name });
}

/** Signs a device out, and revokes the token of a paired one. */
export async function removeDevice(id: string): Promise<void> {
  await request("DELETE", DEVICES, { id });
}

/** Makes a ticket with which one device signs in, and gets a token of its own. */
export async function pairDevice(role: Role): Promise<Pairing> {
  return request<Pairing>("POST", PAIRINGS, { role });
}

/** Resolves when a device has used the ticket or it has ended, and after 20 s. */
export async function pairingState(ticket: string): Promise<PairingState> {
  return request<PairingState>("POST", `${PAIRINGS}/wait`, { ticket });
}

/** Ends a ticket that no device has used. */
export async function endPairing(ticket: string): Promise<void> {
  await request("DELETE", PAIRINGS, { ticket });
}
