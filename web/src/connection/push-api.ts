/** The daemon's side of pushed notifications: the subscription of this browser's session. */

import { withPeriod } from "../text/format.ts";
import type { PushKind } from "./kept-key.ts";
import { fetchAsPage } from "./page-key.ts";
import { read, Refused, Unreachable } from "./session.ts";

export interface PushState {
  /** The daemon's key, with which it identifies itself to push services: 65 bytes as base64url. */
  publicKey: string;
  /** What is pushed; absent if the session has no subscription. */
  on?: PushKind[];
}

/** Returns the session's subscription, if it has one. */
export async function pushState(): Promise<PushState> {
  return request<PushState>("GET");
}

/** Stores the subscription of the session, in place of an earlier one. */
export async function putSubscription(subscription: PushSubscription, on: readonly PushKind[]): Promise<void> {
  const { endpoint, keys } = subscription.toJSON();
  await request("PUT", "", { endpoint, keys, on });
}

/** Removes the session's subscription, if it has one. */
export async function deleteSubscription(): Promise<void> {
  await request("DELETE");
}

/** Pushes a test to this browser; resolves once the push service has accepted it. */
export async function pushTest(): Promise<void> {
  await request("POST", "/test");
}

async function request<T>(method: string, path = "", body?: object): Promise<T> {
  const headers = { accept: "application/json", ...(body && { "content-type": "application/json" }) };
  let response: Response;
  try {
    response = await fetchAsPage(`/api/push${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  } catch {
    throw new Unreachable("The daemon is unreachable.");
  }
  return read<T>(response).catch((error: unknown) => {
    throw new Refused(asSentence((error as Error).message));
  });
}

/** The daemon's errors have no capital and no period, because other clients quote them. */
function asSentence(words: string): string {
  return withPeriod(words.charAt(0).toUpperCase() + words.slice(1));
}
