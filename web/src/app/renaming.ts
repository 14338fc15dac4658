/** The thread that is being renamed. It is not state of its row, since the row may move in the list meanwhile. */

import type { ThreadSummary } from "@acpd/client";
import { signal } from "@preact/signals";

export const renaming = signal<Pick<ThreadSummary, "id" | "name"> | undefined>(undefined);
