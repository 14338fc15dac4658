/**
 * The page's connection to the daemon, as signals: who one is, whether there is a connection. It owns the client, and
 * finds out why a connection is not let in, which browsers do not tell.
 */

import { type Client, connect, type State } from "@acpd/client";
import { computed, signal } from "@preact/signals";

import { onKeyOfOtherTab, PageSocket } from "./page-key.ts";
import { holdQuestions } from "./questions.ts";
import { Refused, type Session, signIn, signOut, takeFromLink, whoAmI } from "./session.ts";

export type Standing =
  /** It is being found out. */
  | { name: "looking" }
  /** Nobody; `why` says what happened, if anything did. */
  | { name: "out"; why?: string }
  | { name: "in"; session: Session };

export const standing = signal<Standing>({ name: "looking" });
export const link = signal<State>({ name: "connecting" });
/** The client, while signed in. */
export const client = signal<Client | undefined>(undefined);
export const online = computed(() => link.value.name === "open");
/** Whether there ever was a connection since signing in: the banner is for those that broke. */
export const wasOnline = signal(false);

/** What this page calls itself; stands beside its decisions in the log. */
export const CLIENT_INFO = { name: "acpd-web", title: "acpd in the browser", version: "0.1.0" };

/** Finds out who one is, with what the link brought, and connects. */
export async function begin(): Promise<void> {
  const shown = takeFromLink();
  if (shown) {
    await enter(shown).catch((error: unknown) => {
      standing.value = { name: "out", why: sentence(error) };
    });
    return;
  }
  try {
    const session = await whoAmI();
    if (session) {
      become(session);
    } else {
      standing.value = { name: "out" };
    }
  } catch {
    // The daemon is away, or starts: the client goes on trying, and a refusal shows later.
    setTimeout(() => void begin(), 2_000);
  }
}

// The cookie of this browser is that tab's by now.
onKeyOfOtherTab(() => {
  if (standing.peek().name === "out") {
    void begin();
  }
});

/** Signs in. Fails with a sentence for the person. */
export async function enter(shown: { token: string } | { ticket: string }): Promise<void> {
  become(await signIn(shown));
}

/** Signs out. */
export async function leave(): Promise<void> {
  drop();
  standing.value = { name: "out" };
  await signOut().catch(() => {});
}

function become(session: Session): void {
  drop();
  standing.value = { name: "in", session };
  const made = connect({
    url: "/",
    clientInfo: CLIENT_INFO,
    capabilities: { approvals: true, streaming: true, subscribers: true, tools: true },
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

/** A browser is not told that a WebSocket was refused for its cookie; a request is. */
async function stillIn(made: Client): Promise<void> {
  try {
    if ((await whoAmI()) === undefined && client.peek() === made) {
      drop();
      standing.value = { name: "out", why: "Your access has ended. Sign in again." };
    }
  } catch (error) {
    if (error instanceof Refused) {
      console.warn(error);
    }
    // It cannot be reached at all: that is what the banner says.
  }
}

function drop(): void {
  client.peek()?.close();
  client.value = undefined;
  wasOnline.value = false;
  link.value = { name: "connecting" };
}

/** What to tell a person about a failure. */
export function sentence(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
