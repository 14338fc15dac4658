// Syntax highlighting, loaded with the first code.
//
// In: code and the name of its language. Out: nodes with classes, or nothing if the language is unknown or the code too
// long. The grammars are a separate chunk.

import DOMPurify, { type Config } from "dompurify";

const LET_IN: Config = { ALLOWED_TAGS: ["span"], ALLOWED_ATTR: ["class"], RETURN_DOM_FRAGMENT: true };

/** Maximum length of highlighted code, in characters: more would block the page. */
const LONGEST = 60_000;

/** Common names of languages, with their grammars. */
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

/** Returns the grammar of a language, if there is one. */
export function grammarOf(language: string): string | undefined {
  return Object.hasOwn(GRAMMARS, language.toLowerCase()) ? GRAMMARS[language.toLowerCase()] : undefined;
}

/** Returns the language by the file name's extension. */
export function languageOfPath(path: string): string {
  return /\.([A-Za-z0-9]+)$/.exec(path)?.[1]?.toLowerCase() ?? "";
}

/** A piece of a line, and its class. */
export interface Token {
  readonly text: string;
  readonly class: string;
}

/** Highlights code; resolves to its lines, or to `undefined` if it stays plain. */
export async function highlightLines(code: string, language: string): Promise<Token[][] | undefined> {
  const coloured = await highlight(code, language);
  if (coloured === undefined) return undefined;
  const lines: Token[][] = [[]];
  const walk = (node: Node, classes: string) => {
    for (const child of node.childNodes) {
      if (child instanceof Element) {
        walk(child, child.className);
        continue;
      }
      (child.textContent ?? "").split("\n").forEach((text, at) => {
        if (at > 0) lines.push([]);
        if (text !== "") lines.at(-1)!.push({ text, class: classes });
      });
    }
  };
  walk(coloured, "");
  return lines;
}

/** Highlights code; resolves to `undefined` if it stays plain. */
export async function highlight(code: string, language: string): Promise<DocumentFragment | undefined> {
  const grammar = grammarOf(language);
  if (grammar === undefined || code.length > LONGEST) return undefined;
  const { colour } = await import("./highlight-grammars.ts");
  const nodes = DOMPurify.sanitize(colour(code, grammar), LET_IN);
  return nodes as unknown as DocumentFragment;
}
