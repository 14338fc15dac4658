// Earlier prompts in the composer: edited to be sent again, or given back by a rewind.

import { draftOf, editDraft, keepDraft } from "../../../app/drafts.ts";
import { beginEdit, editedTurn, endEdit } from "../../../app/editing.ts";
import { focusThread, focusWhenThere } from "../../../app/focus.ts";
import { announce } from "../../../app/live-region.ts";
import { toast } from "../../../app/toasts.ts";
import { onLeave } from "../../../connection/connection.ts";
import { type AcpObject, contentText } from "../../../state/acp.ts";
import { promptOf } from "../../../state/prompts.ts";
import type { FoldedTurn } from "../../../state/thread.ts";
import type { Attachment } from "./attachments.ts";
import { isSending } from "./sending.ts";
import { attachAgain, attachmentsOf, hasAttachments, putAttachments } from "./use-attachments.ts";

/** Time to decide about a prompt that is not in the draft, in milliseconds. */
const OFFERED_MS = 20_000;

/** An edited message as it was before the user changed it. */
interface Begun {
  readonly turnId: string;
  readonly text: string;
  readonly files: readonly Attachment[];
}

/** The edited messages that this page has put into the composer, by thread: the browser stores no attachments. */
const begun = new Map<string, Begun>();
onLeave(async () => begun.clear());

const others = (blocks: readonly AcpObject[]) => blocks.filter(({ type }) => type !== "text");

/** Puts the prompt of a turn into the composer, to be edited and sent in its place. The thread's draft stays. */
export function editMessage(threadId: string, turn: FoldedTurn & { id: string }): void {
  if (editedTurn(threadId) !== turn.id) {
    if (!leaveEdit(threadId)) return;
    attach(threadId, turn);
    beginEdit(threadId, turn.id, contentText(promptOf(turn)));
  }
  focusEdit(threadId);
}

function focusEdit(threadId: string): void {
  announce("Editing an earlier message. Press Escape to cancel.");
  // Also on a touch device: the user wants to write.
  focusWhenThere(`.pane[data-thread="${CSS.escape(threadId)}"] .th-composer-area`);
}

function attach(threadId: string, turn: FoldedTurn & { id: string }, adds = false): void {
  const blocks = promptOf(turn);
  const files = attachAgain(editDraft(threadId), others(blocks), adds);
  begun.set(threadId, { turnId: turn.id, text: contentText(blocks), files });
}

/** Attaches what the edited prompt had, if the editing began before the page was loaded, or in another tab. */
export function attachOnce(threadId: string, turn: FoldedTurn & { id: string }): void {
  if (begunAs(threadId, turn.id) !== undefined) return;
  // What the user has attached while the turn was being loaded stays; what this page has put there for another turn does not.
  attach(threadId, turn, !begun.has(threadId));
}

/** Returns a turn's message as this page has put it into the composer. */
function begunAs(threadId: string, turnId: string): Begun | undefined {
  const first = begun.get(threadId);
  return first?.turnId === turnId ? first : undefined;
}

/** Leaves the editing, if there is one and it is not being sent. What the user has changed can be brought back for a while. */
export function leaveEdit(threadId: string): boolean {
  const turnId = editedTurn(threadId);
  if (turnId === undefined) return true;
  if (isHeld(threadId)) return false;
  const name = editDraft(threadId);
  const left: Begun = { turnId, text: draftOf(name), files: attachmentsOf(name) };
  // The message itself may not be loaded.
  const first = begunAs(threadId, turnId);
  dropEdit(threadId);
  if (isChanged(left, first)) offerUndo(threadId, left, first);
  focusThread(threadId, "composer");
  return true;
}

function isChanged({ text, files }: Begun, first: Begun | undefined): boolean {
  if (first === undefined) return text !== "" || files.length > 0;
  return text !== first.text || files.length !== first.files.length || files.some((file, at) => file !== first.files[at]);
}

function offerUndo(threadId: string, left: Begun, first: Begun | undefined): void {
  const undo = () => {
    if (!leaveEdit(threadId)) {
      offerUndo(threadId, left, first);
      return;
    }
    beginEdit(threadId, left.turnId, left.text);
    putAttachments(editDraft(threadId), left.files);
    if (first !== undefined) begun.set(threadId, first);
    focusEdit(threadId);
  };
  toast("Edited message discarded", { action: { label: "Undo", run: undo } });
}

/** Returns whether an edited message must stay as it is, and says so: until the answer, it can neither be left nor give way to another one. */
function isHeld(threadId: string): boolean {
  const isSent = isSending(editDraft(threadId));
  if (isSent) toast("The edited message is being sent");
  return isSent;
}

/** Sends the edited message of a turn, here or to a fork, and ends the editing once that is done. */
export async function sendEdit(threadId: string, turnId: string, send: () => Promise<void>): Promise<void> {
  await send();
  // Another tab may have begun another one.
  if (editedTurn(threadId) === turnId) dropEdit(threadId);
}

/** Ends the editing, with its text and attachments. */
export function dropEdit(threadId: string): void {
  endEdit(threadId);
  begun.delete(threadId);
  attachAgain(editDraft(threadId), []);
}

/** Puts the prompt of a turn into the thread's draft, to be sent as a new message. */
export function editAsNew(threadId: string, turn: FoldedTurn): void {
  // The box has the draft only when no other message is edited in it.
  if (!leaveEdit(threadId)) return;
  giveBack(threadId, turn, "The message is not in your draft yet");
  focusThread(threadId, "composer", true);
}

/** Gives a prompt back that a rewind has removed: into the composer, or where that has a draft, as an offer in these words. */
export function giveBack(threadId: string, turn: FoldedTurn, words = "The removed message is not in your draft"): void {
  const blocks = promptOf(turn);
  const text = contentText(blocks);
  if (["", text].includes(draftOf(threadId)) && !hasAttachments(threadId)) {
    keepDraft(threadId, text);
    attachAgain(threadId, others(blocks));
    return;
  }
  const add = () => {
    const draft = draftOf(threadId);
    keepDraft(threadId, draft === "" || text === "" ? draft + text : `${draft}\n\n${text}`);
    attachAgain(threadId, others(blocks), true);
    focusThread(threadId, "composer");
  };
  toast(words, { ms: OFFERED_MS, action: { label: "Add it", run: add } });
}
