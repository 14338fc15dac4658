/**
 * The page's connection to the daemon, as signals: identity and state. It owns the client, and finds out why a
 * connection was rejected, which browsers do not report.
 */

import { type Client, connect, type State } from "@acpd/client";
import { computed, signal } from "@preact/signals";

import { CLIENT_INFO } from "./client-info.ts";
import { keepPageKey, onKeyOfOtherTab, ownPageKey, PageSocket } from "./page-key.ts";
import { holdQuestions } from "./questions.ts";
import {
  LINK_ENDED,
  openShare,
  Refused,
  type Session,
  type ShareLink,
  signIn,
  signOut,
  takeFromLink,
  Unreachable,
  whoAmI,
} from "./session.ts";

export type Standing =
  /** The page is checking the session. */
  | { name: "looking" }
  /** Not signed in; `why` is the reason, if there is one. `shared` if the page was opened with a link to a thread. */
  | { name: "out"; why?: string; shared?: boolean }
  | { name: "in"; session: Session };

export const standing = signal<Standing>({ name: "looking" });
export const link = signal<State>({ name: "connecting" });
/** The client, while signed in. */
export const client = signal<Client | undefined>(undefined);
export const online = computed(() => link.value.name === "open");
/** The thread that a link shares, if this page was opened with one. */
export const shared = computed(() => (standing.value.name === "in" ? standing.value.session.share : undefined));
/** The secret of the link with which this page was opened. Nothing stores it, so a page that is loaded again has none. */
export const shareSecret = signal<string | undefined>(undefined);
/** Whether the user may start threads; assumed until the page knows the user. */
export const startsThreads = computed(() => {
  const { value: now } = standing;
  return now.name !== "in" || now.session.role === "owner" || now.session.role === "operator";
});
/** Whether there was a connection since signing in: the banner reports only connections that broke. */
export const wasOnline = signal(false);

/** Checks the session or signs in with the link's credentials, and connects. */
export async function begin(): Promise<void> {
  const shown = takeFromLink();
  if (shown && "share" in shown) {
    return beginShared(shown.share);
  }
  if (shown) {
    return beginWithLink(shown);
  }
  try {
    const session = await whoAmI();
    if (session) {
      become(session);
    } else if (!reloadCached()) {
      standing.value = { name: "out" };
    }
  } catch (error) {
    // The daemon is unavailable or starting. The client reports a rejection later.
    retry(begin, error);
  }
}

/** What a sign-in link has changed, or why it changed nothing, where this browser had a session already. */
export const linkNote = signal<{ text: string; kind: "info" | "error" } | undefined>(undefined);

/** Signs in with a link. One that has ended leaves the session of this browser as it is. */
async function beginWithLink(shown: { token: string } | { ticket: string }): Promise<void> {
  const unknown = (error: unknown) => void console.warn(error);
  const before = ownPageKey() === undefined ? undefined : ((await whoAmI().catch(unknown)) ?? undefined);
  try {
    await enter(shown);
  } catch (error) {
    if (before) {
      become(before);
      linkNote.value = { text: `${sentence(error)} You are still signed in as ${before.principal}.`, kind: "error" };
    } else {
      standing.value = { name: "out", why: sentence(error) };
    }
    return;
  }
  const { value: now } = standing;
  // Whoever sent the link may have made it for another user.
  if (before && now.name === "in" && now.session.principal !== before.principal) {
    linkNote.value = { text: `This browser is now signed in as ${now.session.principal}, no longer as ${before.principal}.`, kind: "info" };
  }
}

/** Shows a shared thread. The browser's own session stays as it is. */
async function beginShared(link: ShareLink): Promise<void> {
  try {
    const session = await openShare(link);
    if (session) {
      shareSecret.value = link.secret;
      become(session);
    } else {
      standing.value = { name: "out", why: LINK_ENDED, shared: true };
    }
  } catch (error) {
    if (error instanceof Refused && !(error instanceof Unreachable)) {
      standing.value = { name: "out", why: sentence(error), shared: true };
    } else {
      retry(() => beginShared(link), error);
    }
  }
}

const RETRY_MS = 2_000;
/** Starts the next attempt to begin. */
let again: (() => void) | undefined;

