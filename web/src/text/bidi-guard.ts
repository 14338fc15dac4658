// Text that names something - a path, a command, a host - with every character in it that a reader would not see.
//
// In: any string of an agent. Out: the same string, with invisible and direction-changing characters written as ⟨U+202E⟩.
// Never used for prose, where right-to-left marks are legitimate.

/**
 * Controls but tab and newline, soft hyphen, zero-width and filler characters, bidi marks and overrides, the byte order
 * mark, line separators, variation selectors' supplement and tags. Each of them can make a name look like another one.
 */
const UNSEEN =
  /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u00AD\u034F\u061C\u115F\u1160\u17B4\u17B5\u180B-\u180F\u200B-\u200F\u2028-\u202E\u2060-\u206F\u3164\uFEFF\uFFA0\uFFF0-\uFFFB]|[\u{E0000}-\u{E0FFF}]/gu;

/** What changes the direction of what stands after it, or begins another line. */
const REORDERS = /[\u061C\u200E\u200F\u2028-\u202E\u2066-\u2069]/g;

/** For code, diffs and terminals: writes what would make lines read otherwise than they run. Emoji stay as they are. */
export function visibleOrder(text: string): string {
  return text.replace(REORDERS, (found) => `⟨U+${codePoint(found)}⟩`);
}

/** Writes what cannot be seen. */
export function visible(text: string): string {
  return text.replace(UNSEEN, (unseen) => `⟨U+${codePoint(unseen)}⟩`);
}

/** Like `visible`, for what stands on one line: newlines and tabs are written too. */
export function visibleLine(text: string): string {
  return visible(text).replace(/\n/g, "⏎").replace(/\t/g, "⇥");
}

function codePoint(character: string): string {
  return (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
}
