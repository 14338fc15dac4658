// The attachments of a message. They stay with its draft while the user looks at other views; the browser does not
// store them.

import { signal } from "@preact/signals";
import { useState } from "preact/hooks";

import { onLeave, sentence } from "../../../connection/connection.ts";
import { type AcpObject, number, type PromptCapabilities } from "../../../state/acp.ts";
import { isStoredElsewhere } from "../../../state/attachments.ts";
import { type Arriving, type Attachment, hasContent, nameOf, sentBytes } from "./attachments.ts";

/** The attachments of a draft, files on their way, and sentences about those that were refused. */
interface Kept {
  readonly attached: readonly Attachment[];
  readonly arriving: readonly Arriving[];
  /** Files that are sent once there is a thread. */
  readonly later: readonly File[];
  readonly refused: readonly string[];
}

const NOTHING: Kept = { attached: [], arriving: [], later: [], refused: [] };
const kept = signal<Readonly<Record<string, Kept>>>({});

const keptOf = (name: string): Kept => kept.value[name] ?? NOTHING;

function keep(name: string, next: Kept): void {
  const { [name]: _, ...others } = kept.peek();
  const isNothing = next.attached.length + next.arriving.length + next.later.length + next.refused.length === 0;
  kept.value = isNothing ? others : { ...others, [name]: next };
}

/** Aborted when the user signs out. */
let session = new AbortController();

// The next user of the page has none of them, and nothing more is sent.
onLeave(async () => {
  session.abort();
  session = new AbortController();
  for (const { cancel } of Object.values(kept.peek()).flatMap(({ arriving }) => arriving)) cancel();
  kept.value = {};
});

/** Returns whether a draft has attachments. */
export const hasAttachments = (name: string): boolean => {
  const { attached, arriving } = keptOf(name);
  return attached.length + arriving.length > 0;
};

/** Returns the attachments of a draft, without files on their way. */
export const attachmentsOf = (name: string): readonly Attachment[] => keptOf(name).attached;

/** Puts attachments into a draft, in place of what it has. */
export function putAttachments(name: string, attached: readonly Attachment[]): void {
  for (const { cancel } of keptOf(name).arriving) cancel();
  keep(name, { ...NOTHING, attached });
}

/** Drops attachments that were sent, and the sentences about refused files unless others are left. */
export function dropAttachments(name: string, sent: readonly Attachment[]): void {
  const { attached, arriving, later, refused } = keptOf(name);
  const left = attached.filter((one) => !sent.includes(one));
  keep(name, { attached: left, arriving, later, refused: left.length + arriving.length + later.length > 0 ? refused : [] });
}

/**
 * Moves the attachments of a draft to another one, in place of what that has. Files that are stored for a thread other than `threadId`
 * stay behind. Files on their way are cancelled: they go to the thread of the draft.
 */
export function moveAttachments(from: string, to: string, threadId: string): void {
  const { attached, refused, arriving } = keptOf(from);
  for (const { cancel } of [...arriving, ...keptOf(to).arriving]) cancel();
  const left = attached.flatMap(({ block }) => refusal(block, threadId) ?? []);
  const cut = arriving.map(({ name }) => `Couldn’t take ${name} along: it was still being sent. Attach it again.`);
  keep(to, { ...NOTHING, attached: attached.filter(({ block }) => refusal(block, threadId) === undefined), refused: [...refused, ...left, ...cut] });
  keep(from, NOTHING);
}

/** Returns why an attachment of a draft cannot be sent to another thread, if it cannot. */
function refusal(block: AcpObject, threadId: string): string | undefined {
  return isStoredElsewhere(block, threadId)
    ? `Couldn’t take ${nameOf(block)} along: it is stored for another thread. Attach it again.`
    : undefined;
}

/**
 * Puts the attachments of an earlier prompt of a thread into a draft of it, behind what it has (`adds`) or in place of it. Returns them.
 * A fork has the files that its turns link to.
 */
export function attachAgain(name: string, blocks: readonly AcpObject[], adds = false): readonly Attachment[] {
  const again = blocks
    .filter(hasContent)
    .map((block) => ({ name: nameOf(block), block, size: sentBytes(block), fileSize: number(block.size) }));
  const refused = blocks.flatMap((block) => (hasContent(block) ? [] : `Couldn’t attach ${nameOf(block)} again: its content is gone.`));
  if (adds) {
    const { attached, ...rest } = keptOf(name);
    keep(name, { ...rest, attached: [...attached, ...again], refused });
    return again;
  }
  for (const { cancel } of keptOf(name).arriving) cancel();
  keep(name, { ...NOTHING, attached: again, refused });
  return again;
}

/** Returns whether a draft has files that are sent once there is a thread. */
export const hasLater = (name: string): boolean => keptOf(name).later.length > 0;

