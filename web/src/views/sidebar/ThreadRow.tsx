/** One thread in the list, with its menu. */

import { now } from "../../app/clock.ts";
import { go, pathOf } from "../../app/route.ts";
import { selection } from "../../app/selection.ts";
import { standing } from "../../connection/connection.ts";
import { age, endOf, type Listed, nameOf } from "../../state/threads.ts";
import { waitsFor } from "../../state/waiting-question.ts";
import { dateAndTime } from "../../text/format.ts";
import { Icon } from "../parts/Icon.tsx";
import { StatusMark } from "../parts/StatusMark.tsx";
import { ThreadPlace } from "../parts/ThreadPlace.tsx";
import { lazy } from "../parts/lazy.tsx";
import type { RowAnswersProps } from "./RowAnswers.tsx";
import { RowQuestion } from "./RowQuestion.tsx";
import { ThreadMenu } from "./ThreadMenu.tsx";

const RowAnswers = lazy<RowAnswersProps>(() => import("./RowAnswers.tsx").then((loaded) => ({ default: loaded.RowAnswers })));

interface Props {
  thread: Listed;
  current: boolean;
  tabbed: boolean;
  /** Its position in its section. */
  index: number;
  /** Number of threads in its section. */
  count: number;
  /** Height of the rows before it that are not rendered, in pixels. */
  gap: number;
}

export function ThreadRow({ thread, current, tabbed, index, count, gap }: Props) {
  const { id, agentType, cwd, updatedAt, live, unread } = thread;
  const end = endOf(thread);
  const isSelected = selection.value.has(id);
  const question = live === "waiting" ? thread.question : undefined;
  const { value: who } = standing;
  const mayAnswer = who.name === "in" && who.session.role !== "observer";
  const to = { view: "thread", threadId: id } as const;
  return (
    <li
      class={`row${isSelected ? " is-selected" : ""}${current ? " is-current" : ""}${question ? " is-asking" : ""}${question && mayAnswer ? " has-answers" : ""}`}
      data-thread={id}
      aria-posinset={index + 1}
      aria-setsize={count}
      style={gap > 0 ? { marginTop: `${gap}px` } : undefined}
    >
      <a
        class="row-link"
        href={pathOf(to)}
        data-rove
        tabIndex={tabbed ? 0 : -1}
        aria-current={current ? "page" : undefined}
        onClick={(event) => {
          if (!event.metaKey && !event.ctrlKey && !event.shiftKey) {
            event.preventDefault();
            go(to);
          }
        }}
      >
        {isSelected ? (
          <span class="live" role="img" aria-label="selected">
            <Icon name="check" size={14} />
          </span>
        ) : (
          <StatusMark live={live} says={live === "waiting" ? waitsFor(question) : end} />
        )}
        <span class="row-text">
          <span class="row-name truncate" dir="auto">
            {nameOf(thread)}
          </span>
          {question && <RowQuestion question={question} cwd={cwd} />}
          <span class="row-sub">
            <span class="truncate">
              {end !== undefined && (
                // Screen readers use the mark's label.
                <span aria-hidden="true">
                  <span class={live === "failed" ? "row-failed" : undefined}>{end}</span> ·{" "}
                </span>
              )}
              <ThreadPlace agentType={agentType} cwd={cwd} brief />
            </span>
          </span>
        </span>
        <span class="row-side">
          <time class="row-age" dateTime={new Date(updatedAt).toISOString()} title={dateAndTime(updatedAt)}>
            {age(updatedAt, now.value)}
          </time>
          {unread && <span class="row-unread" role="img" aria-label="unread" />}
        </span>
      </a>
      <ThreadMenu thread={thread} tabIndex={tabbed ? 0 : -1} class="row-menu" within=".row" />
      {question && mayAnswer && <RowAnswers threadId={id} cwd={cwd} question={question} tabIndex={tabbed ? 0 : -1} />}
    </li>
  );
}
