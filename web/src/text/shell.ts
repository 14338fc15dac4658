// Words as a shell would read them.

/** A word, quoted where a shell would need it: what is one word is seen to be one. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replace(/'/g, `'\\''`)}'`;
}
