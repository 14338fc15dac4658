/** Global keyboard shortcuts. They are disabled while the user types, and while Ctrl, Alt or Meta is pressed. */

import { drawer, narrow, over } from "./layout.ts";
import { go, route } from "./route.ts";
import { threads, waiting } from "./threads.ts";

export interface Shortcut {
  readonly keys: readonly string[];
  readonly does: string;
}

export const SHORTCUTS: readonly Shortcut[] = [
  { keys: ["n"], does: "New thread" },
  { keys: ["/"], does: "Search the history" },
  { keys: ["w"], does: "Next thread that waits for you" },
  { keys: ["j"], does: "Next thread in the list" },
  { keys: ["k"], does: "Previous thread in the list" },
  { keys: ["i"], does: "Write to the agent" },
  { keys: ["e"], does: "Go to the end of the conversation" },
  { keys: ["b"], does: "Open or close the list, on a narrow window" },
  { keys: ["?"], does: "This list" },
  { keys: ["Esc"], does: "Close what is open" },
];

/** Adds the key listener. */
export function listenForShortcuts(): void {
  addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey) {
      return;
    }
    if (event.key === "Escape" && drawer.value) {
      drawer.value = false;
      return;
    }
    const at = event.target as HTMLElement | null;
    if (at?.closest("input, textarea, select, dialog, [contenteditable], [role=menu]")) {
      return;
    }
    if (press(event.key)) {
      event.preventDefault();
    }
  });
}

function press(key: string): boolean {
  switch (key) {
    case "n":
      go({ view: "home" });
      focusSoon("#prompt");
      return true;
    case "/":
      drawer.value = narrow.value;
      focusSoon("#search");
      return true;
    case "?":
      over.value = "shortcuts";
      return true;
    case "b":
      drawer.value = narrow.value && !drawer.value;
      return true;
    case "w":
      step(waiting.value, 1);
      return true;
    case "j":
    case "k":
      step(threads.value ?? [], key === "j" ? 1 : -1);
      return true;
    case "i":
      focusSoon(".pane textarea");
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

function step(list: readonly { id: string }[], by: number): void {
  const now = route.peek();
  const at = now.view === "thread" ? list.findIndex(({ id }) => id === now.threadId) : -1;
  const next = list[at < 0 ? (by > 0 ? 0 : list.length - 1) : (at + by + list.length) % list.length];
  if (next) {
    go({ view: "thread", threadId: next.id });
  }
}

function focusSoon(selector: string): void {
  requestAnimationFrame(() => document.querySelector<HTMLElement>(selector)?.focus());
}
