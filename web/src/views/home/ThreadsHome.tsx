/** The home of users who start no threads: in a narrow window the list, which is a closed drawer there. */

import { awayThreads } from "../../app/away.ts";
import { narrow } from "../../app/layout.ts";
import { Head } from "../parts/Head.tsx";
import { lazy } from "../parts/lazy.tsx";
import { rove } from "../sidebar/roving.ts";
import { ThreadSections } from "../sidebar/ThreadSections.tsx";

import "./home.css";

const AwayCard = lazy(() => import("./AwayCard.tsx"));

export default function ThreadsHome() {
  const away = awayThreads.value.length > 0 && <AwayCard />;
  return (
    <>
      <Head title="Threads" />
      {narrow.value ? (
        <nav class="side-list" aria-label="Threads" onKeyDown={rove}>
          {away}
          <ThreadSections />
        </nav>
      ) : (
        <div class="page" tabIndex={0} role="region" aria-label="Threads">
          <div class="home">
            {away}
            <h2 class="home-title">Select a thread.</h2>
          </div>
        </div>
      )}
    </>
  );
}
