// The user's settings of thread views, stored in the browser.

import { stored } from "../../../state/stored.ts";
import type { DiffStyle } from "./context.ts";

/** The key that sends a message; the other one of the two starts a new line. */
export type SendKey = "enter" | "modEnter";

export const diffStyle = stored<DiffStyle>(
  "diff-style",
  "unified",
  (value) => value === "unified" || value === "split",
);

export const sendKey = stored<SendKey>("send-key", "enter", (value) => value === "enter" || value === "modEnter");
