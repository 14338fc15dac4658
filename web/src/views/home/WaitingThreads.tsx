/** The waiting threads, for windows in which the list of threads is a closed drawer. */

import { drawer } from "../../app/layout.ts";
import { waiting } from "../../app/threads.ts";
import { rove } from "../sidebar/roving.ts";
import { ThreadRow } from "../sidebar/ThreadRow.tsx";

/** Maximum number of threads shown, so that the prompt stays in sight. */
const MOST = 3;

export default function WaitingThreads() {
  const threads = waiting.value;
  return (
    <section class="home-waiting" aria-labelledby="home-waiting">
      <h2 class="side-title" id="home-waiting">
        Waiting for you <span class="side-count">{threads.length}</span>
      </h2>
      <ul role="list" class="card" onKeyDown={rove}>
        {threads.slice(0, MOST).map((thread, index) => (
          <ThreadRow key={thread.id} thread={thread} current={false} tabbed index={index} count={threads.length} gap={0} />
        ))}
      </ul>
      {threads.length > MOST && (
        <button type="button" class="button quiet side-more" onClick={() => (drawer.value = true)}>
          Show all
        </button>
      )}
    </section>
  );
}
