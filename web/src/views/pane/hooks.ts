/** What a thread's pane does besides rendering: the focus, the wanted message, and the announcement of a turn's end. */

import type { Role } from "@acpd/client";
import { useEffect, useLayoutEffect, useState } from "preact/hooks";

import { noteSignIn } from "../../app/agents.ts";
import { isFocusTaken } from "../../app/focus.ts";
import { touch } from "../../app/layout.ts";
import { announce } from "../../app/live-region.ts";
import type { OpenThread } from "../../connection/open-thread.ts";
import { signInWanted } from "../../state/sign-in.ts";
import type { ThreadState } from "../../state/thread.ts";
import { rangesOf } from "../../text/find-words.ts";

/** Focuses the conversation when a thread opens, so that its keys work. A thread without messages starts in the composer. */
export function useFocusOnOpen(): void {
  useEffect(() => {
    if (isFocusTaken() || document.activeElement?.matches("[data-question]")) {
      return;
    }
    const selector = touch.peek() ? ".pane [role=feed]" : ".pane [role=feed], .pane .th-composer-area";
    const target = document.querySelector<HTMLElement>(selector) ?? document.getElementById("main");
    // The mark of the focus is for users who came by the keyboard.
    const byKeys = document.activeElement?.matches(":focus-visible") === true && document.activeElement !== document.body;
    target?.classList.toggle("is-quiet", !byKeys);
    target?.addEventListener("blur", () => target.classList.remove("is-quiet"), { once: true });
    target?.focus({ preventScroll: true });
  }, []);
}

/** Loads older turns until the wanted item is there; returns whether that is going on. */
export function useSeek(thread: OpenThread, target: string | undefined): boolean {
  const [seeking, setSeeking] = useState(false);
  useEffect(() => {
    if (target === undefined) {
      return;
    }
    let over = false;
    setSeeking(true);
    void thread.seek(target).finally(() => over || setSeeking(false));
    return () => {
      over = true;
      setSeeking(false);
    };
  }, [thread, target]);
  return seeking;
}

/** Marks words in the wanted message, while it is rendered. */
export function useFoundWords(words: string | undefined): void {
  useLayoutEffect(() => {
    const feed = document.querySelector(".pane-body");
    if (words === undefined || !feed || typeof Highlight === "undefined") {
      return;
    }
    const mark = () => {
      const target = feed.querySelector(".virtual-line.is-target");
      CSS.highlights.set("found", new Highlight(...(target ? rangesOf(target, words) : [])));
    };
    const observer = new MutationObserver(mark);
    observer.observe(feed, { childList: true, subtree: true });
    mark();
    return () => {
      observer.disconnect();
      CSS.highlights.delete("found");
    };
  }, [words]);
}

/** Returns whether the agent wants the user to sign in, and whether it has opened a session since. */
export function useSignIn(thread: ThreadState, role: Role): { wantsSignIn: boolean; isSignedIn: boolean } {
  const { agentType, sessionId } = thread.head;
  const refusedAt = signInWanted(thread);
  const [before, setBefore] = useState<{ refusedAt: number; sessionId: typeof sessionId }>();
  useEffect(() => {
    if (refusedAt !== undefined) {
      setBefore({ refusedAt, sessionId });
      noteSignIn(agentType, false);
    }
  }, [refusedAt]);
  const isSignedIn = before?.refusedAt === refusedAt && before?.sessionId !== sessionId;
  const may = role === "operator" || role === "owner";
  return { wantsSignIn: refusedAt !== undefined && may, isSignedIn };
}

/** Announces the end of a turn to users who do not see the conversation. */
export function useEnds(turnId: string | undefined, status: string | undefined): void {
  const [was, setWas] = useState({ turnId, status });
  useEffect(() => {
    if (was.turnId === turnId && was.status === "running" && status !== "running" && status !== undefined) {
      announce(status === "completed" ? "The agent has finished" : `The turn is ${status}`);
    }
    setWas({ turnId, status });
  }, [turnId, status]);
}
