// The progress of an item, as a small mark and a word.

import { words } from "../../../text/format.ts";
import { Icon } from "./Icon.tsx";

export type Tone = "waiting" | "running" | "done" | "failed" | "stopped";

const TONES: Record<string, Tone> = {
  pending: "waiting",
  in_progress: "running",
  completed: "done",
  failed: "failed",
  rejected: "stopped",
  interrupted: "stopped",
};

/** The visible words. */
const SAID: Record<string, string> = { pending: "pending", in_progress: "running", completed: "done" };

export function toneOf(status: string): Tone {
  return Object.hasOwn(TONES, status) ? (TONES[status] ?? "waiting") : "waiting";
}

export interface StatusProps {
  status: string;
  tone?: Tone;
  said?: string;
  /** Whether the mark is enough, and the word is for screen readers. */
  brief?: boolean;
}

export function Status({ status, tone = toneOf(status), said, brief = false }: StatusProps) {
  const word = said ?? SAID[status] ?? words(status);
  return (
    <span class={`th-status th-status-${tone}`} data-status={status}>
      {tone === "running" ? (
        <span class="th-spinner" aria-hidden="true" />
      ) : tone === "done" ? (
        <Icon name="check" />
      ) : tone === "failed" ? (
        <Icon name="cross" />
      ) : null}
      {brief ? <span class="sr-only">{word}</span> : word}
    </span>
  );
}
