// Shell quoting.

/** Quotes a word as a shell requires, so that it is recognizable as one word. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replace(/'/g, `'\\''`)}'`;
}
