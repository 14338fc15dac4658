/**
 * Global keyboard shortcuts, which `views/settings/shortcut-list.ts` lists for users. Single keys are disabled while the user
 * types, and while Ctrl, Alt or Meta is pressed.
 */

import { shared, standing } from "../connection/connection.ts";

import { noteStop, TWICE_MS } from "./escape.ts";
import { focusThread, focusWhenThere } from "./focus.ts";
import { drawer, narrow, over } from "./layout.ts";
import { announce } from "./live-region.ts";
import { printThread } from "./print.ts";
import { go, route } from "./route.ts";
import { attempt, isListComplete, listSections, loadMoreThreads, open, pin } from "./threads.ts";
import { toast } from "./toasts.ts";
import { isTyping } from "./typing.ts";
import { showWaiting } from "./waiting-walk.ts";

/** Adds the key listener. */
export function listenForShortcuts(): void {
  addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing) {
      return;
    }
    const at = event.target as HTMLElement | null;
    if (event.altKey) {
      // By its place on the keyboard: with Alt, some systems make another letter of it.
      if (event.code === "KeyM" && !event.ctrlKey && !event.metaKey && !at?.closest("dialog, [role=menu]") && pickMode()) {
        event.preventDefault();
      }
      return;
    }
    if (event.ctrlKey || event.metaKey) {
      if (!event.shiftKey && pressWithMod(event.key.toLowerCase(), at)) {
        event.preventDefault();
      }
      return;
    }
    // A shared thread has nowhere to go to, and nothing to stop.
    if (shared.peek() !== undefined) {
      return;
    }
    if (event.key === "Escape") {
      escape(at);
      return;
    }
    // Also while a dialog is being loaded: what the user types is meant for it.
    if (over.peek() !== undefined || isTyping(at)) {
      return;
    }
    if (press(event.key)) {
      event.preventDefault();
    }
  });
}

function pressWithMod(key: string, at: HTMLElement | null): boolean {
  if (key === "k" && shared.peek() === undefined && (over.peek() === "palette" || !at?.closest("dialog"))) {
    over.value = over.peek() === "palette" ? undefined : "palette";
    return true;
  }
  const thread = open.peek();
  if (key === "p" && thread?.shown.peek() && !at?.closest("dialog")) {
    void printThread(thread.threadId);
    return true;
  }
  return false;
}

let escapedAt = -Infinity;

/** Closes the drawer; the second time in a thread, stops the agent and focuses the composer. */
function escape(at: HTMLElement | null): void {
  // A dialog lies over the drawer, and closes alone.
  if (drawer.peek() && !at?.closest("dialog")) {
    drawer.value = false;
    return;
  }
  const thread = open.peek();
  const head = thread?.shown.peek()?.thread.head;
  if (!thread || head?.turnId == null || at?.closest("dialog, [role=menu], .search, select")) {
    escapedAt = -Infinity;
    return;
  }
  const now = performance.now();
  if (now - escapedAt < TWICE_MS) {
    escapedAt = -Infinity;
    noteStop();
    announce("Stopping the agent");
    void attempt("Couldn’t stop", () => thread.interrupt());
    // What the user wants instead comes next.
    focusThread(thread.threadId, "composer", true);
  } else {
    escapedAt = now;
    toast("Press Esc again to stop the agent", { ms: TWICE_MS });
  }
}

function press(key: string): boolean {
  switch (key) {
    case "n":
      go({ view: "home" });
      focusWhenThere("#prompt");
      return true;
    case "/":
      drawer.value = narrow.value;
      focusWhenThere("#search");
      return true;
    case "?":
      over.value = "shortcuts";
      return true;
    case "b":
      drawer.value = narrow.value && !drawer.value;
      return true;
    case "w":
      showWaiting();
      return true;
    case "j":
    case "k":
      void step(key === "j" ? 1 : -1);
      return true;
    case "m":
      return pickMode();
    case "p":
      return togglePin();
    case "i":
      focusWhenThere(".pane .th-composer-area");
      return true;
    case "e": {
      const list = document.querySelector<HTMLElement>(".pane [role=feed]");
      list?.focus();
      list?.dispatchEvent(new KeyboardEvent("keydown", { key: "End", bubbles: true }));
      return list !== null;
    }
    default:
      return false;
  }
}

/** Opens the list of the agent's modes, if there is one to choose from. */
function pickMode(): boolean {
  const button = document.querySelector<HTMLElement>('.th-picker-button[data-category="mode"]:enabled');
  if (button === null || button.checkVisibility?.() === false) {
    return false;
  }
  button.click();
  return true;
}

/** Pins the open thread, or removes its pin. */
function togglePin(): boolean {
  const head = open.peek()?.shown.peek()?.thread.head;
  const who = standing.peek();
  const may = who.name === "in" && (who.session.role === "operator" || who.session.role === "owner");
  if (!head || !may) {
    return false;
  }
  void pin(head, head.pinned !== true);
  return true;
}

/** Opens the next or previous thread of the list, in its visible order. Loads older threads when it comes to the end. */
async function step(by: 1 | -1): Promise<void> {
  const ids = () => (listSections.peek() ?? []).flatMap((section) => section.threads.map(({ id }) => id));
  const now = route.peek();
  if (by === 1 && now.view === "thread" && ids().at(-1) === now.threadId && !isListComplete.peek()) {
    await loadMoreThreads();
  }
  const next = after(ids(), by);
  if (next !== undefined) {
    go({ view: "thread", threadId: next });
  }
}

/** Returns the entry after the open thread, or before it; from the last one, the first. */
function after(ids: readonly string[], by: 1 | -1): string | undefined {
  const now = route.peek();
  const at = now.view === "thread" ? ids.indexOf(now.threadId) : -1;
  return ids[at < 0 ? (by > 0 ? 0 : ids.length - 1) : (at + by + ids.length) % ids.length];
}
