/** Starts a thread of the demo agent. */

import { useState } from "preact/hooks";

import { startDemo } from "../../app/demo.ts";
import { go } from "../../app/route.ts";
import { client, online, sentence } from "../../connection/connection.ts";
import { visible } from "../../text/bidi-guard.ts";

export function DemoButton() {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string>();
  const start = async () => {
    const now = client.peek();
    if (busy || !now) {
      return;
    }
    setBusy(true);
    setProblem(undefined);
    try {
      go({ view: "thread", threadId: await startDemo(now) });
    } catch (why) {
      setProblem(`Couldn’t start the demo: ${visible(sentence(why))}`);
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      {/* The busy button keeps the focus, for keyboard users. */}
      <button
        type="button"
        class="button"
        aria-busy={busy}
        aria-disabled={busy || undefined}
        disabled={!online.value}
        title={online.value ? undefined : "Not connected"}
        onClick={() => void start()}
      >
        {busy ? "Starting the demo…" : "Try the demo"}
      </button>
      {problem !== undefined && (
        <span class="error-text" role="alert">
          {problem}
        </span>
      )}
    </>
  );
}
