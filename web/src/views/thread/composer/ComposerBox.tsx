// The input for prompts. It manages the text and the attachments; the caller sends them.

import type { ComponentChildren } from "preact";
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";

import { draftOf } from "../../../app/drafts.ts";
import { toast } from "../../../app/toasts.ts";
import { sentence } from "../../../connection/connection.ts";
import { visibleLine } from "../../../text/bidi-guard.ts";
import type { AcpObject, Command, PromptCapabilities } from "../../../state/acp.ts";
import { type Recall, recalled } from "../../../state/recall.ts";
import { Attached } from "./Attached.tsx";
import { Suggestions } from "./Suggestions.tsx";
import { sentBytes } from "./attachments.ts";
import { usePopoverPosition } from "./popover-position.ts";
import { completed, fitting, hintFor } from "./completion.ts";
import { useScrollEdges } from "./scroll-edges.ts";
import { isSending, whileSending } from "./sending.ts";
import { sizeOf, useAttachments } from "./use-attachments.ts";
import { bytes } from "../../../text/format.ts";
import { Icon } from "../content/Icon.tsx";
import type { SendKey } from "../content/settings.ts";

import "../content/shared.css";
import "./composer.css";
import "./options.css";

export type Manner = "queue" | "steer";

export interface ComposerBoxProps {
  draft: string;
  onDraft: (text: string) => void;
  /** Resolves when the message is sent; rejects with the sentence to show. The draft stays until then. */
  onSend: (text: string, blocks: readonly AcpObject[], manner: Manner) => Promise<void>;
  onStop: () => void;
  /** Ends the turn of an agent that does not stop. */
  onStopNow?: () => void;
  /** Whether a turn runs. */
  running: boolean;
  /** Whether an interruption was requested. */
  stopping?: boolean;
  sendKey: SendKey;
  commands: readonly Command[];
  /** Whether the agent accepts messages for its running turn; `undefined` if unknown. */
  steerable?: boolean | undefined;
  /** The agent's prompt capabilities; `undefined` if unknown. */
  capabilities: PromptCapabilities | undefined;
  /** Maximum size of a message, in bytes. */
  room?: number;
  /** Why nothing can be sent now. */
  barred?: string | undefined;
  /** Whether the draft ends with its message: what is attached while that is on its way would be lost. */
  endsWhenSent?: boolean;
  /** Why this message cannot be sent yet; everything else can be done. */
  waits?: string | undefined;
  /** What the message is, above its text. */
  banner?: ComponentChildren;
  /** Leaves what the banner is about, on Escape; without it, Escape leaves the box. */
  onLeave?: (() => void) | undefined;
  /** The thread, whose agent can read files that a message has no room for. */
  threadId?: string;
  /** Whether the message starts a thread: files that a message has no room for wait for it. */
  starts?: boolean;
  /** The name of the draft in the browser's store, by which attachments are kept; without one, the draft is only here. */
  name?: string;
  /** The id of the text area. */
  id?: string;
  /** The label of the text area for screen readers. */
  label?: string;
  placeholder?: string;
  /** The label of the button that sends. */
  sendLabel?: string;
  /** Whether a message without content can be sent. */
  emptyAllowed?: boolean;
  /** Whether the caller shows errors of sending. */
  quiet?: boolean;
  /** What to show while sending takes long. */
  slowly?: string;
  /** Whether the box is one line until the user writes. */
  folded?: boolean;
  /** Returns the user's earlier prompts, latest first, which the arrow keys recall into the empty box. */
  prompts?: () => readonly string[];
  /** Prompts that the agent suggests, of which the user may take one into the empty box. */
  suggestions?: readonly string[];
  /** Sends the message from elsewhere, for example from another field of the form. Set by the box. */
  sender?: { current: (() => void) | undefined };
  /** The footer of the box: mode, options, usage. */
  children?: ComponentChildren;
}

