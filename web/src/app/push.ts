/**
 * The subscription for pushed notifications, which reach this device although no page is open: at the browser's push service
 * and at the daemon. Loaded only where it is wanted, and by the settings.
 */

import { computed, effect, signal } from "@preact/signals";

import { online, sentence, shared, standing } from "../connection/connection.ts";
import { forgetKey, keepKey, keptKey, type PushKind } from "../connection/kept-key.ts";
import { ownPageKey } from "../connection/page-key.ts";
import { deleteSubscription, pushState, pushTest, putSubscription } from "../connection/push-api.ts";
import { Refused } from "../connection/session.ts";
import { withPeriod } from "../text/format.ts";
import { within } from "../text/within.ts";
import { NOTIFICATIONS_LOCK, PUSH_LOCK } from "../worker/messages.ts";
import type { NoticeData } from "../worker/notification.ts";
import { registerWorker } from "./install.ts";
import { permission, push, pushProblem, wanted, wantedDone } from "./notifications.ts";

/** Whether this browser can receive pushed notifications. */
export const canPush = "PushManager" in globalThis && "serviceWorker" in navigator && isSecureContext;

/** What the user wants to be notified about. */
export const pushKinds = computed<readonly PushKind[]>(() => [
  ...(wanted.value ? (["waiting"] as const) : []),
  ...(wantedDone.value ? (["done", "failed"] as const) : []),
]);

/** What the switch is being set to, until that is done. */
export const turning = signal<"on" | "off" | undefined>(undefined);

/** Identifies the browser's own session; `undefined` while there is none. */
export const session = computed(() => (standing.value.name === "in" && shared.value === undefined ? ownPageKey() : undefined));

/** Turns pushed notifications on. Requests the browser's permission, for which browsers require a click. */
export async function turnOn(): Promise<void> {
  await turn("on", async () => {
    permission.value = await Notification.requestPermission();
    if (permission.value === "default") {
      throw new Refused("Allow notifications when the browser asks.");
    }
    if (permission.value === "granted") {
      await alone(() => subscribe(true));
      push.value = "on";
    }
  });
}

/** Turns pushed notifications off. */
export async function turnOff(): Promise<void> {
  await turn("off", async () => {
    push.value = "off";
    await alone(unsubscribe);
  });
}

async function turn(to: "on" | "off", run: () => Promise<void>): Promise<void> {
  if (turning.peek() !== undefined) {
    return;
  }
  turning.value = to;
  pushProblem.value = undefined;
  try {
    await run();
  } catch (error) {
    pushProblem.value = sentence(error);
  } finally {
    turning.value = undefined;
  }
}

/** Pushes a test to this device. Rejects with a sentence for the user. */
export async function testPush(): Promise<void> {
  try {
    await pushTest();
  } catch (error) {
    // The push service may have ended the subscription.
    void renew(true);
    throw error;
  }
}

/** What this page has last arranged with the daemon. */
let arranged: string | undefined;
const arrangementOf = (pageKey: string | undefined, on: readonly PushKind[]) => `${pageKey} ${on.join()}`;

/** Renews the subscription: the session, the daemon's key or the user's choice may be others than before. */
async function renew(again = false): Promise<void> {
  try {
    await alone(async () => {
      // Another tab may have turned it off meanwhile.
      if (push.peek() === "on") {
        // Only now: an operation that ran until here may have arranged something else than the user has chosen since.
        if (!again && arranged === arrangementOf(session.peek(), pushKinds.peek())) {
          return;
        }
        await subscribe(false);
      }
      pushProblem.value = undefined;
    });
  } catch (error) {
    pushProblem.value = sentence(error);
  }
}

/** Runs an operation while neither a tab nor the worker runs another one. */
function alone(run: () => Promise<void>): Promise<void> {
  return navigator.locks.request(PUSH_LOCK, run);
}

const BLOCKED = "Notifications are blocked. Allow them in this site’s browser settings.";

