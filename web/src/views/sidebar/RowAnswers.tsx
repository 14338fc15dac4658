/**
 * The answers in the row of a waiting thread: buttons, the digits of the question's card while the row has the focus, and
 * swipes. They exist only while the row shows the whole question. Where nothing hovers, a short swipe reveals the buttons.
 */

import type { WaitingQuestion } from "@acpd/client";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

import { showQuestion } from "../../app/focus.ts";
import { announce } from "../../app/live-region.ts";
import { answerFromList, SETTLE_MS, settled } from "../../app/row-answers.ts";
import { isTyping } from "../../app/typing.ts";
import { online, standing } from "../../connection/connection.ts";
import { type RowAnswer, rowAnswers } from "../../state/waiting-question.ts";
import { isInSight } from "../parts/in-sight.ts";
import { swipe, type SwipeAction } from "./swipe.ts";

import "./row-answers.css";

export interface RowAnswersProps {
  threadId: string;
  cwd: string;
  question: WaitingQuestion;
  tabIndex: number;
}

export function RowAnswers(props: RowAnswersProps) {
  const { value: who } = standing;
  if (who.name !== "in" || who.session.role === "observer") {
    return null;
  }
  // The state of one question must not pass to the next one.
  return <Answers key={props.question.requestId} {...props} />;
}

function Answers({ threadId, cwd, question, tabIndex }: RowAnswersProps) {
  const place = useRef<HTMLDivElement>(null);
  const fits = useFits(place);
  const ready = settled.value && online.value;
  const [sending, setSending] = useState(false);
  const offered = fits ? rowAnswers(question, cwd) : undefined;
  const list = offered === undefined ? [] : [offered.allow, offered.reject].flatMap((one) => one ?? []);

  const answer = (one: RowAnswer) => {
    const row = rowOf(place);
    const text = row?.querySelector<HTMLElement>(".row-question");
    if (sending || !settled.peek() || !online.peek() || !row || !text) {
      return;
    }
    if (!isInSight(text)) {
      text.scrollIntoView({ block: "nearest" });
      announce("The request was not in sight. Answer again.");
      return;
    }
    setSending(true);
    const hasFocus = row.contains(document.activeElement);
    void answerFromList(threadId, question, one.option).then((accepted) => {
      // After an accepted answer, the row changes by its event.
      if (!accepted) {
        setSending(false);
      } else if (hasFocus) {
        focusNext(row, threadId);
      }
    });
  };
  const latest = useRef({ list, answer, offered });
  latest.current = { list, answer, offered };
  const [fresh, setFresh] = useState(false);
  useEffect(() => {
    const timer = fresh ? setTimeout(() => setFresh(false), SETTLE_MS) : undefined;
    return () => clearTimeout(timer);
  }, [fresh]);
  const open = () => showQuestion(threadId);

  useEffect(() => {
    const row = rowOf(place);
    const onKey = (event: KeyboardEvent) => {
      const at = event.target as HTMLElement;
      if (!/^[1-9]$/.test(event.key) || event.ctrlKey || event.altKey || event.metaKey || isTyping(at)) {
        return;
      }
      event.preventDefault();
      // A key that is held down would answer the questions of the next rows as well.
      if (event.repeat) {
        return;
      }
      const chosen = latest.current.list.find(({ digit }) => digit === Number(event.key));
      if (chosen) {
        latest.current.answer(chosen);
      } else {
        announce("Open the thread for this answer.");
      }
    };
    row?.addEventListener("keydown", onKey);
    const actionOf = (direction: "left" | "right"): SwipeAction | undefined => {
      const { offered } = latest.current;
      const chosen = direction === "right" ? offered?.allow : offered?.reject;
      if (chosen) {
        return { label: direction === "right" ? "Allow once" : "Reject", run: () => latest.current.answer(chosen) };
      }
      // What may not be allowed here is allowed there.
      return offered && direction === "right" ? { label: "Open", run: open } : undefined;
    };
    const endSwipes = row && swipe(row, actionOf, () => setFresh(true));
    return () => {
      row?.removeEventListener("keydown", onKey);
      endSwipes?.();
    };
  }, []);

  return (
    <div class={sending ? "row-answers is-sending" : "row-answers"} ref={place} role="group" aria-label="Answers">
      {offered?.allow === undefined && (
        <button type="button" class="button" tabIndex={tabIndex} onClick={open}>
          Open
        </button>
      )}
      {list.map((one) => (
        <button
          key={one.digit}
          type="button"
          class={one === offered?.allow ? "button is-allow" : "button danger"}
          tabIndex={tabIndex}
          aria-disabled={sending || !ready || fresh || undefined}
          aria-keyshortcuts={String(one.digit)}
          onClick={() => !fresh && answer(one)}
        >
          {one === offered?.allow ? "Allow once" : "Reject"}
          <kbd aria-hidden="true">{one.digit}</kbd>
        </button>
      ))}
      {list.length > 0 && (
        <span class="row-hint" aria-hidden="true">
          Swipe to answer
        </span>
      )}
      {sending && <span class="sr-only" role="status">Sending the answer</span>}
    </div>
  );
}

function rowOf(place: { current: HTMLElement | null }): HTMLElement | null {
  return place.current?.closest<HTMLElement>(".row") ?? null;
}

/** Returns whether the row shows its question to the end, without an ellipsis and without scrolling. */
function useFits(place: { current: HTMLElement | null }): boolean {
  const [fits, setFits] = useState(false);
  useLayoutEffect(() => {
    const text = rowOf(place)?.querySelector<HTMLElement>(".row-question");
    if (!text) {
      return;
    }
    const measure = () => {
      const parts = [text, ...text.querySelectorAll<HTMLElement>(".row-wish")];
      setFits(parts.every((part) => part.scrollWidth <= part.clientWidth) && text.scrollHeight <= text.clientHeight);
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(text);
    return () => observer.disconnect();
  }, []);
  return fits;
}

/** Time in which the focus follows a row that moves, in milliseconds. */
const FOLLOW_MS = 3_000;

/** Moves the focus on from an answered row: to the next question, or with the row to its new place. */
function focusNext(row: HTMLElement, threadId: string): void {
  const list = row.closest<HTMLElement>(".side-list, .home-waiting");
  const own = `[data-thread="${CSS.escape(threadId)}"]`;
  const next = list?.querySelector<HTMLElement>(`.row.is-asking:not(${own}) .row-link`);
  if (next || !list) {
    next?.focus();
    return;
  }
  const observer = new MutationObserver(() => {
    if (document.activeElement === document.body) {
      list.querySelector<HTMLElement>(`${own} .row-link`)?.focus();
    }
  });
  observer.observe(list, { childList: true, subtree: true });
  setTimeout(() => observer.disconnect(), FOLLOW_MS);
}
