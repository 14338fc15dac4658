/** Sends the first prompt of a thread with files that a message has no room for: the daemon stores them once the thread exists. */

import type { Client } from "@acpd/client";

import { draftOf, keepDraft, NEW_THREAD } from "../../app/drafts.ts";
import { toast } from "../../app/toasts.ts";
import { sentence } from "../../connection/connection.ts";
import { newId } from "../../connection/new-id.ts";
import { twice } from "../../connection/twice.ts";
import { whileSending } from "../thread/composer/sending.ts";
import { attachmentsOf, dropAttachments, sendLater } from "../thread/composer/use-attachments.ts";

/**
 * Moves the draft to a thread that was just started, sends its files, and then the message. If a file is refused or cancelled, the message
 * stays in the thread's composer, which says why.
 */
export function sendWithFiles(now: Client, threadId: string, text: string): void {
  keepDraft(threadId, text);
  const send = async () => {
    if (!(await sendLater(NEW_THREAD, threadId))) return;
    const sent = attachmentsOf(threadId);
    // The id stays the same, so a broken connection cannot duplicate the turn.
    const prompt = { threadId, clientTurnId: newId(), text: text.trim() || undefined, input: sent.map(({ block }) => block) };
    await twice(now, () => now.call("turn/start", prompt));
    // What was put there meanwhile, here or by another tab, was not sent.
    if (draftOf(threadId) === text) keepDraft(threadId, "");
    dropAttachments(threadId, sent);
  };
  whileSending(threadId, send).catch((error: unknown) => toast(`Couldn’t send the message. ${sentence(error)}`, { kind: "error" }));
}
