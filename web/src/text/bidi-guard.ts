// Names - paths, commands, hosts - with all invisible characters made visible.
//
// In: any string of an agent. Out: the same string, with invisible and direction-changing characters written as
// ⟨U+202E⟩. Never used for prose, where right-to-left marks are legitimate.

/**
 * Controls except tab and newline, soft hyphen, zero-width and filler characters, bidi marks and overrides, the byte
 * order mark, line separators, variation selectors' supplement and tags. Each of them can make a name look like another
 * one.
 */
const UNSEEN =
  /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u00AD\u034F\u061C\u115F\u1160\u17B4\u17B5\u180B-\u180F\u200B-\u200F\u2028-\u202E\u2060-\u206F\u3164\uFEFF\uFFA0\uFFF0-\uFFFB]|[\u{E0000}-\u{E0FFF}]/gu;

/** Characters that change the direction of following text, or start another line. */
const REORDERS = /[\u061C\u200E\u200F\u2028-\u202E\u2066-\u2069]/g;

/** For code, diffs and terminals: escapes characters that change the apparent order of text. Keeps emoji. */
export function visibleOrder(text: string): string {
  return text.replace(REORDERS, (found) => `⟨U+${codePoint(found)}⟩`);
}

/** Escapes invisible characters. */
export function visible(text: string): string {
  return text.replace(UNSEEN, (unseen) => `⟨U+${codePoint(unseen)}⟩`);
}

/** Like `visible`, for a single line: also escapes newlines and tabs. */
export function visibleLine(text: string): string {
  return visible(text).replace(/\n/g, "⏎").replace(/\t/g, "⇥");
}

/** A joiner that is seen: between two pictures it makes one emoji of them, between Arabic letters it changes their shape. */
const SEEN_JOINER =
  /(\p{Extended_Pictographic}[\uFE0F\u{1F3FB}-\u{1F3FF}]?\u200D(?=\p{Extended_Pictographic})|\p{Script=Arabic}\u200C(?=\p{Script=Arabic}))/u;

/** Like `visibleLine`, for names and titles in words: keeps joiners that are seen. */
export function visibleName(text: string): string {
  return text.split(SEEN_JOINER).map((piece, at) => (at % 2 > 0 ? piece : visibleLine(piece))).join("");
}

function codePoint(character: string): string {
  return (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
}
