// The attachments of a message. They stay with its draft while the user looks at other views; the browser does not
// store them.

import { signal } from "@preact/signals";
import { useState } from "preact/hooks";

import type { PromptCapabilities } from "../../../state/acp.ts";
import { type Attachment, attach } from "./attachments.ts";

const kept = signal<Readonly<Record<string, readonly Attachment[]>>>({});

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
  const [refused, setRefused] = useState<readonly string[]>([]);
  /** Number of calls of `take` that are not finished. */
  const [reading, setReading] = useState(0);
  const keep = (attached: readonly Attachment[]) => {
    const { [name]: _, ...others } = kept.peek();
    kept.value = attached.length === 0 ? others : { ...others, [name]: attached };
  };
  const take = async (files: readonly File[], room: number) => {
    const [taken, words]: [Attachment[], string[]] = [[], []];
    setReading((before) => before + 1);
    for (const file of files) {
      const result = await attach(file, capabilities, room);
      if ("refused" in result) words.push(result.refused);
      else {
        taken.push(result.attachment);
        room -= result.attachment.size;
      }
    }
    keep([...(kept.peek()[name] ?? []), ...taken]);
    setRefused(words);
    setReading((before) => before - 1);
  };
  return {
    attached: kept.value[name] ?? [],
    refused,
    reading: reading > 0,
    take,
    remove: (attachment) => keep((kept.peek()[name] ?? []).filter((other) => other !== attachment)),
    clear: () => {
      keep([]);
      setRefused([]);
    },
  };
}

export function sizeOf(attached: readonly Attachment[]): number {
  return attached.reduce((sum, one) => sum + one.size, 0);
}
