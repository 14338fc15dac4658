/** The archived threads. */

import type { ThreadSummary } from "@acpd/client";
import { useEffect, useState } from "preact/hooks";

import { now } from "../../app/clock.ts";
import { go, pathOf } from "../../app/route.ts";
import { isGoing, remove, threads, unarchive } from "../../app/threads.ts";
import { client, online, sentence, standing } from "../../connection/connection.ts";
import { age, nameOf } from "../../state/threads.ts";
import { Head } from "../parts/Head.tsx";
import { ThreadPlace } from "../parts/ThreadPlace.tsx";

import "./archive.css";

export default function Archive() {
  const [all, setList] = useState<readonly ThreadSummary[]>();
  const list = all?.filter(({ id }) => !isGoing(id));
  const [cursor, setCursor] = useState<string | undefined>(undefined);
  const [error, setError] = useState<string>();
  const { value: who } = standing;
  const role = who.name === "in" ? who.session.role : "observer";
  const load = (from?: string) => {
    client.peek()?.call("thread/list", { archived: true, limit: 50, cursor: from }).then(
      ({ data, nextCursor }) => {
        setList((old) => (from === undefined ? data : [...(old ?? []), ...data]));
        setCursor(nextCursor ?? undefined);
        setError(undefined);
      },
      (why: unknown) => setError(sentence(why)),
    );
  };
  // Unarchiving adds a thread to the other list, and archiving removes it from there.
  const count = threads.value?.length;
  useEffect(() => {
    if (online.value) {
      load();
    }
  }, [online.value, count]);
  return (
    <>
      <Head title="Archive" />
      <div class="page" tabIndex={0} role="region" aria-label="Archive">
        <div class="page-column">
          {error !== undefined && (
            <p class="error-text" role="alert">
              {error}
            </p>
          )}
          {list?.length === 0 && <p class="empty">No archived threads.</p>}
          {list && list.length > 0 && (
            <ul role="list" class="card rows">
              {list.map((thread) => (
                <li class="archived" key={thread.id}>
                  <a
                    class="archived-text"
                    href={pathOf({ view: "thread", threadId: thread.id })}
                    onClick={(event) => {
                      event.preventDefault();
                      go({ view: "thread", threadId: thread.id });
                    }}
                  >
                    <span class="truncate" dir="auto">
                      {nameOf(thread)}
                    </span>
                    <span class="hint truncate">
                      <ThreadPlace agentType={thread.agentType} cwd={thread.cwd} /> · {age(thread.updatedAt, now.value)}
                    </span>
                  </a>
                  {(role === "operator" || role === "owner") && (
                    <button type="button" class="button" onClick={() => void unarchive(thread.id).then(() => load())}>
                      Unarchive
                    </button>
                  )}
                  {role === "owner" && (
                    <button
                      type="button"
                      class="button danger"
                      onClick={() => void remove(thread)}
                    >
                      Delete
                    </button>
                  )}
                </li>
              ))}
            </ul>
          )}
          {cursor !== undefined && (
            <button type="button" class="button archived-more" onClick={() => load(cursor)}>
              Show more
            </button>
          )}
        </div>
      </div>
    </>
  );
}
