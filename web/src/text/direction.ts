/** The direction of text. */

/**
 * The blocks of scripts that are written from right to left, with their presentation forms, and the marks that begin such text:
 * of Unicode's characters, all that are strongly right-to-left are in them.
 */
const RIGHT_TO_LEFT = /[\u0590-\u08FF\u200F\u202B\u202E\u2067\uFB1D-\uFDFF\uFE70-\uFEFF\u{10800}-\u{10FFF}\u{1E800}-\u{1EFFF}]/u;

/** Returns whether a text has characters that are written from right to left. */
export function hasRightToLeft(text: string): boolean {
  return RIGHT_TO_LEFT.test(text);
}
