/**
 * Pushed notifications: shows them, opens what they are about, gives the answers of their buttons, and renews the
 * subscription if the push service changes it.
 */

import { type Kept, keptKey } from "../connection/kept-key.ts";
import { withKey } from "../connection/key-headers.ts";
import { approve, NotAnswered } from "./answer.ts";
import { type FromPage, NOTIFICATIONS_LOCK, PUSH_LOCK, QUESTION, type ToPage } from "./messages.ts";
import { type ButtonAnswer, asksFor, mayRefuse, type NoticeData, notificationOf, pressed, type Pushed, refusalOf } from "./notification.ts";
import { readPayload } from "./payload.ts";

declare const self: ServiceWorkerGlobalScope;

/** Members that TypeScript omits, because not every browser has them. */
interface AllOptions extends NotificationOptions {
  readonly renotify: boolean;
  readonly actions: Pushed["actions"];
}

/** Not every browser has it. */
interface ChangeEvent extends ExtendableEvent {
  readonly newSubscription?: PushSubscription | null;
  readonly oldSubscription?: PushSubscription | null;
}

/** Starts to handle pushed messages and what follows from them. */
export function listenForPushes(): void {
  self.addEventListener("push", (event) => event.waitUntil(pushed(event.data?.text())));
  self.addEventListener("notificationclick", (event) => event.waitUntil(clicked(event)));
  self.addEventListener("pushsubscriptionchange", (event) => (event as ChangeEvent).waitUntil(renew(event as ChangeEvent)));
}

async function pushed(text: string | undefined): Promise<void> {
  const payload = readPayload(text);
  if (payload?.type !== "news" || !(await isSeen(payload.threadId))) {
    const notification = notificationOf(payload);
    await alone(() => show(notification));
  }
}

/** Time for pages to list notifications, in milliseconds. A page that the system has suspended must not keep one back. */
const LOCK_MS = 2_000;

/** Runs an operation while no page lists notifications, unless one does for too long. */
async function alone(run: () => Promise<void>): Promise<void> {
  let isBegun = false;
  const begin = () => {
    isBegun = true;
    return run();
  };
  try {
    await self.navigator.locks.request(NOTIFICATIONS_LOCK, { signal: AbortSignal.timeout(LOCK_MS) }, begin);
  } catch (error) {
    if (isBegun) {
      throw error;
    }
    await begin();
  }
}

function show({ title, data, ...options }: Pushed): Promise<void> {
  const all: AllOptions = { ...options, data: { ...data, shownAt: Date.now() }, renotify: true, icon: "/icon-192.png", lang: "en" };
  return self.registration.showNotification(title, all);
}

async function clicked({ notification, action }: NotificationEvent): Promise<void> {
  const data = dataOf(notification);
  const answer = pressed(data, action, Date.now());
  if (answer) {
    await give(answer, data);
  } else {
    notification.close();
    await open(data);
  }
}

/** The questions that are being answered: a second press must not be reported as too late. */
const answering = new Set<string>();

async function give(answer: ButtonAnswer, data: NoticeData): Promise<void> {
  const { requestId } = answer;
  if (answering.has(requestId)) {
    return;
  }
  answering.add(requestId);
  try {
    await send(answer).then(
      () => alone(() => closeQuestion(requestId, data)),
      (error: unknown) => alone(() => refuse(requestId, refusalOf(data, (error as Error).message))),
    );
  } finally {
    answering.delete(requestId);
  }
}

async function send(answer: ButtonAnswer): Promise<void> {
  const kept = await keptKey();
  if (!kept) {
    throw new NotAnswered("You are signed out. Open acpd to sign in.");
  }
  await approve(kept.pageKey, answer);
}

const dataOf = (notification: Notification): NoticeData => (notification.data ?? {}) as NoticeData;

/** Closes the notification of a question. Meanwhile, that of the thread's next one may have taken its place. */
async function closeQuestion(requestId: string, { threadId }: NoticeData): Promise<void> {
  for (const notification of await self.registration.getNotifications({ tag: threadId })) {
    if (asksFor(dataOf(notification), requestId)) {
      notification.close();
    }
  }
}

