// Colours for code, loaded when the first code is shown.
//
// In: code and the name of its language. Out: nodes with classes, or nothing where the language is unknown or the code too
// long to be worth it. The grammars are a chunk of their own.

/** Characters beyond which code stays plain: colouring it would hold up the page. */
const LONGEST = 60_000;

/** Names that people write, by the grammar that fits. */
const GRAMMARS: Record<string, string> = {
  bash: "bash", sh: "bash", shell: "bash", zsh: "bash", console: "bash",
  go: "go", golang: "go",
  json: "json", jsonc: "json", json5: "json",
  python: "python", py: "python",
  rust: "rust", rs: "rust",
  typescript: "typescript", ts: "typescript", tsx: "typescript", javascript: "typescript", js: "typescript",
  jsx: "typescript", mjs: "typescript", cjs: "typescript",
  xml: "xml", html: "xml", svg: "xml", vue: "xml",
  yaml: "yaml", yml: "yaml", toml: "yaml",
};

/** The grammar of a language, if there is one. */
export function grammarOf(language: string): string | undefined {
  return Object.hasOwn(GRAMMARS, language.toLowerCase()) ? GRAMMARS[language.toLowerCase()] : undefined;
}

/** The language that a file's name suggests. */
export function languageOfPath(path: string): string {
  return /\.([A-Za-z0-9]+)$/.exec(path)?.[1]?.toLowerCase() ?? "";
}

/** Colours code; resolves to nothing where it stays plain. */
export async function highlight(code: string, language: string): Promise<DocumentFragment | undefined> {
  const grammar = grammarOf(language);
  if (grammar === undefined || code.length > LONGEST) return undefined;
  const { colour } = await import("./highlight-grammars.ts");
  return colour(code, grammar);
}
