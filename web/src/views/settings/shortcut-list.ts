/** The keyboard shortcuts, as users read them. `app/shortcuts.ts` and the views carry them out. */

import type { SendKey } from "../thread/content/settings.ts";

export interface Shortcut {
  readonly keys: readonly string[];
  readonly does: string;
}

export interface ShortcutGroup {
  readonly title: string;
  readonly shortcuts: readonly Shortcut[];
}

const MAC = /Mac|iPhone|iPad/.test(navigator.platform);
const [MOD, ALT] = MAC ? ["⌘", "⌥"] : ["Ctrl", "Alt"];

/** Returns the shortcuts of a user who sends messages with this key. */
export function shortcuts(sendKey: SendKey): readonly ShortcutGroup[] {
  const [send, line] = sendKey === "enter" ? ["Enter", "Shift Enter"] : [`${MOD} Enter`, "Enter"];
  return [
    {
      title: "Anywhere",
      shortcuts: [
        { keys: [`${MOD} K`], does: "Search threads, commands, agents and settings" },
        { keys: ["n"], does: "New thread" },
        { keys: ["/"], does: "Search threads" },
        { keys: ["w"], does: "Next waiting thread, oldest first" },
        { keys: ["j", "k"], does: "Next or previous thread in the list" },
        { keys: ["b"], does: "Open or close the list in a narrow window" },
        { keys: ["?"], does: "Keyboard shortcuts" },
        { keys: ["Esc"], does: "Close" },
      ],
    },
    {
      title: "In a list",
      shortcuts: [
        { keys: ["↑", "↓", "Home", "End"], does: "Move from row to row" },
        { keys: ["x"], does: "Select the thread, to act on several; Esc clears" },
        { keys: ["Shift ↑", "Shift ↓", `${MOD} A`], does: "Select more threads, or all" },
        { keys: [`${ALT} ↑`, `${ALT} ↓`], does: "Move a pinned thread" },
        { keys: ["Menu", "Shift F10"], does: "Menu of the row, as a right click" },
        { keys: ["1", "…", "4"], does: "Answer, while a waiting row shows the whole request" },
        { keys: ["←", "→"], does: "Width of the list, on its edge" },
      ],
    },
    {
      title: "In a thread",
      shortcuts: [
        { keys: ["1", "…", "4"], does: "Answer, while a request has the focus and is visible to its end" },
        { keys: ["i"], does: "Focus the message box" },
        { keys: ["m"], does: "Choose the mode" },
        { keys: ["p"], does: "Pin the thread, or remove its pin" },
        { keys: ["e"], does: "Go to the end of the conversation" },
        { keys: ["Page Up", "Page Down", "Home", "End"], does: "Scroll" },
        { keys: ["Esc Esc"], does: "Stop the agent" },
        { keys: [`${MOD} P`], does: "Print the conversation" },
      ],
    },
    {
      title: "In the message box",
      shortcuts: [
        { keys: [send!], does: "Send; while the agent works, queue" },
        { keys: [`${ALT} Enter`], does: "Steer: send to the running turn" },
        { keys: [line!], does: "New line" },
        { keys: ["↑", "↓"], does: "Earlier prompts, while the box is empty" },
        { keys: ["/"], does: "The agent’s commands; Tab completes one" },
        { keys: [`${ALT} M`], does: "Choose the mode" },
        { keys: ["Esc"], does: "Leave the message box, or the editing of an earlier message" },
      ],
    },
  ];
}