/** Begins again soon, or when the user wants it; the banner reports that until then. */
function retry(attempt: () => Promise<void>, error: unknown): void {
  link.value = { name: "waiting", retryMs: RETRY_MS, error: error as Error };
  const timer = setTimeout(() => again?.(), RETRY_MS);
  again = () => {
    again = undefined;
    clearTimeout(timer);
    void attempt();
  };
}

/** Connects now instead of later. */
export function reconnect(): void {
  const made = client.peek();
  if (made) {
    made.reconnect();
  } else {
    again?.();
  }
}

// A link that is opened in a tab which shows acpd already only changes the end of the address. The page begins again, so that nothing of
// the session before it stays.
addEventListener("hashchange", () => {
  if (/^#(shared?|ticket|token)=/.test(location.hash)) {
    location.reload();
  }
});

// The browser now has the cookie of that tab's session.
onKeyOfOtherTab(() => {
  if (standing.peek().name === "out") {
    void begin();
  }
});

/** Signs in. Rejects with a sentence for the user. */
export async function enter(shown: { token: string } | { ticket: string }): Promise<void> {
  become(await signIn(shown));
}

const leaving: (() => Promise<void>)[] = [];

/** Runs `handler` when the user signs out in this page. */
export function onLeave(handler: () => Promise<void>): void {
  leaving.push(handler);
}

/** Signs out. */
export async function leave(): Promise<void> {
  drop();
  standing.value = { name: "out" };
  await Promise.all([signOut().catch(() => {}), ...leaving.map((handler) => handler().catch((error: unknown) => console.warn(error)))]);
}

/**
 * Loads the page again if the worker had stored it; returns whether it does. The daemon, which responds now, may be newer, and may
 * not have the files of the views that the page loads when they are shown. The page has nothing to lose yet.
 */
function reloadCached(): boolean {
  const isCached = "cached" in document.documentElement.dataset;
  if (isCached) {
    location.reload();
  }
  return isCached;
}

function become(session: Session): void {
  if (reloadCached()) {
    return;
  }
  drop();
  standing.value = { name: "in", session };
  const made = connect({
    url: "/",
    clientInfo: CLIENT_INFO,
    capabilities: { approvals: !session.share, streaming: true, subscribers: !session.share, tools: true },
    WebSocket: PageSocket,
    onError: (error) => console.warn(error),
  });
  holdQuestions(made);
  made.onState((state) => {
    if (client.peek() === made) {
      link.value = state;
      if (state.name === "open") {
        wasOnline.value = true;
        const { principal, role } = state.server.identity;
        standing.value = { name: "in", session: { ...session, principal, role } };
      } else if (state.name === "waiting" || state.name === "closed") {
        void stillIn(made);
      }
    }
  });
  client.value = made;
  link.value = made.state;
}

/** Browsers do not report that a WebSocket was rejected because of its cookie. An HTTP request reveals it. */
async function stillIn(made: Client): Promise<void> {
  try {
    if ((await whoAmI()) === undefined && client.peek() === made) {
      const wasShared = shared.peek() !== undefined;
      drop();
      if (wasShared) {
        keepPageKey();
      }
      standing.value = wasShared
        ? { name: "out", why: LINK_ENDED, shared: true }
        : { name: "out", why: "Your session has ended. Sign in again." };
    }
  } catch (error) {
    if (error instanceof Refused) {
      console.warn(error);
    }
    // The daemon is unreachable: the banner reports that.
  }
}

/** How often a page that is looked at uses its session, in milliseconds. */
const USE_MS = 3_600_000;
let usedAt = Date.now();

/** Uses the session, which ends without use: an open connection is none, and a page can stay open for weeks. */
function use(): void {
  const made = client.peek();
  if (made && document.visibilityState === "visible" && Date.now() - usedAt >= USE_MS) {
    usedAt = Date.now();
    void stillIn(made);
  }
}

document.addEventListener("visibilitychange", use);
setInterval(use, USE_MS);

function drop(): void {
  client.peek()?.close();
  client.value = undefined;
  wasOnline.value = false;
  link.value = { name: "connecting" };
}

/** Returns the message of an error for the user. */
export function sentence(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
