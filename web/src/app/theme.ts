/** The theme: light, dark, or the system's. */

import { effect } from "@preact/signals";

import { stored } from "../state/stored.ts";

export type Theme = "system" | "light" | "dark";

export const theme = stored<Theme>("theme", "system", (value) => ["system", "light", "dark"].includes(value as string));

effect(() => {
  const { dataset } = document.documentElement;
  if (theme.value === "system") {
    delete dataset.theme;
  } else {
    dataset.theme = theme.value;
  }
});
