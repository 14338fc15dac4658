// The frame of a question: its title, one scrolling body, and answers that stay in sight. The digits press the answers
// while the card has the focus, once the user has seen the body to its end.

import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";

import { focusWhenThere } from "../../../app/focus.ts";
import { announce } from "../../../app/live-region.ts";
import { isTyping } from "../../../app/typing.ts";
import { shared } from "../../../connection/connection.ts";
import { visibleLine } from "../../../text/bidi-guard.ts";
import { isInSight } from "../../parts/in-sight.ts";
import { useBack } from "../../parts/use-back.ts";
import { Icon, type IconName } from "../content/Icon.tsx";
import { showSheet } from "./sheet.ts";

import "./questions.css";

/** Time for which the card must have had the focus before a digit counts, in milliseconds: it may be meant for what was there before. */
const SETTLE_MS = 500;

/** The parts that all questions have, whatever they ask. */
export interface QuestionFrame {
  /** Whether the answer is being sent. */
  sending?: boolean;
  /** Why the daemon rejected the last answer. */
  error?: string | undefined;
  /** The other subscribers who receive the question. */
  others?: readonly string[];
  /** Why this user cannot answer. */
  barred?: string | undefined;
  /** The subagent that asks, unless it is the main agent. */
  asker?: string | undefined;
  /** Whether the card is a sheet over the conversation, and which of how many questions it shows. */
  sheet?: string | undefined;
}

interface Props extends QuestionFrame {
  requestId: string;
  class: string;
  icon: IconName;
  title: ComponentChildren;
  /** What screen readers announce when the question arrives. */
  alert: string;
  /** The answers, as buttons. */
  answers: ComponentChildren;
  /** Whether the digits press the answers. */
  keyed?: boolean;
  /** For a form. */
  onSubmit?: (event: Event) => void;
  children: ComponentChildren;
}

export function QuestionCard({ children, ...props }: Props) {
  const { requestId, icon, title, sending = false, error, others = [], barred, asker, sheet, keyed = false, onSubmit } = props;
  const id = useId();
  const card = useRef<HTMLElement>(null);
  const body = useRef<HTMLDivElement>(null);
  const foot = useRef<HTMLDivElement>(null);
  const end = useRef<HTMLSpanElement>(null);
  const seen = useSeen(end);
  const focusedAt = useRef(Infinity);

  const onKeyDown = (event: KeyboardEvent) => {
    const at = event.target as HTMLElement;
    if (!keyed || event.ctrlKey || event.altKey || event.metaKey || !/^[1-9]$/.test(event.key) || isTyping(at)) {
      return;
    }
    const button = foot.current?.querySelector<HTMLElement>(`[aria-keyshortcuts="${event.key}"]`);
    if (button == null) return;
    event.preventDefault();
    event.stopPropagation();
    // A key that is held down would answer the questions that follow as well.
    if (event.repeat || performance.now() - focusedAt.current < SETTLE_MS) return;
    if (seen()) {
      button.click();
    } else {
      body.current?.scrollBy({ top: body.current.clientHeight * 0.9 });
      announce("Scroll to the end of the request first.");
    }
  };
  const fold = () => {
    showSheet(requestId, false);
    focusWhenThere(".th-folded");
  };
  useBack(sheet !== undefined, fold);
  const inside = (
    <>
      <div class="th-subject" ref={body} tabIndex={-1}>
        {children}
        <AlsoAsked others={others} />
        <span class="th-subject-end" ref={end} aria-hidden="true" />
      </div>
      {error !== undefined && (
        <p class="error-text" role="alert">
          {error}
        </p>
      )}
      {barred !== undefined && <p class="th-quiet">{barred}</p>}
      {shared.value === undefined && (
        <div class={keyed ? "th-answers is-keyed" : "th-answers"} ref={foot}>
          {props.answers}
          {sending && <span class="th-spinner" role="status" aria-label="Sending the answer" />}
        </div>
      )}
    </>
  );
  return (
    <section
      ref={card}
      class={`th-card th-question ${props.class} ${sheet === undefined ? "" : "is-sheet"}`}
      role="group"
      aria-labelledby={id}
      aria-busy={sending}
      tabIndex={-1}
      data-question={requestId}
      onKeyDown={onKeyDown}
      onFocusIn={({ relatedTarget }) => {
        if (!card.current?.contains(relatedTarget as Node | null)) focusedAt.current = performance.now();
      }}
    >
      <p class="sr-only" role="alert">
        {props.alert}
      </p>
      <header class="th-approval-head">
        <Icon name={icon} />
        <h3 id={id} dir="auto">
          {asker !== undefined && <bdi class="th-asker">{asker}: </bdi>}
          {title}
        </h3>
        {sheet !== undefined && (
          <>
            {sheet !== "" && <span class="th-quiet">{sheet}</span>}
            <button type="button" class="button quiet icon" aria-label="Show the conversation" title="Show the conversation" onClick={fold}>
              <Icon name="down" />
            </button>
          </>
        )}
      </header>
      {onSubmit === undefined ? (
        inside
      ) : (
        // The browser's validation is off: it would differ from the schema's, and repeat it.
        <form class="th-form" noValidate onSubmit={onSubmit} autocomplete="off">
          {inside}
        </form>
      )}
    </section>
  );
}

/** Lists the other subscribers, who may answer first. */
function AlsoAsked({ others }: { others: readonly string[] }) {
  if (others.length === 0) return null;
  return <p class="th-quiet">Also open on: {[...new Set(others)].map(visibleLine).join(", ")}</p>;
}

/** Returns a function that tells whether the element is or has been in sight. */
function useSeen(element: { current: HTMLElement | null }): () => boolean {
  const [state] = useState({ seen: false });
  useEffect(() => {
    if (element.current === null || typeof IntersectionObserver === "undefined") return;
    const observer = new IntersectionObserver((entries) => {
      state.seen ||= entries.some((entry) => entry.isIntersecting);
    });
    observer.observe(element.current);
    return () => observer.disconnect();
  }, []);
  // The observer reports once per frame, and a key may come before.
  return () => state.seen || (element.current !== null && isInSight(element.current));
}
