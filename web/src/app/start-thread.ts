/** Starts threads. A thread exists before its agent runs, so that a failure may leave one. */

import type { Client, StartThread } from "@acpd/client";

import { keepDraft } from "./drafts.ts";

/** Time to wait for the event of a thread whose start has failed, in milliseconds. */
const EVENT_MS = 2_000;

/** A thread whose agent could not start. */
export class StartFailed extends Error {
  constructor(
    override readonly cause: Error,
    /** The thread, if it exists nevertheless. */
    readonly threadId: string | undefined,
  ) {
    super(cause.message);
  }

  /** Whether the agent wants the user to sign in first. */
  get wantsSignIn(): boolean {
    return codeOf(this.cause) === "sign_in_required";
  }
}

/** Starts a thread; returns its id. Rejects with `StartFailed`. */
export async function startThread(now: Client, wanted: StartThread): Promise<string> {
  let made: string | undefined;
  let heard = () => {};
  const started = new Promise<void>((resolve) => (heard = resolve));
  const off = now.on("thread/started", ({ threadId, thread }) => {
    if (made === undefined && thread.cwd === wanted.cwd && thread.agentType === wanted.agentType) {
      made = threadId;
      heard();
    }
  });
  try {
    return (await now.call("thread/start", wanted)).thread.id;
  } catch (error) {
    if (["sign_in_required", "agent_failed"].includes(codeOf(error) ?? "")) {
      // The event may come after the response.
      await Promise.race([started, new Promise((over) => setTimeout(over, EVENT_MS))]);
    }
    throw new StartFailed(error as Error, made);
  } finally {
    off();
  }
}

/** Moves the first prompt of a thread that has not started to its composer, unless a turn has it. */
export async function movePrompt(now: Client, threadId: string, text: string): Promise<void> {
  const read = await now.call("thread/read", { threadId }).catch(() => undefined);
  if (read?.thread.turnCount === 0) {
    keepDraft(threadId, text);
  }
}

function codeOf(error: unknown): string | undefined {
  return (error as { code?: string }).code;
}
