/** Checks an agent: a button, and the result. */

import type { AgentExamined } from "@acpd/client";
import { useEffect, useRef, useState } from "preact/hooks";

import { signedOut } from "../../app/agents.ts";
import { client, sentence } from "../../connection/connection.ts";
import { visible } from "../../text/bidi-guard.ts";
import { Examined } from "./Examined.tsx";

import "./agents.css";

type Look = { name: "none" } | { name: "busy" } | { name: "found"; found: AgentExamined } | { name: "failed"; why: string };

/** The state of an agent's check, and the function that begins one. */
export interface Check {
  readonly look: Look;
  readonly begin: () => Promise<void>;
}

/** Asks the daemon to start an agent, to initialize it, and to stop it. */
export async function examine(agentType: string): Promise<AgentExamined> {
  const now = client.peek();
  if (!now) {
    throw new Error("not connected");
  }
  return now.call("agent/doctor", { agentType });
}

export function useCheck(agentType: string, check: typeof examine = examine): Check {
  const [look, setLook] = useState<Look>({ name: "none" });
  const here = useRef(true);
  useEffect(() => () => void (here.current = false), []);
  const begin = async () => {
    if (look.name === "busy") {
      return;
    }
    setLook({ name: "busy" });
    const next = await check(agentType).then(
      (found): Look => ({ name: "found", found }),
      (why: unknown): Look => ({ name: "failed", why: sentence(why) }),
    );
    if (here.current) {
      setLook(next);
    }
  };
  return { look, begin };
}

interface Props {
  /** The agent's name. */
  name: string;
  check: Check;
  /** Why it cannot be checked now; `undefined` if it can. */
  barred?: string | undefined;
}

export function CheckButton({ name, check: { look, begin }, barred }: Props) {
  const busy = look.name === "busy";
  return (
    // The busy button keeps the focus, for keyboard users.
    <button
      type="button"
      class="button"
      aria-label={`Check ${name}`}
      aria-busy={busy}
      aria-disabled={busy || undefined}
      disabled={barred !== undefined}
      title={barred}
      onClick={() => void begin()}
    >
      {busy ? "Checking…" : "Check"}
    </button>
  );
}

export function CheckResult({ id, name, check: { look } }: { id: string; name: string; check: Check }) {
  return (
    <div role="status" aria-live="polite" aria-label={`Result of checking ${name}`}>
      {look.name === "busy" && <p class="hint agent-look">Starting and initializing the agent…</p>}
      {look.name === "failed" && <p class="error-text agent-look">Couldn’t check: {visible(look.why)}</p>}
      {look.name === "found" && <Examined {...look.found} isSignedOut={signedOut.value.has(id)} />}
    </div>
  );
}
