/** The threads that the open dialogs are about. Not state of a row, since the row may move in the list meanwhile. */

import type { ThreadSummary } from "@acpd/client";
import { signal } from "@preact/signals";

type Subject = Pick<ThreadSummary, "id" | "name">;

/** The thread that is being renamed. */
export const renaming = signal<Subject | undefined>(undefined);
/** The thread whose folder is being changed. */
export const moving = signal<(Subject & Pick<ThreadSummary, "cwd">) | undefined>(undefined);
/** The thread whose links are shown. */
export const sharing = signal<Subject | undefined>(undefined);
/** The thread that is being exported. */
export const exporting = signal<Subject | undefined>(undefined);
