/** The daemon's side of pushed notifications: the subscription of this browser's session. */

import { request } from "./daemon-api.ts";
import type { PushKind } from "./kept-key.ts";

const PUSH = "/api/push";

export interface PushState {
  /** The daemon's key, with which it identifies itself to push services: 65 bytes as base64url. */
  publicKey: string;
  /** What is pushed; absent if the session has no subscription. */
  on?: PushKind[];
}

/** Returns the session's subscription, if it has one. */
export async function pushState(): Promise<PushState> {
  return request<PushState>("GET", PUSH);
}

/** Stores the subscription of the session, in place of an earlier one. */
export async function putSubscription(subscription: PushSubscription, on: readonly PushKind[]): Promise<void> {
  const { endpoint, keys } = subscription.toJSON();
  await request("PUT", PUSH, { endpoint, keys, on });
}

/** Removes the session's subscription, if it has one. */
export async function deleteSubscription(): Promise<void> {
  await request("DELETE", PUSH);
}

/** Pushes a test to this browser; resolves once the push service has accepted it. */
export async function pushTest(): Promise<void> {
  await request("POST", `${PUSH}/test`);
}
