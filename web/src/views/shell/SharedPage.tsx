/** The page of a reader who has a link: one thread, without the list, and without anything that changes it. */

import { useEffect } from "preact/hooks";

import { copyShareLink } from "../../app/export.ts";
import { exporting } from "../../app/renaming.ts";
import { go, route } from "../../app/route.ts";
import { shareSecret } from "../../connection/connection.ts";
import type { SharedThread } from "../../connection/session.ts";
import { dateAndTime, dayAndClock } from "../../text/format.ts";
import { Opening, type ThreadPaneProps } from "../pane/Opening.tsx";
import { Banner } from "../parts/Banner.tsx";
import { lazy } from "../parts/lazy.tsx";

import "./shell.css";
import "../share/share.css";

const ThreadPane = lazy<ThreadPaneProps>(() => import("../pane/ThreadPane.tsx"), Opening);
const ThreadDialogs = lazy(() => import("../sidebar/ThreadDialogs.tsx"));

export interface SharedPageProps {
  share: SharedThread;
}

export default function SharedPage({ share: { threadId, expiresAt } }: SharedPageProps) {
  const to = route.value;
  const here = to.view === "thread" && to.threadId === threadId;
  // The address may name another view, which the link does not reach.
  useEffect(() => {
    if (!here) {
      go({ view: "thread", threadId }, { replace: true });
    }
  }, [here]);
  return (
    <>
      <main id="main" class="shell-main shared-page" tabIndex={-1}>
        <Banner />
        {here && <ThreadPane threadId={threadId} target={to.item} find={to.find} />}
        <footer class="shared-note">
          <span>
            Shared with <a href="/docs/" target="_blank" rel="noopener">acpd</a>, which runs coding agents. Read-only, until{" "}
            <time dateTime={new Date(expiresAt).toISOString()} title={dateAndTime(expiresAt)}>
              {dayAndClock(expiresAt)}
            </time>
            .
          </span>
          {shareSecret.value !== undefined && (
            <button type="button" class="button quiet" onClick={() => void copyShareLink(shareSecret.value!)}>
              Copy link
            </button>
          )}
        </footer>
      </main>
      {exporting.value && <ThreadDialogs />}
    </>
  );
}
