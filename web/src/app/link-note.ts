/** Shows what a sign-in link has changed. */

import { effect, untracked } from "@preact/signals";

import { linkNote } from "../connection/connection.ts";
import { toast } from "./toasts.ts";

effect(() => {
  const note = linkNote.value;
  if (note) {
    // The list of toasts must not show it again when it changes.
    untracked(() => toast(note.text, { kind: note.kind }));
  }
});
