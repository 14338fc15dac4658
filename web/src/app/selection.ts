/** The threads that the user has selected in the list, to act on them together. */

import { signal } from "@preact/signals";

export const selection = signal<ReadonlySet<string>>(new Set());