/** Said when the user steers an agent that has not declared that it accepts this. */
const NOT_STEERABLE = "This agent cannot be steered, so the message is queued.";
/** The daemon accepts frames of 1 MiB; the difference is for the envelope of the prompt. */
const ROOM = 1_024_000;
/** Time without a response after which sending counts as slow, in milliseconds. */
const SLOW_MS = 2_000;
/** Time after which an agent that was asked to stop can be ended, in milliseconds. */
const STUCK_MS = 3_000;

// Children and banner stay out of `props`: a handler that lives as long as the box would hold its first ones, and with them, along
// Preact's nodes, every row that the page has ever had.
export function ComposerBox({ children, banner, ...props }: ComposerBoxProps) {
  const { draft, onDraft, onSend, onStop, running, stopping = false, sendKey, commands, capabilities, barred } = props;
  const id = useId();
  const area = useRef<HTMLTextAreaElement>(null);
  const files = useRef<HTMLInputElement>(null);
  const kept = useAttachments(props.name, capabilities, props.threadId, props.starts);
  const { name, attached, arriving, later, refused, reading: readsFiles, ...attachments } = kept;
  const reading = readsFiles || arriving.length > 0;
  // Perhaps by a box that was here before.
  const sending = isSending(name);
  const slow = useSlow(sending);
  const stuck = useSlow(stopping, STUCK_MS);
  const [writing, setWriting] = useWriting(props.folded === true);
  const [error, setError] = useState<string>();
  const [note, setNote] = useState<string>();
  const [caret, setCaret] = useState(0);
  const [active, setActive] = useState(0);
  const [shut, setShut] = useState(false);
  const [over, setOver] = useState(false);
  const walk = useRef<Recall | undefined>(undefined);
  const latest = useRef(props);
  latest.current = props;
  const isGone = useRef(false);
  useEffect(() => () => void (isGone.current = true), []);

  const offered = shut ? [] : fitting(draft, caret, commands);
  const choice = offered[Math.min(active, offered.length - 1)];
  const hint = hintFor(draft, commands);
  const empty = draft.trim() === "" && attached.length === 0 && props.emptyAllowed !== true;
  const off = sending || barred !== undefined;
  const held = off || reading || props.waits !== undefined;
  const takesFiles =
    props.threadId !== undefined || props.starts === true || capabilities === undefined || capabilities.image || capabilities.audio || capabilities.embeddedContext;

  // Words about one draft say nothing about another one.
  useEffect(() => {
    setError(undefined);
    setNote(undefined);
  }, [props.name]);
  const box = useRef<HTMLDivElement>(null);
  const options = useScrollEdges();
  const list = useRef<HTMLUListElement>(null);
  usePopoverPosition(box, list, offered.length > 0, true);
  useEffect(() => {
    list.current?.querySelector("[aria-selected=true]")?.scrollIntoView?.({ block: "nearest" });
  }, [choice]);
  useLayoutEffect(() => {
    grow(area.current);
  }, [draft]);

  const suggestions = draft === "" && attached.length === 0 && !off ? (props.suggestions ?? []) : [];
  const takeSuggestion = (words: string) => {
    setShut(true);
    onDraft(words);
    requestAnimationFrame(() => {
      area.current?.focus();
      area.current?.setSelectionRange(words.length, words.length);
    });
  };

  const roomLeft = () => (props.room ?? ROOM) - sizeOf(attached) - sentBytes(draft);
  const send = async (manner: Manner) => {
    if (empty || held || isSending(name)) return;
    if (roomLeft() < 0) {
      setError(`The message is ${bytes(-roomLeft())} too large.`);
      return;
    }
    const refusesSteering = manner === "steer" && props.steerable === false;
    setError(undefined);
    setNote(refusesSteering ? NOT_STEERABLE : undefined);
    try {
      await whileSending(name, () => onSend(draft, attached.map((one) => one.block), refusesSteering ? "queue" : manner));
      // What another tab or a button has put there meanwhile was not sent. This box may be gone, so the store knows.
      const written = props.name === undefined ? latest.current.draft : draftOf(props.name);
      if (written === draft) onDraft("");
      attachments.drop(attached);
    } catch (why) {
      setNote(undefined);
      setError(sentence(why));
      if (isGone.current) toast(`Couldn’t send a message. ${sentence(why)}`, { kind: "error" });
    } finally {
      const { activeElement } = document;
      // Not out of another field of the box, which may be what has to be mended.
      const isHere = box.current?.contains(activeElement) && !activeElement?.matches("input");
      if (activeElement === document.body || isHere) area.current?.focus();
    }
  };
  if (props.sender !== undefined) props.sender.current = () => void send("queue");
  const take = (files: readonly File[]) => {
    if (props.endsWhenSent === true && isSending(name)) toast("The message is being sent. Attach the file when that is done.");
    else void attachments.take(files, roomLeft());
  };
  const complete = (command: Command) => {
    const after = completed(draft, caret, command);
    onDraft(after.text);
    setShut(true);
    requestAnimationFrame(() => {
      area.current?.focus();
      area.current?.setSelectionRange(after.caret, after.caret);
    });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    // While an input method composes, it handles the keys. Some browsers report 229 instead.
    if (event.isComposing || event.keyCode === 229) return;
    if (choice !== undefined && completing(event, choice)) {
      event.preventDefault();
      event.stopPropagation();
      return;
    }
    if (recall(event)) {
      event.preventDefault();
      return;
    }
    const isPlain = !event.shiftKey && !event.ctrlKey && !event.metaKey && !event.altKey;
    if (event.key === "ArrowRight" && isPlain && suggestions[0] !== undefined) {
      event.preventDefault();
      takeSuggestion(suggestions[0]);
      return;
    }
    if (event.key === "Escape" && props.onLeave !== undefined) {
      event.preventDefault();
      event.stopPropagation();
      if (!sending) props.onLeave();
      return;
    }
    if (event.key === "Escape") leave(area.current);
    if (event.key !== "Enter" || event.shiftKey) return;
    const mod = event.ctrlKey || event.metaKey;
    if (sendKey === "modEnter" && !mod && !event.altKey) return;
    event.preventDefault();
    void send(event.altKey && running ? "steer" : "queue");
  };
  /** Shows an earlier prompt, if the key asks for one. Returns whether it does. */
  const recall = (event: KeyboardEvent): boolean => {
    const { selectionStart = 0, selectionEnd = 0 } = area.current ?? {};
    const isPlain = !event.shiftKey && !event.ctrlKey && !event.metaKey && !event.altKey && selectionStart === selectionEnd;
    if (!isPlain || off || attached.length > 0 || props.prompts === undefined) return false;
    const next = recalled(event.key, draft, selectionStart, walk.current, props.prompts);
    if (next === undefined) return false;
    walk.current = next.walk;
    setShut(true);
    onDraft(next.text);
    requestAnimationFrame(() => area.current?.setSelectionRange(next.text.length, next.text.length));
    return true;
  };
  const completing = (event: KeyboardEvent, command: Command): boolean => {
    const last = offered.length - 1;
    const at = Math.min(active, last);
    if (event.key === "ArrowDown") setActive(at === last ? 0 : at + 1);
    else if (event.key === "ArrowUp") setActive(at === 0 ? last : at - 1);
    else if (event.key === "Escape") setShut(true);
    else if (event.key === "Tab" && !event.shiftKey) complete(command);
    else if (event.key === "Enter" && !event.shiftKey && !event.ctrlKey && !event.metaKey && !event.altKey) {
      // A fully typed command is sent.
      if (draft.trim() === `/${command.name}`) return false;
      complete(command);
    } else return false;
    return true;
  };
  const onInput = (event: { currentTarget: HTMLTextAreaElement }) => {
    setShut(false);
    setActive(0);
    setCaret(event.currentTarget.selectionStart);
    setNote(undefined);
    onDraft(event.currentTarget.value);
  };
  const onPaste = (event: ClipboardEvent) => {
    const pasted = [...(event.clipboardData?.files ?? [])];
    // If the clipboard has both a text and an image of it, paste the text.
    if (pasted.length === 0 || event.clipboardData?.types.includes("text/plain")) return;
    event.preventDefault();
    take(pasted);
  };
  const onDrop = (event: DragEvent) => {
    setOver(false);
    const dropped = [...(event.dataTransfer?.files ?? [])];
    if (dropped.length === 0) return;
    event.preventDefault();
    take(dropped);
  };
  const onDragOver = (event: DragEvent) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    setOver(true);
  };

  return (
    <div
      ref={box}
      class={`th-composer ${over ? "th-drop" : ""} ${props.folded && !writing ? "is-folded" : ""} ${props.folded ? "is-brief" : ""}`}
      role="group"
      aria-label="Message to the agent"
      onFocusOut={(event) => {
        if (!box.current?.contains(event.relatedTarget as Node | null)) setWriting(false);
      }}
      onDrop={onDrop}
      onDragOver={onDragOver}
      onDragLeave={() => setOver(false)}
    >
      {offered.length > 0 && (
        <ul ref={list} class="th-completions" role="listbox" id={`${id}-list`} aria-label="Commands">
          {offered.map((command, at) => (
            <li
              key={command.name}
              id={`${id}-${at}`}
              role="option"
              aria-selected={command === choice}
              class={`th-completion ${command === choice ? "th-active" : ""}`}
              // The text area keeps the focus.
              onPointerDown={(event) => event.preventDefault()}
              onClick={() => complete(command)}
            >
              <span class="th-completion-name">/{visibleLine(command.name)}</span>
              {command.skill === true && <span class="th-completion-kind">Skill</span>}
              {command.hint !== undefined && <span class="th-completion-hint">{visibleLine(command.hint)}</span>}
              <span class="th-completion-about truncate">{visibleLine(command.description)}</span>
            </li>
          ))}
        </ul>
      )}
      {banner}
      <Suggestions suggestions={suggestions} onTake={takeSuggestion} />
      <Attached attached={attached} arriving={arriving} later={later} off={off} onRemove={attachments.remove} />
      <div class="th-composer-text">
        <textarea
          ref={area}
          id={props.id}
          class="th-composer-area"
          rows={1}
          dir="auto"
          value={draft}
          placeholder={props.placeholder ?? placeholder(running, commands.length > 0)}
          aria-label={props.label ?? "Message"}
          {...(choice === undefined ? {} : combobox(`${id}-list`, `${id}-${offered.indexOf(choice)}`))}
          aria-describedby={`${id}-hint ${id}-said`}
          readOnly={sending}
          onInput={onInput}
          onKeyDown={onKeyDown}
          onSelect={(event) => setCaret(event.currentTarget.selectionStart)}
          onFocus={() => setWriting(true)}
          onBlur={() => setShut(true)}
          onPaste={onPaste}
        />
        <span class="th-composer-hint" id={`${id}-hint`}>
          {hint !== undefined && <span class="th-composer-ghost">{draft.trimEnd()} </span>}
          {hint === undefined ? "" : visibleLine(hint)}
        </span>
      </div>
      <div id={`${id}-said`} class="th-composer-said" role="status">
        {error !== undefined && props.quiet !== true && <p class="error-text">{error}</p>}
        {refused.map((words) => (
          <p key={words} class="th-warning">
            {visibleLine(words)}
          </p>
        ))}
        {reading && <p class="th-quiet">{readsFiles ? "Reading attachments…" : "Sending attachments…"}</p>}
        {slow && !reading && <p class="th-quiet">{props.slowly ?? "No answer yet. Reconnecting…"}</p>}
        {note !== undefined && running && <p class="th-quiet">{note}</p>}
        {barred !== undefined && <p class="th-quiet">{barred}</p>}
        {props.waits !== undefined && barred === undefined && <p class="th-warning">{props.waits}</p>}
      </div>
      <div class="th-composer-foot">
        <div class="th-composer-options" ref={options}>
          {takesFiles && (
            <>
              <button type="button" class="button quiet icon" aria-label="Attach files" title="Attach files" disabled={off} onClick={() => files.current?.click()}>
                <Icon name="attach" />
              </button>
              <input
                ref={files}
                type="file"
                multiple
                hidden
                onChange={(event) => {
                  take([...(event.currentTarget.files ?? [])]);
                  event.currentTarget.value = "";
                }}
              />
            </>
          )}
          {children}
        </div>
        <div class="th-composer-acts">
          {running && (
            <button type="button" class="button" title="Stop (Esc Esc)" disabled={stopping || barred !== undefined} onClick={onStop}>
              <Icon name="stop" /> {stopping ? "Stopping" : "Stop"}
            </button>
          )}
          {running && stuck && props.onStopNow && (
            <button
              type="button"
              class="button danger"
              title="End the agent without waiting for it"
              disabled={barred !== undefined}
              onClick={props.onStopNow}
            >
              Stop now
            </button>
          )}
          {running && !empty && props.steerable === true && (
            <button type="button" class="button" title="Send to the running turn (Alt+Enter)" disabled={held} onClick={() => void send("steer")}>
              Steer
            </button>
          )}
          {(!running || !empty) && (
            <button
              type="button"
              class="button primary icon th-send"
              title={`${props.sendLabel ?? (running ? "Queue after the running turn" : "Send")} (${sendKey === "enter" ? "Enter" : "Ctrl+Enter"})`}
              disabled={empty || held}
              onClick={() => void send("queue")}
            >
              {sending ? <span class="th-spinner" /> : <Icon name="send" />}
              <span class="sr-only">{props.sendLabel ?? (running ? "Queue" : "Send")}</span>
            </button>
          )}
        </div>
      </div>
    </div>
  );
}

