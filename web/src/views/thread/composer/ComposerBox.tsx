// The input for prompts. It manages the text and the attachments; the caller sends them.

import type { ComponentChildren } from "preact";
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";

import { visibleLine } from "../../../text/bidi-guard.ts";
import type { AcpObject, Command, PromptCapabilities } from "../../../state/acp.ts";
import { type Attachment, attach, sentBytes } from "./attachments.ts";
import { usePopoverPosition } from "./popover-position.ts";
import { completed, fitting, hintFor } from "./completion.ts";
import { bytes } from "../../../text/format.ts";
import { Icon } from "../content/Icon.tsx";
import type { SendKey } from "../content/settings.ts";

export type Manner = "queue" | "steer";

export interface ComposerBoxProps {
  draft: string;
  onDraft: (text: string) => void;
  /** Resolves when the message is sent; rejects with the sentence to show. The draft stays until then. */
  onSend: (text: string, blocks: readonly AcpObject[], manner: Manner) => Promise<void>;
  onStop: () => void;
  /** Whether a turn runs. */
  running: boolean;
  /** Whether an interruption was requested. */
  stopping?: boolean;
  sendKey: SendKey;
  commands: readonly Command[];
  /** The agent's prompt capabilities; `undefined` if unknown. */
  capabilities: PromptCapabilities | undefined;
  /** Maximum size of a message, in bytes. */
  room?: number;
  /** Why nothing can be sent now. */
  barred?: string | undefined;
  /** The footer of the box: mode, options, usage. */
  children?: ComponentChildren;
}

/** The daemon accepts frames of 1 MiB; the difference is for the envelope of the prompt. */
const ROOM = 1_024_000;

