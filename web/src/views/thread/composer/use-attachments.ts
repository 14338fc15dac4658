// The attachments of a message. They stay with its draft while the user looks at other views; the browser does not
// store them.

import { signal } from "@preact/signals";
import { useState } from "preact/hooks";

import { sentence } from "../../../connection/connection.ts";
import type { AcpObject, PromptCapabilities } from "../../../state/acp.ts";
import { type Attachment, hasContent, nameOf, sentBytes } from "./attachments.ts";

/** The attachments of a draft, and sentences about those that were refused. */
interface Kept {
  readonly attached: readonly Attachment[];
  readonly refused: readonly string[];
}

const NOTHING: Kept = { attached: [], refused: [] };
const kept = signal<Readonly<Record<string, Kept>>>({});

const keptOf = (name: string): Kept => kept.value[name] ?? NOTHING;

function keep(name: string, next: Kept): void {
  const { [name]: _, ...others } = kept.peek();
  kept.value = next.attached.length === 0 && next.refused.length === 0 ? others : { ...others, [name]: next };
}

/** Returns whether a draft has attachments. */
export const hasAttachments = (name: string): boolean => (kept.peek()[name]?.attached.length ?? 0) > 0;

/** Moves the attachments of a draft to another one, in place of what that has. */
export function moveAttachments(from: string, to: string): void {
  keep(to, kept.peek()[from] ?? NOTHING);
  keep(from, NOTHING);
}

/** Puts the attachments of an earlier prompt into a draft, behind what it has (`adds`) or in place of it. */
export function attachAgain(name: string, blocks: readonly AcpObject[], adds = false): void {
  const again = blocks.filter(hasContent).map((block) => ({ name: nameOf(block), block, size: sentBytes(block) }));
  const refused = blocks.filter((block) => !hasContent(block)).map((block) => `Couldn’t attach ${nameOf(block)} again: its content is gone.`);
  const before = adds ? (kept.peek()[name]?.attached ?? []) : [];
  keep(name, { attached: [...before, ...again], refused });
}

/** Number of boxes so far, for the names of those without a draft. */
let boxes = 0;

export interface Attachments {
  readonly attached: readonly Attachment[];
  /** Sentences about refused files. */
  readonly refused: readonly string[];
  /** Whether files are being read or resized. */
  readonly reading: boolean;
  /** Attaches files, up to a size in bytes. */
  take(files: readonly File[], room: number): Promise<void>;
  remove(attachment: Attachment): void;
  clear(): void;
}

/** Returns the attachments of a draft; without a name, those of this box. */
export function useAttachments(draft: string | undefined, capabilities: PromptCapabilities | undefined): Attachments {
  const [own] = useState(() => `box ${++boxes}`);
  const name = draft ?? own;
  /** Number of calls of `take` that are not finished. */
  const [reading, setReading] = useState(0);
  const take = async (files: readonly File[], room: number) => {
    const [taken, words]: [Attachment[], string[]] = [[], []];
    setReading((before) => before + 1);
    try {
      const { attach } = await import("./read-file.ts");
      for (const file of files) {
        const result = await attach(file, capabilities, room);
        if ("refused" in result) words.push(result.refused);
        else {
          taken.push(result.attachment);
          room -= result.attachment.size;
        }
      }
    } catch (error) {
      // The daemon is unreachable, or has been updated and has other files.
      words.push(`Couldn’t load what reads files. Reload the page. (${sentence(error)})`);
    }
    keep(name, { attached: [...keptOf(name).attached, ...taken], refused: words });
    setReading((before) => before - 1);
  };
  return {
    ...keptOf(name),
    reading: reading > 0,
    take,
    remove: (attachment) => {
      const { attached, refused } = keptOf(name);
      keep(name, { attached: attached.filter((other) => other !== attachment), refused });
    },
    clear: () => keep(name, NOTHING),
  };
}

export function sizeOf(attached: readonly Attachment[]): number {
  return attached.reduce((sum, one) => sum + one.size, 0);
}
