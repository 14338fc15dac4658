/**
 * Appends words to a rendered block of Markdown, without parsing all of it again. While a message streams, most of what arrives are plain
 * words, and the block may be long. In: the block's nodes, its source as rendered, and its source now. In doubt nothing is appended, and
 * the caller parses the block.
 */

import { hasRightToLeft } from "./direction.ts";

/** Characters that change nothing before them, in a line of text. */
const PLAIN = /^[\p{L}\p{M}\p{N} ,.;:!?…–—'"()-]*$/u;
/** The same if the block has a bracket: these may complete a link or its definition. */
const ENDS_LINK = /['"():]/;
/** The beginning of an address without a scheme. */
const ADDRESS = /www\./i;
/** Two words with letters: such a line is no underline, no row of dashes, and the mark at its beginning is complete. */
const WORDS = /\p{L}\S*\s.*\p{L}/u;
/** Maximum length of the last word, in UTF-16 units. */
const LONGEST = 100;
/** What has text that may go on. What is marked inside of it, such as a link, has ended. */
const BLOCKS = "p, li, h1, h2, h3, h4, h5, h6, td, th";
/** Number of UTF-16 units in which the nodes must agree with the source. */
const COMPARED = 200;

/** Returns whether the nodes now show `source`. */
export function appendWords(block: Element, before: string, source: string): boolean {
  const added = addedWords(before, source);
  const text = added === undefined ? undefined : lastText(block);
  // The parser drops most spaces at the end of a line.
  const [shown, kept] = [before.trimEnd(), text?.data.trimEnd() ?? ""];
  if (added === undefined || text === undefined || !shown.endsWith(kept.slice(-COMPARED))) {
    return false;
  }
  text.replaceData(kept.length, text.length - kept.length, source.trimEnd().slice(shown.length));
  if (hasRightToLeft(added)) {
    block.classList.add("th-both-ways");
  }
  return true;
}

/** Returns the added text if it consists of plain words that continue a line. */
function addedWords(before: string, source: string): string | undefined {
  if (!source.startsWith(before)) {
    return undefined;
  }
  const added = source.slice(before.length);
  const word = lastWord(before.trimEnd());
  const line = before.slice(before.lastIndexOf("\n") + 1);
  const isPlain = word !== undefined && PLAIN.test(word + added) && !ADDRESS.test(word + added) && WORDS.test(line.slice(0, COMPARED));
  const mayEndLink = before.includes("[") && ENDS_LINK.test(added);
  return isPlain && !mayEndLink ? added : undefined;
}

/** Returns the characters after the last space, if there are few. */
function lastWord(text: string): string | undefined {
  for (let from = text.length; from > text.length - LONGEST; from--) {
    if (from === 0 || /\s/.test(text[from - 1]!)) {
      return text.slice(from);
    }
  }
  return undefined;
}

/** Returns the last text of the block's nodes, if it may go on. */
function lastText(node: Node): Text | undefined {
  for (let child = node.lastChild; child !== null; child = child.previousSibling) {
    if (child instanceof Element) {
      return child.matches("pre, [data-code]") ? undefined : lastText(child);
    }
    if (child instanceof Text && child.data.trim() !== "") {
      return child.parentElement?.matches(BLOCKS) === true ? child : undefined;
    }
  }
  return undefined;
}