/** Moves the attachments of a draft to a thread that exists now, and sends the files that have waited for it. Returns whether all are stored. */
export async function sendLater(name: string, threadId: string): Promise<boolean> {
  const { later } = keptOf(name);
  moveAttachments(name, threadId, threadId);
  const sends = later.map((file) => arrive(threadId, threadId, file));
  let isWhole = true;
  for (const send of sends) isWhole = (await send()) && isWhole;
  return isWhole;
}

/**
 * Shows a file of a draft that the daemon is to store. Returns what sends it, which goes on while the user looks at other views, and
 * resolves with whether the draft has it.
 */
function arrive(name: string, threadId: string, file: File): () => Promise<boolean> {
  const over = new AbortController();
  const called = file.name || "file";
  const replace = (next: readonly Arriving[], rest: Partial<Kept> = {}) => {
    const { arriving, ...before } = keptOf(name);
    // A draft that was replaced, and a file that was cancelled, are gone.
    if (arriving.includes(shown)) keep(name, { ...before, arriving: arriving.flatMap((one) => (one === shown ? next : one)), ...rest });
  };
  const cancel = () => {
    over.abort();
    replace([]);
  };
  let shown: Arriving = { name: called, fileSize: file.size, sent: 0, cancel };
  keep(name, { ...keptOf(name), arriving: [...keptOf(name).arriving, shown] });
  const onSent = (sent: number) => {
    const next = { ...shown, sent };
    replace([next]);
    shown = next;
  };
  return async () => {
    if (over.signal.aborted) return false;
    try {
      const { upload } = await import("../../../connection/upload.ts");
      const block = await upload(threadId, file, onSent, over.signal);
      const attachment: Attachment = { name: nameOf(block), block, size: sentBytes(block), fileSize: file.size };
      replace([], { attached: [...keptOf(name).attached, attachment] });
      return keptOf(name).attached.includes(attachment);
    } catch (error) {
      replace([], { refused: [...keptOf(name).refused, `Couldn’t attach ${called}. ${sentence(error)}`] });
      return false;
    }
  };
}

/** Number of boxes so far, for the names of those without a draft. */
let boxes = 0;

export interface Attachments {
  /** The name of the draft. */
  readonly name: string;
  readonly attached: readonly Attachment[];
  /** Files on their way to the daemon. */
  readonly arriving: readonly Arriving[];
  /** Files that are sent once there is a thread. */
  readonly later: readonly File[];
  /** Sentences about refused files. */
  readonly refused: readonly string[];
  /** Whether files are being read or resized. */
  readonly reading: boolean;
  /** Attaches files, up to a size in bytes. */
  take(files: readonly File[], room: number): Promise<void>;
  remove(attachment: Attachment | File): void;
  /** Drops attachments that were sent: see `dropAttachments`. */
  drop(sent: readonly Attachment[]): void;
}

/**
 * Returns the attachments of a draft; without a name, those of this box. The daemon stores large files of the thread, if there is one, or
 * of the one that the draft starts (`starts`).
 */
export function useAttachments(
  draft: string | undefined,
  capabilities: PromptCapabilities | undefined,
  threadId: string | undefined,
  starts = false,
): Attachments {
  const [own] = useState(() => `box ${++boxes}`);
  const name = draft ?? own;
  /** Number of calls of `take` that are not finished. */
  const [reading, setReading] = useState(0);
  const take = async (files: readonly File[], room: number) => {
    const [taken, words, large]: [Attachment[], string[], File[]] = [[], [], []];
    const { signal } = session;
    setReading((before) => before + 1);
    try {
      const { attach } = await import("./read-file.ts");
      for (const file of files) {
        const result = await attach(file, capabilities, room, threadId !== undefined || starts);
        if ("refused" in result) words.push(result.refused);
        else if ("large" in result) large.push(result.large);
        else {
          taken.push(result.attachment);
          room -= result.attachment.size;
        }
      }
    } catch (error) {
      // The daemon is unreachable, or has been updated and has other files.
      words.push(`Couldn’t load what reads files. Reload the page. (${sentence(error)})`);
    }
    if (signal.aborted) {
      setReading((before) => before - 1);
      return;
    }
    const { attached, later, ...rest } = keptOf(name);
    keep(name, { ...rest, attached: [...attached, ...taken], later: threadId === undefined ? [...later, ...large] : later, refused: words });
    const sends = threadId === undefined ? [] : large.map((file) => arrive(name, threadId, file));
    setReading((before) => before - 1);
    // One after another: the daemon accepts few at a time.
    for (const send of sends) await send();
  };
  return {
    name,
    ...keptOf(name),
    reading: reading > 0,
    take,
    remove: (attachment) => {
      const { attached, later, ...rest } = keptOf(name);
      keep(name, { ...rest, attached: attached.filter((other) => other !== attachment), later: later.filter((other) => other !== attachment) });
    },
    drop: (sent) => dropAttachments(name, sent),
  };
}

export function sizeOf(attached: readonly Attachment[]): number {
  return attached.reduce((sum, one) => sum + one.size, 0);
}
