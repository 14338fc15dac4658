// Shell quoting.

/** Quotes a word as a shell requires, so that it is recognizable as one word. The daemon quotes the same words. */
export function quoted(word: string): string {
  return /^[\p{Alphabetic}\p{N}_@%+=:,./-]+$/u.test(word) ? word : `'${word.replace(/'/g, `'\\''`)}'`;
}
