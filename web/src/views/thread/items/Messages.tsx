// The messages of users and agents.

import type { Item, Message } from "@acpd/client";

import { useState } from "preact/hooks";

import { narrow, touch } from "../../../app/layout.ts";
import { pathOf } from "../../../app/route.ts";
import { toast } from "../../../app/toasts.ts";
import { shared } from "../../../connection/connection.ts";
import { type AcpObject, objects, text } from "../../../state/acp.ts";
import { Content } from "../content/Content.tsx";
import { type MessageEdits, useThread } from "../content/context.ts";
import { CopyButton } from "../content/CopyButton.tsx";
import { Fold } from "../content/Fold.tsx";
import { count, dateAndTime, dayAndClock, firstWords } from "../../../text/format.ts";
import { Icon } from "../content/Icon.tsx";
import { Markdown } from "../content/Markdown.tsx";

export interface MessageProps {
  item: Item & Message;
  /** Whether it is still changing. */
  live?: boolean;
}

/** Returns content blocks that the item's text does not contain. */
function beyondText(item: Message): AcpObject[] {
  return item.text == null || item.text === "" ? objects(item.content) : notTexts(item);
}

function notTexts(item: Message): AcpObject[] {
  return objects(item.content).filter((block) => block.type !== "text");
}

/** A user's text is shown verbatim: it is not Markdown. */
export function UserMessage({ item }: MessageProps) {
  const words = verbatimOf(item);
  return (
    <div class="th-user" role="group" aria-label="You said">
      <h2 class="sr-only" dir="auto">
        {firstWords(words) || "Attachments"}
      </h2>
      {words !== "" && <UserWords id={item.itemId} words={words} />}
      <Beyond item={item} blocks={notTexts(item)} own />
      <MessageActs item={item} words={words} own />
    </div>
  );
}

/** What an agent told its subagent. Verbatim as well, and with nothing that would make it the words of the user. */
export function ToldMessage({ item }: MessageProps) {
  const words = verbatimOf(item);
  return (
    <div class="th-agent th-told" role="group" aria-label="Said to the subagent">
      <span class="th-label">Told</span>
      {words !== "" && <UserWords id={item.itemId} words={words} />}
      <Beyond item={item} blocks={notTexts(item)} />
      <MessageActs item={item} words={words} />
    </div>
  );
}

/** Maximum length of an uncut user text, in characters, and the length shown when it is cut. */
const [LONG, FIRST] = [6_000, 2_000];

function UserWords({ id, words }: { id: string; words: string }) {
  const { folds } = useThread();
  const [all, setAll] = useState(() => words.length <= LONG || folds.get(`${id}/words`) === true);
  if (all) return <div class="th-user-text" dir="auto">{words}</div>;
  const showAll = () => {
    folds.set(`${id}/words`, true);
    setAll(true);
  };
  return (
    <>
      <div class="th-user-text" dir="auto">
        {words.slice(0, FIRST)}…
      </div>
      <button type="button" class="button quiet" data-grows onClick={showAll}>
        Show all {count(words.length)} characters
      </button>
    </>
  );
}

/** Returns the text of a message that is shown as it was written. */
function verbatimOf(item: Message): string {
  return item.text != null && item.text !== "" ? item.text : wordsOf(item);
}

function wordsOf(item: Message): string {
  return objects(item.content)
    .filter((block) => block.type === "text")
    .map((block) => text(block.text) ?? "")
    .join("\n");
}

export function AgentMessage({ item, live: streaming = item.outcome == null }: MessageProps) {
  const said = item.text ?? "";
  return (
    <div class="th-agent" role="group" aria-label="The agent said" aria-busy={streaming}>
      {said !== "" && <Markdown text={said} streaming={streaming} />}
      <Beyond item={item} blocks={beyondText(item)} />
      {!streaming && <MessageActs item={item} words={said} />}
    </div>
  );
}

interface MessageActsProps {
  item: Item;
  words: string;
  /** Whether it is a message of the user. */
  own?: boolean;
}

/**
 * The actions beside a message: its words, its address, and for the user's own, editing. They say when it was sent. Beside the
 * user's own is room for one button where the window is narrow or nothing hovers, which opens the others below it.
 */
function MessageActs({ item: { itemId, startedAt: at }, words, own = false }: MessageActsProps) {
  const { threadId, edits } = useThread();
  const [opened, setOpened] = useState(false);
  const link = () => location.origin + pathOf({ view: "thread", threadId: threadId ?? "", item: itemId });
  // A reader of a shared thread has no other address.
  const hasLink = threadId !== undefined && shared.value === undefined;
  const edit = own ? edits : undefined;
  if (words === "" && !hasLink && at == null && edit === undefined) return null;
  const folds = own && (touch.value || narrow.value);
  return (
    <span class={`th-message-acts th-copy-hover ${folds && opened ? "is-open" : ""}`} title={at == null ? undefined : dateAndTime(at)}>
      {folds && (
        <button type="button" class="th-copy" aria-label="More about this message" aria-expanded={opened} data-grows onClick={() => setOpened(!opened)}>
          <Icon name="more" />
        </button>
      )}
      {(!folds || opened) && (
        <>
          {at != null && <time dateTime={new Date(at).toISOString()}>{dayAndClock(at)}</time>}
          {hasLink && <CopyButton text={link} what="link" icon="link" />}
          {words !== "" && <CopyButton text={words} what="message" />}
          {edit !== undefined && <EditButton itemId={itemId} edits={edit} named={folds} />}
        </>
      )}
    </span>
  );
}

function EditButton({ itemId, edits, named }: { itemId: string; edits: MessageEdits; named: boolean }) {
  const barred = edits.barred(itemId);
  const label = barred === undefined ? "Edit and resend" : `Edit and resend: ${barred}`;
  const edit = () => (barred === undefined ? edits.begin(itemId) : toast(barred));
  // It can take the focus even if it is off, to say why.
  return (
    <button
      type="button"
      class={named ? "button quiet" : "th-copy"}
      title={label}
      aria-label={label}
      aria-disabled={barred !== undefined}
      onClick={edit}
    >
      <Icon name="edit" />
      {named && "Edit and resend"}
    </button>
  );
}

/** Folded by default: for users who are interested in the agent's reasoning. */
export function Thought({ item, live: streaming = item.outcome == null }: MessageProps) {
  const said = item.text ?? "";
  return (
    <Fold
      id={item.itemId}
      class="th-thought th-line-fold"
      summary={
        <>
          <Icon name="think" />
          <span class="th-label">{streaming ? "Thinking" : "Thought"}</span>
          {streaming && <span class="th-pulse" />}
          <span class="th-quiet th-thought-first" dir="auto">
            {firstWords(said, 200)}
          </span>
        </>
      }
    >
      {() => (
        <div class="th-thought-text">
          <Markdown text={said} streaming={streaming} />
          <Beyond item={item} blocks={beyondText(item)} />
          {said !== "" && <CopyButton text={said} what="thought" class="th-copy-hover" />}
        </div>
      )}
    </Fold>
  );
}

function Beyond({ item, blocks, own = false }: { item: Item; blocks: readonly AcpObject[]; own?: boolean }) {
  if (blocks.length === 0) return null;
  return (
    <div class="th-blocks">
      {blocks.map((block, at) => (
        <Content key={at} id={`${item.itemId}/${at}`} block={block} own={own} />
      ))}
    </div>
  );
}
