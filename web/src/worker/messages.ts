/** Messages of the service worker to pages. */
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