export function ComposerBox(props: ComposerBoxProps) {
  const { draft, onDraft, onSend, onStop, running, stopping = false, sendKey, commands, capabilities, barred } = props;
  const id = useId();
  const area = useRef<HTMLTextAreaElement>(null);
  const files = useRef<HTMLInputElement>(null);
  const [attached, setAttached] = useState<readonly Attachment[]>([]);
  const [refused, setRefused] = useState<readonly string[]>([]);
  /** Number of files that are being read or resized. */
  const [taking, setTaking] = useState(0);
  const [sending, setSending] = useState(false);
  const [error, setError] = useState<string>();
  const [caret, setCaret] = useState(0);
  const [active, setActive] = useState(0);
  const [shut, setShut] = useState(false);
  const [over, setOver] = useState(false);

  const offered = shut ? [] : fitting(draft, caret, commands);
  const choice = offered[Math.min(active, offered.length - 1)];
  const hint = hintFor(draft, commands);
  const empty = draft.trim() === "" && attached.length === 0;
  const off = sending || barred !== undefined;
  const takesFiles =
    capabilities === undefined || capabilities.image || capabilities.audio || capabilities.embeddedContext;

  const box = useRef<HTMLDivElement>(null);
  const list = useRef<HTMLUListElement>(null);
  usePopoverPosition(box, list, offered.length > 0, true);
  useEffect(() => {
    list.current?.querySelector("[aria-selected=true]")?.scrollIntoView?.({ block: "nearest" });
  }, [choice]);
  useLayoutEffect(() => {
    grow(area.current);
  }, [draft]);

  const roomLeft = () => (props.room ?? ROOM) - sizeOf(attached) - sentBytes(draft);
  const send = async (manner: Manner) => {
    if (empty || off || taking > 0) return;
    if (roomLeft() < 0) {
      setError(`The message is ${bytes(-roomLeft())} too large.`);
      return;
    }
    setSending(true);
    setError(undefined);
    try {
      await onSend(draft, attached.map((one) => one.block), manner);
      onDraft("");
      setAttached([]);
      setRefused([]);
    } catch (why) {
      setError(why instanceof Error ? why.message : String(why));
    } finally {
      setSending(false);
      area.current?.focus();
    }
  };
  const take = async (list: readonly File[]) => {
    const [taken, words]: [Attachment[], string[]] = [[], []];
    let room = roomLeft();
    setTaking((before) => before + 1);
    for (const file of list) {
      const result = await attach(file, capabilities, room);
      if ("refused" in result) words.push(result.refused);
      else {
        taken.push(result.attachment);
        room -= result.attachment.size;
      }
    }
    setAttached((before) => [...before, ...taken]);
    setRefused(words);
    setTaking((before) => before - 1);
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
    if (event.key !== "Enter" || event.shiftKey) return;
    const mod = event.ctrlKey || event.metaKey;
    if (sendKey === "modEnter" && !mod && !event.altKey) return;
    event.preventDefault();
    void send(event.altKey && running ? "steer" : "queue");
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
    onDraft(event.currentTarget.value);
  };
  const onPaste = (event: ClipboardEvent) => {
    const pasted = [...(event.clipboardData?.files ?? [])];
    // If the clipboard has both a text and an image of it, paste the text.
    if (pasted.length === 0 || event.clipboardData?.types.includes("text/plain")) return;
    event.preventDefault();
    void take(pasted);
  };
  const onDrop = (event: DragEvent) => {
    setOver(false);
    const dropped = [...(event.dataTransfer?.files ?? [])];
    if (dropped.length === 0) return;
    event.preventDefault();
    void take(dropped);
  };
  const onDragOver = (event: DragEvent) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    setOver(true);
  };

  return (
    <div
      ref={box}
      class={`th-composer ${over ? "th-drop" : ""}`}
      role="group"
      aria-label="Message to the agent"
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
              {command.hint !== undefined && <span class="th-completion-hint">{visibleLine(command.hint)}</span>}
              <span class="th-completion-about truncate">{visibleLine(command.description)}</span>
            </li>
          ))}
        </ul>
      )}
      <Attached attached={attached} off={off} onRemove={(one) => setAttached(attached.filter((other) => other !== one))} />
      <div class="th-composer-text">
        <textarea
          ref={area}
          class="th-composer-area"
          rows={1}
          value={draft}
          placeholder={running ? "Queue a follow-up" : "Message the agent, / for commands"}
          aria-label="Message"
          {...(choice === undefined ? {} : combobox(`${id}-list`, `${id}-${offered.indexOf(choice)}`))}
          aria-describedby={`${id}-hint ${id}-said`}
          readOnly={sending}
          onInput={onInput}
          onKeyDown={onKeyDown}
          onSelect={(event) => setCaret(event.currentTarget.selectionStart)}
          onBlur={() => setShut(true)}
          onPaste={onPaste}
        />
        <span class="th-composer-hint" id={`${id}-hint`}>
          {hint !== undefined && <span class="th-composer-ghost">{draft.trimEnd()} </span>}
          {hint === undefined ? "" : visibleLine(hint)}
        </span>
      </div>
      <div id={`${id}-said`} class="th-composer-said" role="status">
        {error !== undefined && <p class="error-text">{error}</p>}
        {refused.map((words) => (
          <p key={words} class="th-warning">
            {visibleLine(words)}
          </p>
        ))}
        {taking > 0 && <p class="th-quiet">Reading attachments…</p>}
        {barred !== undefined && <p class="th-quiet">{barred}</p>}
      </div>
      <div class="th-composer-foot">
        <div class="th-composer-options">
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
                  void take([...(event.currentTarget.files ?? [])]);
                  event.currentTarget.value = "";
                }}
              />
            </>
          )}
          {props.children}
        </div>
        <div class="th-composer-acts">
          {running && (
            <button type="button" class="button" title="Stop the turn" disabled={stopping || barred !== undefined} onClick={onStop}>
              <Icon name="stop" /> {stopping ? "Stopping" : "Stop"}
            </button>
          )}
          {running && !empty && (
            <button type="button" class="button" title="Send to the running turn (Alt+Enter)" disabled={off || taking > 0} onClick={() => void send("steer")}>
              Steer
            </button>
          )}
          {(!running || !empty) && (
            <button
              type="button"
              class="button primary"
              title={`${running ? "Queue it after the running turn" : "Send"} (${sendKey === "enter" ? "Enter" : "Ctrl+Enter"})`}
              disabled={empty || off || taking > 0}
              onClick={() => void send("queue")}
            >
              {sending ? <span class="th-spinner" /> : <Icon name="send" />} {running ? "Queue" : "Send"}
            </button>
          )}
        </div>
      </div>
    </div>
  );
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

function sizeOf(attached: readonly Attachment[]): number {
  return attached.reduce((sum, one) => sum + one.size, 0);
}

/** Sets the height by the text, up to the maximum of the style sheet. */
function grow(area: HTMLTextAreaElement | null): void {
  if (area === null) return;
  area.style.height = "auto";
  area.style.height = `${area.scrollHeight}px`;
}

interface AttachedProps {
  attached: readonly Attachment[];
  off: boolean;
  onRemove: (attachment: Attachment) => void;
}

function Attached({ attached, off, onRemove }: AttachedProps) {
  if (attached.length === 0) return null;
  return (
    <ul class="th-attached" role="list" aria-label="Attached">
      {attached.map((one, at) => (
        <li key={at} class="th-attached-file">
          {one.block.type === "image" ? (
            <img class="th-attached-picture" src={`data:${String(one.block.mimeType)};base64,${String(one.block.data)}`} alt="" />
          ) : (
            <Icon name="file" />
          )}
          <span class="th-attached-words">
            <span class="truncate">{visibleLine(one.name)}</span>
            <span class="th-quiet">
              {one.shrunk !== undefined && <span title="Resized to fit into a message">{one.shrunk}, </span>}
              {bytes(one.size)}
            </span>
          </span>
          <button type="button" class="th-remove" aria-label={`Remove ${visibleLine(one.name)}`} disabled={off} onClick={() => onRemove(one)}>
            <Icon name="cross" />
          </button>
        </li>
      ))}
    </ul>
  );
}