async function subscribe(isNew: boolean): Promise<void> {
  const pageKey = session.peek();
  const on = pushKinds.peek();
  if (pageKey === undefined) {
    throw new Refused("Sign in first.");
  }
  // Of what is arranged here. The user may choose something else meanwhile, which is then arranged next.
  const arrangement = arrangementOf(pageKey, on);
  const kept = await keptKey();
  if (on.length === 0 || Notification.permission !== "granted") {
    if (kept) {
      await unsubscribe();
    }
    arranged = arrangement;
    if (on.length > 0) {
      throw new Refused(BLOCKED);
    }
    return;
  }
  const isOwn = !isNew && kept?.pageKey === pageKey;
  const state = await pushState();
  if (isOwn && state.on === undefined) {
    // The daemon removes a subscription of this session only if the push service says that it is gone.
    push.value = "ended";
    await unsubscribe();
    return;
  }
  const manager = await pushManager();
  let subscription = await manager.getSubscription();
  // The subscription of an earlier session is not used again: the daemon may still push to it for that session.
  if (subscription && (!isOwn || !hasKey(subscription, state.publicKey))) {
    await subscription.unsubscribe();
    subscription = null;
  }
  subscription ??= await subscribeAt(manager, state.publicKey);
  try {
    await putSubscription(subscription, on);
    await keepKey({ pageKey, on });
  } catch (error) {
    if (!isOwn) {
      await unsubscribe().catch((further: unknown) => console.warn(further));
    }
    throw error;
  }
  arranged = arrangement;
}

async function unsubscribe(): Promise<void> {
  arranged = undefined;
  // One of the two suffices: the push service tells the daemon that the subscription is gone.
  const [atDaemon, atService] = await Promise.allSettled([deleteSubscription(), unsubscribeAt()]);
  await forgetKey();
  if (atDaemon.status === "rejected") {
    console.warn(atDaemon.reason);
    if (atService.status === "rejected") {
      throw atService.reason;
    }
  }
}

async function unsubscribeAt(): Promise<void> {
  const registration = await navigator.serviceWorker.getRegistration();
  await (await registration?.pushManager.getSubscription())?.unsubscribe();
}

/** Time for the browser and its push service, in milliseconds. */
const PATIENCE_MS = 20_000;

async function pushManager(): Promise<PushManager> {
  try {
    await registerWorker();
    const { pushManager } = await within(navigator.serviceWorker.ready, PATIENCE_MS, new Late("it did not become active in time"));
    return pushManager;
  } catch (error) {
    throw new Refused(`The browser could not install acpd’s service worker: ${withPeriod(sentence(error))}`);
  }
}

async function subscribeAt(manager: PushManager, publicKey: string): Promise<PushSubscription> {
  try {
    const subscribed = manager.subscribe({ userVisibleOnly: true, applicationServerKey: bytesOf(publicKey) });
    return await within(subscribed, PATIENCE_MS, new Late("it did not respond in time"));
  } catch (error) {
    const { name } = error as Error;
    if (error instanceof Late) {
      throw new Refused("The browser’s push service did not respond in time.");
    }
    if (name === "NotAllowedError") {
      throw new Refused(BLOCKED);
    }
    throw new Refused(
      name === "AbortError"
        ? "The browser cannot reach its push service, or has none. Some browsers have a setting for it."
        : `The browser’s push service refused: ${withPeriod(sentence(error))}`,
    );
  }
}

/** The browser did not respond in time; the message says so without a period. */
class Late extends Error {
  override readonly name = "Late";
}

function bytesOf(base64url: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(base64url.replace(/-/g, "+").replace(/_/g, "/")), (letter) => letter.charCodeAt(0));
}

function hasKey({ options: { applicationServerKey } }: PushSubscription, publicKey: string): boolean {
  const [one, other] = [new Uint8Array(applicationServerKey ?? new ArrayBuffer()), bytesOf(publicKey)];
  return one.length === other.length && one.every((byte, at) => byte === other[at]);
}

/**
 * Ends pushed notifications with the session that the user has ended, and closes those that are shown. The daemon removes its
 * part by itself.
 */
export async function signedOut(): Promise<void> {
  push.value = "off";
  pushProblem.value = undefined;
  arranged = undefined;
  await alone(async () => {
    await Promise.all([unsubscribeAt(), forgetKey(), closeNotifications(() => true)]);
  });
}

/** Closes the notifications of this device that a function selects. */
export async function closeNotifications(isOver: (data: NoticeData) => boolean): Promise<void> {
  const registration = canPush ? await navigator.serviceWorker.getRegistration() : undefined;
  await navigator.locks.request(NOTIFICATIONS_LOCK, async () => {
    for (const notification of (await registration?.getNotifications()) ?? []) {
      if (isOver((notification.data ?? {}) as NoticeData)) {
        notification.close();
      }
    }
  });
}

effect(() => {
  void pushKinds.value;
  if (push.value === "on" && session.value !== undefined && online.value) {
    void renew(pushProblem.peek() !== undefined);
  }
});
