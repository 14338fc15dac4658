/** Finds the words of a search in rendered text, by the rules of the daemon's search. */

/** Returns the words and the quoted phrases of a search. */
export function wordsOf(query: string): string[] {
  return [...query.matchAll(/"([^"]*)"?|(\S+)/g)].map(([, phrase, word]) => plain(phrase ?? word ?? "").trim()).filter((word) => word !== "");
}

/** Returns where the words of a search are in an element. Each word matches where a word of the text begins. */
export function rangesOf(element: Element, query: string): Range[] {
  const words = wordsOf(query);
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  const ranges: Range[] = [];
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    for (const [start, end] of findWords(node.textContent ?? "", words)) {
      const range = document.createRange();
      range.setStart(node, start);
      range.setEnd(node, end);
      ranges.push(range);
    }
  }
  return ranges;
}

/** Returns the positions of words in a text. */
export function findWords(text: string, words: readonly string[]): [start: number, end: number][] {
  const { folded, at } = fold(text);
  return words.flatMap((word) => {
    const found: [number, number][] = [];
    for (let from = folded.indexOf(word); from >= 0; from = folded.indexOf(word, from + 1)) {
      if (from === 0 || !/[\p{L}\p{N}]/u.test(folded[from - 1]!)) {
        found.push([at[from]!, at[from + word.length]!]);
      }
    }
    return found;
  });
}

/** Removes case and accents, as the search does. */
function plain(text: string): string {
  return text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
}

/** Removes case and accents; `at` has the original position of each position, and of the end. */
function fold(text: string): { folded: string; at: number[] } {
  let folded = "";
  const at: number[] = [];
  let position = 0;
  for (const character of text) {
    const simple = plain(character);
    folded += simple;
    for (let index = 0; index < simple.length; index++) {
      at.push(position);
    }
    position += character.length;
  }
  at.push(position);
  return { folded, at };
}
