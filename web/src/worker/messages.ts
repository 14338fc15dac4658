/** What the service worker and pages have agreed on. */

/** A message of the service worker to a page. */
export type ToPage =
  /** Asks whether the page can show threads, and whether the user looks at this one. The reply goes to the message's port. */
  | { readonly type: "asks"; readonly threadId?: string }
  /** Makes the page show a thread, or its question. */
  | { readonly type: "show"; readonly threadId: string; readonly question: boolean };

/** A page's reply to `asks`. Pages without a session, and those of a shared thread, do not reply. */
export interface FromPage {
  /** Whether the user looks at the thread, so that no notification is needed. */
  readonly isSeen: boolean;
}

/** The end of the address of a thread that is opened for its question. */
export const QUESTION = "#question";

/**
 * The lock under which notifications are shown, and under which pages list them. Chromium takes one that is being shown while
 * others are listed for one that the user has removed.
 */
export const NOTIFICATIONS_LOCK = "acpd-notifications";

/** The lock under which the subscription is changed: otherwise one that is renewed could outlive its end by the user. */
export const PUSH_LOCK = "acpd-push";
