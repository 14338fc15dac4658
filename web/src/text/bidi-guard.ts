// Names - paths, commands, hosts - with all invisible characters made visible.
//
// In: any string of an agent. Out: the same string, with invisible and direction-changing characters written as
// ⟨U+202E⟩. Never used for prose, where right-to-left marks are legitimate.

/**
 * Controls except tab and newline, blanks except the space, and what Unicode lets fonts leave out: soft hyphens, zero-width and
 * filler characters, bidi marks and overrides, the byte order mark, variation selectors and tags. Then a few more that most
 * fonts leave out. Each of them can make a name look like another one. The daemon has the same set (`acpd_model::text`).
 */
const UNSEEN =
  /(?![\t\n ])[\p{Cc}\p{White_Space}\p{Default_Ignorable_Code_Point}\u2800\uFFF9-\uFFFB\u{13430}-\u{1343F}\u{16FE4}\u{1D159}]/gu;

/** Any other character. */
const SIGN = String.raw`(?:(?!${UNSEEN.source})[^\t\n ])`;

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
  return oneLine(visible(text));
}

/**
 * Characters of words that are seen. A joiner between two pictures makes one emoji of them, one between Arabic letters changes their
 * shape, a selector makes a picture of a sign or a digit, and a blank between two signs separates them. The daemon has the same rule
 * for blanks (`acpd_model::text::plain_line`).
 */
const SEEN = new RegExp(
  String.raw`(\p{Extended_Pictographic}[\uFE0F\u{1F3FB}-\u{1F3FF}]?\u200D(?=\p{Extended_Pictographic})|\p{Extended_Pictographic}[\uFE0E\uFE0F]|[0-9#*]\uFE0F\u20E3|\p{Script=Arabic}\u200C(?=\p{Script=Arabic})|${SIGN}[\u00A0\u2009\u202F\u3000](?=${SIGN}))`,
  "u",
);

/** Like `visible`, for words: keeps the characters of these that are seen. */
export function visibleWords(text: string): string {
  return text.split(SEEN).map((piece, at) => (at % 2 > 0 ? piece : visible(piece))).join("");
}

/** Like `visibleWords`, for names and titles on a single line. */
export function visibleName(text: string): string {
  return oneLine(visibleWords(text));
}

function oneLine(text: string): string {
  return text.replace(/\n/g, "⏎").replace(/\t/g, "⇥");
}

function codePoint(character: string): string {
  return (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
}
