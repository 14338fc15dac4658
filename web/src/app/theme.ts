/** How this browser shows the page: light or dark, the size of text, and the colours of code. */

import { effect } from "@preact/signals";

import { stored } from "../state/stored.ts";

export type Theme = "system" | "light" | "dark";
/** In percent of the browser's own size. */
export type TextSize = 88 | 100 | 113 | 125;
export type CodeTheme = "" | "vivid" | "quiet";

const one = <T>(name: string, first: T, others: readonly T[]) => stored<T>(name, first, (value) => value === first || others.includes(value as T));

export const theme = one<Theme>("theme", "system", ["light", "dark"]);
export const textSize = one<TextSize>("text-size", 100, [88, 113, 125]);
export const codeTheme = one<CodeTheme>("code-theme", "", ["vivid", "quiet"]);

effect(() => {
  const { dataset, style } = document.documentElement;
  if (theme.value === "system") {
    delete dataset.theme;
  } else {
    dataset.theme = theme.value;
  }
  // All sizes of text are in `rem`.
  style.fontSize = textSize.value === 100 ? "" : `${textSize.value}%`;
  dataset.code = codeTheme.value;
});
