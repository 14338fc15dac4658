/** The service worker of a browser, as the push service and the user of the device meet it. */

import type { Page, Worker } from "playwright-core";

type Shows = Notification & { readonly actions: readonly { readonly action: string; readonly title: string }[] };

/** The globals of a service worker that the tests use. */
interface Globals {
  readonly registration: ServiceWorkerRegistration;
  readonly clients: object;
  readonly WindowClient: { readonly prototype: object };
  readonly ExtendableEvent: { readonly prototype: { waitUntil(this: unknown, promise: Promise<unknown>): void } };
  readonly NotificationEvent: new (type: string, init: { notification: Notification; action: string }) => Event;
  dispatchEvent(event: Event): boolean;
  /** The number of pushed messages that the worker has handled. */
  handled: number;
  /** The notification that the next press is on. */
  held?: Shows | undefined;
}

/** The device of a browser context. */
export class Device {
  private constructor(
    private readonly deliver: (data: string) => Promise<void>,
    readonly worker: Worker,
  ) {}

  /** Returns the device of a page whose worker is active. */
  static async of(page: Page, origin: string): Promise<Device> {
    const context = page.context();
    // A page of its own, so that all others may be closed.
    const blank = await context.newPage();
    const session = await context.newCDPSession(blank);
    await page.bringToFront();
    const registered = new Promise<string>((done) => {
      session.on("ServiceWorker.workerRegistrationUpdated", ({ registrations }) => {
        const found = registrations.find(({ scopeURL }) => scopeURL === `${origin}/`);
        if (found) {
          done(found.registrationId);
        }
      });
    });
    await session.send("ServiceWorker.enable");
    const registrationId = await registered;
    const deliver = async (data: string) => void (await session.send("ServiceWorker.deliverPushMessage", { origin, registrationId, data }));
    const worker = context.serviceWorkers()[0] ?? (await context.waitForEvent("serviceworker"));
    await worker.evaluate(countHandled);
    return new Device(deliver, worker);
  }

  /**
   * Delivers a message to the worker, and waits until it is handled. While a notification is being shown, nothing may ask for
   * those that are shown: Chromium would take it for one that the user has removed.
   */
  async push(text: string): Promise<void> {
    const handled = () => this.worker.evaluate(() => (self as unknown as Globals).handled);
    const before = await handled();
    await this.deliver(text);
    while ((await handled()) === before) {
      await new Promise((next) => setTimeout(next, 50));
    }
  }

  /** Returns the notifications that the device shows. */
  shown(): Promise<Shown[]> {
    return this.worker.evaluate(async () => {
      const { registration } = self as unknown as Globals;
      const all = (await registration.getNotifications()) as Shows[];
      return all.map(({ title, body, tag, requireInteraction, actions }) => ({
        title,
        body,
        tag,
        requireInteraction,
        buttons: actions.map((action) => action.title),
      }));
    });
  }

  /**
   * Makes the next press one on the notification that has a tag now, even if another one takes its place before: as if the press
   * had been before that, and its answer had taken so long.
   */
  async hold(tag: string): Promise<void> {
    await this.worker.evaluate(async (tag) => {
      const globals = self as unknown as Globals;
      [globals.held] = (await globals.registration.getNotifications({ tag })) as Shows[];
    }, tag);
  }

  /**
   * Presses the notification with a tag, or a button of it, some milliseconds from now. Returns the windows that the worker opens
   * or focuses.
   */
  press(tag: string, button = "", later = 60_000): Promise<string[]> {
    return this.worker.evaluate(
      async ([tag, button, later]) => {
        const globals = self as unknown as Globals;
        const [shown] = (await globals.registration.getNotifications({ tag })) as Shows[];
        const notification = globals.held ?? shown;
        globals.held = undefined;
        const action = button === "" ? "" : notification?.actions.find(({ title }) => title === button)?.action;
        if (!notification || action === undefined) {
          throw new Error(`there is no notification ${tag} with a button ${button}`);
        }
        // Browsers let a worker do these only after a press of a user, and wait only for events of their own.
        const windows: string[] = [];
        Object.assign(globals.clients, { openWindow: async (path: string) => void windows.push(path) });
        Object.assign(globals.WindowClient.prototype, { focus: async () => void windows.push("focus") });
        let done: Promise<unknown> = Promise.resolve();
        const { waitUntil } = globals.ExtendableEvent.prototype;
        const { now } = Date;
        Date.now = () => now() + later;
        globals.ExtendableEvent.prototype.waitUntil = (promise) => void (done = promise);
        globals.dispatchEvent(new globals.NotificationEvent("notificationclick", { notification, action }));
        globals.ExtendableEvent.prototype.waitUntil = waitUntil;
        Date.now = now;
        await done;
        return windows;
      },
      [tag, button, later] as const,
    );
  }
}

/** A notification of the device. */
export interface Shown {
  readonly title: string;
  readonly body: string;
  readonly tag: string;
  readonly requireInteraction: boolean;
  readonly buttons: readonly string[];
}

/** Counts the messages that the worker has handled. Runs in the worker. */
function countHandled(): void {
  const globals = self as unknown as Globals;
  // On a busy host, a page takes longer to answer than the worker waits for it.
  const { setTimeout } = self;
  Object.assign(self, { setTimeout: (run: () => void, ms?: number) => setTimeout(run, ms === 400 ? 3_000 : ms) });
  const { prototype } = globals.ExtendableEvent;
  const { waitUntil } = prototype;
  globals.handled = 0;
  prototype.waitUntil = function (this: Event, promise) {
    waitUntil.call(this, promise);
    if (this.type === "push") {
      void promise.finally(() => globals.handled++);
    }
  };
}