function placeholder(running: boolean, hasCommands: boolean): string {
  if (running) return "Queue a follow-up";
  return hasCommands ? "Message the agent, / for commands" : "Message the agent";
}

/** Gives the focus back to the conversation, where single keys are shortcuts. */
function leave(area: HTMLElement | null): void {
  area?.blur();
  document.querySelector<HTMLElement>(".pane [role=feed]")?.focus({ preventScroll: true });
}

/**
 * Returns whether the user is in the box, which is then more than one line. While a pointer is pressed, the box keeps
 * its size: a button that moves below the pointer would not be clicked.
 */
function useWriting(folded: boolean): [boolean, (writing: boolean) => void] {
  const [writing, setWriting] = useState(false);
  const [press] = useState({ isDown: false, hasLeft: false });
  useEffect(() => {
    if (!folded) return;
    const down = () => {
      press.isDown = true;
      press.hasLeft = false;
    };
    const up = () => {
      press.isDown = false;
      // After the click.
      if (press.hasLeft) setTimeout(() => setWriting(false));
    };
    const over = new AbortController();
    const options = { capture: true, signal: over.signal };
    document.addEventListener("pointerdown", down, options);
    document.addEventListener("pointerup", up, options);
    document.addEventListener("pointercancel", up, options);
    return () => over.abort();
  }, [folded]);
  const set = (next: boolean) => {
    press.hasLeft = !next && press.isDown;
    if (!press.hasLeft) setWriting(next);
  };
  return [writing, set];
}

/** Returns whether the message has been on its way for a while. */
function useSlow(sending: boolean, ms = SLOW_MS): boolean {
  const [slow, setSlow] = useState(false);
  useEffect(() => {
    setSlow(false);
    if (!sending) return;
    const timer = setTimeout(() => setSlow(true), ms);
    return () => clearTimeout(timer);
  }, [sending]);
  return slow && sending;
}

/** While commands are offered, the text area is a combobox. Preact's types do not support that. */
function combobox(list: string, active: string): object {
  return {
    role: "combobox",
    "aria-autocomplete": "list",
    "aria-haspopup": "listbox",
    "aria-expanded": true,
    "aria-controls": list,
    "aria-activedescendant": active,
  };
}

/** Sets the height by the text, up to the maximum of the style sheet. */
function grow(area: HTMLTextAreaElement | null): void {
  if (area === null) return;
  area.style.height = "auto";
  area.style.height = `${area.scrollHeight}px`;
}
