/** Returns whether keys at this element are text, or are for a menu or a dialog: there, none is a shortcut or an answer. */
export function isTyping(at: HTMLElement | null): boolean {
  return at?.closest("input, textarea, select, dialog, [contenteditable], [role=menu]") != null;
}
