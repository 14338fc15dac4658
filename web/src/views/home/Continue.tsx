/** The threads that the user was in last, below the form for a new one. */

import { now } from "../../app/clock.ts";
import { narrow } from "../../app/layout.ts";
import { go, pathOf } from "../../app/route.ts";
import { threads } from "../../app/threads.ts";
import { age, nameOf } from "../../state/threads.ts";
import { dateAndTime } from "../../text/format.ts";
import { StatusMark } from "../parts/StatusMark.tsx";
import { ThreadPlace } from "../parts/ThreadPlace.tsx";

/** Number of threads shown. */
const MOST = 4;

export default function Continue() {
  // In a narrow window, those that wait are above the form.
  const latest = (threads.value ?? []).filter(({ live }) => !narrow.value || live !== "waiting").slice(0, MOST);
  if (latest.length === 0) return null;
  return (
    <section class="home-continue" aria-labelledby="home-continue">
      <h2 class="side-title" id="home-continue">
        Continue
      </h2>
      <ul role="list">
        {latest.map((thread) => {
          const to = { view: "thread", threadId: thread.id } as const;
          return (
            <li key={thread.id}>
              <a
                href={pathOf(to)}
                onClick={(event) => {
                  if (!event.metaKey && !event.ctrlKey && !event.shiftKey) {
                    event.preventDefault();
                    go(to);
                  }
                }}
              >
                <StatusMark live={thread.live} />
                <span class="home-continue-name truncate" dir="auto">
                  {nameOf(thread)}
                </span>
                <span class="home-continue-place truncate">
                  <ThreadPlace agentType={thread.agentType} cwd={thread.cwd} />
                </span>
                <time dateTime={new Date(thread.updatedAt).toISOString()} title={dateAndTime(thread.updatedAt)}>
                  {age(thread.updatedAt, now.value)}
                </time>
              </a>
            </li>
          );
        })}
      </ul>
    </section>
  );
}