/** Shows why an answer was not accepted, unless the thread has other news by now. */
async function refuse(requestId: string, refusal: Pushed): Promise<void> {
  const shown = await self.registration.getNotifications({ tag: refusal.tag });
  if (mayRefuse(shown.map(dataOf), requestId)) {
    await show(refusal);
  }
}

/** Shows a thread in an open page, else in a new one. */
async function open({ threadId, waiting = false }: NoticeData): Promise<void> {
  const [page] = await replies(await pages());
  if (page) {
    // Browsers allow it only after a press, and some not even then.
    await page.client.focus().catch((error: unknown) => console.warn(error));
    if (threadId !== undefined) {
      post(page.client, { type: "show", threadId, question: waiting });
    }
    return;
  }
  await self.clients.openWindow(threadId === undefined ? "/" : `/threads/${encodeURIComponent(threadId)}${waiting ? QUESTION : ""}`);
}

/** Returns whether the user looks at a thread at this moment. */
async function isSeen(threadId: string): Promise<boolean> {
  const focused = (await pages()).filter((page) => page.focused);
  return (await replies(focused, threadId)).some(({ reply }) => reply.isSeen);
}

/** Returns the windows of this origin: those that the user sees first. */
async function pages(): Promise<WindowClient[]> {
  const all = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
  const rank = ({ focused, visibilityState }: WindowClient) => (focused ? 0 : visibilityState === "visible" ? 1 : 2);
  return [...all].sort((one, other) => rank(one) - rank(other));
}

/**
 * Time for pages to reply, in milliseconds. A frozen page does not, and browsers allow a new window only for about a second
 * after the press.
 */
const REPLY_MS = 400;

interface Replied {
  readonly client: WindowClient;
  readonly reply: FromPage;
}

/** Asks windows whether they can show threads; returns those that reply, in the same order. */
async function replies(clients: readonly WindowClient[], threadId?: string): Promise<Replied[]> {
  const asked = clients.map(
    (client) =>
      new Promise<Replied | undefined>((done) => {
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = ({ data }) => done({ client, reply: data as FromPage });
        setTimeout(() => {
          port1.close();
          done(undefined);
        }, REPLY_MS);
        post(client, { type: "asks", threadId }, [port2]);
      }),
  );
  return (await Promise.all(asked)).filter((one) => one !== undefined);
}

function post(client: WindowClient, message: ToPage, ports: Transferable[] = []): void {
  client.postMessage(message, ports);
}

/** Time for a request, in milliseconds. */
const PATIENCE_MS = 15_000;

const request = (pageKey: string, init?: RequestInit): Promise<Response> =>
  fetch("/api/push", withKey(pageKey, { ...init, signal: AbortSignal.timeout(PATIENCE_MS) }));

/** Subscribes again, once no page changes the subscription. */
function renew(event: ChangeEvent): Promise<void> {
  return self.navigator.locks.request(PUSH_LOCK, { signal: AbortSignal.timeout(PATIENCE_MS) }, () => renewNow(event));
}

/** Subscribes again with the same key, and notifies the daemon. */
async function renewNow({ newSubscription, oldSubscription }: ChangeEvent): Promise<void> {
  const kept = await keptKey();
  if (!kept) {
    // The user has turned it off, or signed out.
    await newSubscription?.unsubscribe();
    return;
  }
  const subscription = newSubscription ?? (await subscribe(kept, oldSubscription));
  const { endpoint, keys } = subscription.toJSON();
  const response = await request(kept.pageKey, {
    method: "PUT",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ endpoint, keys, on: kept.on }),
  });
  if (!response.ok) {
    // The page finds out at its next start.
    console.warn(`the daemon refused the new subscription: status ${response.status}`);
  }
}

async function subscribe({ pageKey }: Kept, old: PushSubscription | null | undefined): Promise<PushSubscription> {
  const known = old?.options.applicationServerKey;
  const applicationServerKey = known ?? ((await (await request(pageKey)).json()) as { publicKey: string }).publicKey;
  return self.registration.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey });
}
