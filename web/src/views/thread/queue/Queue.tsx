// The queued prompts of a thread, above the composer: shown in full, edited, reordered, sent into the running turn,
// removed, and continued after a pause.

import type { AcpObject } from "@acpd/client";
import { useEffect, useRef, useState } from "preact/hooks";

import { contentText, objects, steers } from "../../../state/acp.ts";
import type { ThreadActions } from "../../../state/actions.ts";
import { queueOf } from "../../../state/fold-turns.ts";
import type { FoldedTurn } from "../../../state/thread.ts";
import { visibleWords } from "../../../text/bidi-guard.ts";
import type { ThreadViewProps } from "../../thread-props.ts";

import "./queue.css";

type QueueActions = Pick<ThreadActions, "interrupt" | "arrangeQueue" | "editQueued" | "steerQueued">;

export default function Queue({ thread, actions, role }: ThreadViewProps) {
  const queue = queueOf(thread);
  const [problem, setProblem] = useState<string>();
  if (queue.length === 0) return null;
  const may = role === "operator" || role === "owner";
  const attempt = (asked: Promise<void>) => {
    setProblem(undefined);
    return asked.catch((why: unknown) => setProblem(why instanceof Error ? why.message : String(why)));
  };
  const paused = thread.head.queuePaused === true;
  const running = thread.head.turnId != null;
  const move = (at: number, by: number) => {
    const ids = queue.map((turn) => turn.id!);
    [ids[at], ids[at + by]] = [ids[at + by]!, ids[at]!];
    void attempt(actions.arrangeQueue(ids));
  };
  return (
    <section class="th-queue" aria-label="Queued messages">
      <header class="th-queue-head">
        <h2>{paused ? `Queue paused · ${queue.length} waiting` : queue.length === 1 ? "1 queued" : `${queue.length} queued`}</h2>
        {may && paused && (
          <button type="button" class="button" onClick={() => void attempt(actions.arrangeQueue([], false))}>
            {running ? "Resume queue" : "Send next"}
          </button>
        )}
        {may && (paused || queue.length > 1) && (
          <button
            type="button"
            class="button quiet"
            onClick={() => void attempt(Promise.all(queue.map(({ id }) => actions.interrupt(id!))).then(() => {}))}
          >
            Clear
          </button>
        )}
      </header>
      {problem !== undefined && (
        <p class="error-text" role="alert">
          {problem}
        </p>
      )}
      <ol>
        {queue.map((turn, at) => (
          <Entry
            key={turn.key}
            turn={turn}
            may={may}
            actions={actions}
            attempt={attempt}
            steerable={running && !paused && steers(thread.initialize)}
            up={at > 0 ? () => move(at, -1) : undefined}
            down={at < queue.length - 1 ? () => move(at, 1) : undefined}
          />
        ))}
      </ol>
    </section>
  );
}

interface EntryProps {
  turn: FoldedTurn;
  may: boolean;
  actions: QueueActions;
  attempt: (asked: Promise<void>) => Promise<void>;
  /** Whether the prompt can be sent into the running turn. */
  steerable: boolean;
  up: (() => void) | undefined;
  down: (() => void) | undefined;
}

function Entry({ turn, may, actions, attempt, steerable, up, down }: EntryProps) {
  const [editing, setEditing] = useState(false);
  const blocks = objects(turn.input);
  const said = contentText(blocks);
  const others = blocks.filter(({ type }) => type !== "text");
  if (editing) {
    const done = (next: string | undefined) => {
      setEditing(false);
      if (next !== undefined && next !== said) void attempt(actions.editQueued(turn.id!, next, others));
    };
    return (
      <li>
        <Edit text={said} onDone={done} canBeEmpty={others.length > 0} />
      </li>
    );
  }
  return (
    <li>
      <p class="th-queue-text" dir="auto">
        {visibleWords(said)}
        {others.length > 0 && <span class="th-quiet"> + {attachments(others)}</span>}
      </p>
      {may && (
        <div class="th-queue-acts">
          {steerable && (
            <button type="button" class="button quiet" onClick={() => void attempt(actions.steerQueued(turn.id!))}>
              Send now
            </button>
          )}
          <button type="button" class="button quiet" onClick={() => setEditing(true)}>
            Edit
          </button>
          <button type="button" class="button quiet" aria-label="Move up" disabled={!up} onClick={up}>
            ↑
          </button>
          <button type="button" class="button quiet" aria-label="Move down" disabled={!down} onClick={down}>
            ↓
          </button>
          <button type="button" class="button quiet" onClick={() => void attempt(actions.interrupt(turn.id!))}>
            Remove
          </button>
        </div>
      )}
    </li>
  );
}

interface EditProps {
  text: string;
  /** Called with the new text, or with nothing if it stays as it was. */
  onDone: (text?: string) => void;
  canBeEmpty: boolean;
}

function Edit({ text, onDone, canBeEmpty }: EditProps) {
  const [draft, setDraft] = useState(text);
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => field.current?.focus(), []);
  const empty = draft.trim() === "" && !canBeEmpty;
  return (
    <form
      class="th-queue-edit"
      onSubmit={(event) => {
        event.preventDefault();
        if (!empty) onDone(draft);
      }}
    >
      <textarea
        ref={field}
        dir="auto"
        aria-label="Queued message"
        rows={Math.min(8, draft.split("\n").length + 1)}
        value={draft}
        onInput={(event) => setDraft(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") {
            event.preventDefault();
            event.stopPropagation();
            onDone();
          } else if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !empty) {
            event.preventDefault();
            onDone(draft);
          }
        }}
      />
      <div class="th-queue-acts">
        <button type="submit" class="button" disabled={empty}>
          Save
        </button>
        <button type="button" class="button quiet" onClick={() => onDone()}>
          Cancel
        </button>
      </div>
    </form>
  );
}

function attachments(blocks: readonly AcpObject[]): string {
  const images = blocks.filter(({ type }) => type === "image").length;
  const files = blocks.length - images;
  const said = (count: number, one: string) => (count === 0 ? [] : [count === 1 ? `1 ${one}` : `${count} ${one}s`]);
  return [...said(images, "image"), ...said(files, "file")].join(", ");
}
