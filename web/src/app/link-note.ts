/** Shows what a sign-in link has changed. */

import { effect } from "@preact/signals";

import { linkNote } from "../connection/connection.ts";
import { toast } from "./toasts.ts";

effect(() => {
  const note = linkNote.value;
  if (note) {
    toast(note.text, { kind: note.kind });
  }
});
