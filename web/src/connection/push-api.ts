/** The daemon's side of pushed notifications: the subscription of this browser's session. */

import type { PushKind } from "./kept-key.ts";
import { fetchAsPage } from "./page-key.ts";
import { read, Unreachable } from "./session.ts";

export interface PushState {
  /** The daemon's key, with which it identifies itself to push services: 65 bytes as base64url. */
  publicKey: string;
  /** What is pushed; absent if the session has no subscription. */
  on?: PushKind[];
}

/** Returns the session's subscription, if it has one. */
export async function pushState(): Promise<PushState> {
  return read<PushState>(await request("GET"));
}

/** Stores the subscription of the session, in place of an earlier one. */
export async function putSubscription(subscription: PushSubscription, on: readonly PushKind[]): Promise<void> {
  const { endpoint, keys } = subscription.toJSON();
  await read(await request("PUT", "", { endpoint, keys, on }));
}

/** Removes the session's subscription, if it has one. */
export async function deleteSubscription(): Promise<void> {
  await read(await request("DELETE"));
}

/** Pushes a test to this browser; resolves once the push service has accepted it. */
export async function pushTest(): Promise<void> {
  await read(await request("POST", "/test"));
}

async function request(method: string, path = "", body?: object): Promise<Response> {
  const headers = { accept: "application/json", ...(body && { "content-type": "application/json" }) };
  try {
    return await fetchAsPage(`/api/push${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  } catch {
    throw new Unreachable("The daemon is unreachable.");
  }
}
