// The form for a running command, which is loaded with the first one, and what was typed into it.

import type { Item, TerminalCommand } from "@acpd/client";

import { lazy } from "../../parts/lazy.tsx";

export interface TerminalInputProps {
  item: Item & TerminalCommand;
  /** The command line, as it is shown. */
  line: string;
}

/** What was typed and not sent, by item, and whether it is hidden: the form may scroll out of the page. */
export const drafts = new Map<string, { text: string; hidden: boolean }>();

export const TerminalInput = lazy<TerminalInputProps>(async () => ({ default: (await import("./TerminalInput.tsx")).TerminalInput }));
