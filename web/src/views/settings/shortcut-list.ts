/** The keyboard shortcuts, as users read them. `app/shortcuts.ts` and the views carry them out. */

export interface Shortcut {
  readonly keys: readonly string[];
  readonly does: string;
}

export interface ShortcutGroup {
  readonly title: string;
  readonly shortcuts: readonly Shortcut[];
}

const MOD = /Mac|iPhone|iPad/.test(navigator.platform) ? "⌘" : "Ctrl";

export const SHORTCUTS: readonly ShortcutGroup[] = [
  {
    title: "Anywhere",
    shortcuts: [
      { keys: [`${MOD} K`], does: "Search threads, commands, agents and settings" },
      { keys: ["n"], does: "New thread" },
      { keys: ["/"], does: "Search threads" },
      { keys: ["w"], does: "Next waiting thread, oldest first; an answer there leaves the focus on the conversation while more wait" },
      { keys: ["j", "k"], does: "Next or previous thread in the list" },
      { keys: ["b"], does: "Open or close the list in a narrow window" },
      { keys: ["?"], does: "Keyboard shortcuts" },
      { keys: ["Esc"], does: "Close" },
    ],
  },
  {
    title: "In a thread",
    shortcuts: [
      { keys: ["1", "…", "4"], does: "Choose an answer, while a request has the focus and is visible to its end; the message box has the focus afterwards" },
      { keys: ["i"], does: "Focus the message box" },
      { keys: ["Esc"], does: "Leave the message box" },
      { keys: ["Esc Esc"], does: "Stop the agent" },
      { keys: ["e"], does: "Go to the end of the conversation" },
      { keys: ["Page Up", "Page Down", "Home", "End"], does: "Scroll" },
      { keys: ["p"], does: "Pin the thread, or remove its pin" },
      { keys: [`${MOD} P`], does: "Print the conversation from its first message" },
    ],
  },
  {
    title: "In a list",
    shortcuts: [
      { keys: ["↑", "↓", "Home", "End"], does: "Move from row to row" },
      { keys: ["1", "…", "4"], does: "Choose an answer, while a waiting row has the focus and shows the whole request" },
    ],
  },
];
