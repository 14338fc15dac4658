/** Signs in to an agent that opens no session before that, and then sends the prompt again. */

import type { AcpObject, AgentHello } from "@acpd/client";
import { useEffect, useRef, useState } from "preact/hooks";

import { lookForAgents, noteSignIn, titleOfAgent } from "../../app/agents.ts";
import { announce } from "../../app/live-region.ts";
import { client, online, sentence, standing } from "../../connection/connection.ts";
import { contentText, objects, text } from "../../state/acp.ts";
import type { FoldedTurn } from "../../state/thread.ts";
import { visible, visibleLine } from "../../text/bidi-guard.ts";
import { type Destination, destination } from "../../text/safe-url.ts";
import { CopyButton } from "../thread/content/CopyButton.tsx";
import { promptOf } from "../../state/prompts.ts";
import type { ThreadViewProps } from "../thread-props.ts";
import { Icon } from "../parts/Icon.tsx";
import { CheckButton, CheckResult, useCheck } from "./Check.tsx";
import { Command } from "./Command.tsx";

import "./setup.css";

export interface SignInCardProps extends Pick<ThreadViewProps, "thread" | "actions"> {
  /** Whether the agent has opened a session since it refused one. */
  isSignedIn: boolean;
}

export default function SignInCard({ thread, actions, isSignedIn }: SignInCardProps) {
  const { agentType } = thread.head;
  const name = titleOfAgent(agentType);
  const { hello, error: unknown } = useHello(agentType);
  const [busy, setBusy] = useState<string>();
  const [done, setDone] = useState(false);
  const [error, setError] = useState<string>();
  const again = useRef<HTMLButtonElement>(null);
  const { value: who } = standing;
  const isOwner = who.name === "in" && who.session.role === "owner";
  const failed = thread.turns.findLast(({ id, status }) => id != null && status === "failed");
  const ready = done || isSignedIn;
  const { inProgress, lines } = useSignIn(thread.threadId, isOwner && !ready, busy !== undefined && busy !== "again");
  const check = useCheck(agentType);

  useEffect(() => {
    if (ready) {
      noteSignIn(agentType, true);
      announce(`Signed in to ${name}`);
    }
  }, [ready]);
  // The button of the sign-in had the focus, and is gone.
  useEffect(() => {
    if (ready && busy === undefined && document.activeElement === document.body) {
      again.current?.focus();
    }
  }, [ready, busy]);

  const run = async (what: string, act: () => Promise<unknown>) => {
    setBusy(what);
    setError(undefined);
    try {
      await act();
    } catch (why) {
      setError(sentence(why));
    } finally {
      setBusy(undefined);
    }
  };
  const signIn = (methodId: string) =>
    run(methodId, async () => {
      await client.peek()?.call("agent/authenticate", { threadId: thread.threadId, methodId });
      setDone(true);
      void lookForAgents();
    });
  const cancel = () =>
    client.peek()?.call("agent/authenticate/cancel", { threadId: thread.threadId }).catch((why: unknown) => setError(sentence(why)));
  const tryAgain = () => run("again", () => sendAgain(failed, actions));

  return (
    <section class="card sign-in-card" aria-labelledby="sign-in-title">
      <h3 id="sign-in-title">
        <Icon name="agents" /> {ready ? `Signed in to ${name}` : `Sign in to ${name}`}
      </h3>
      {!ready && (
        <>
          {unknown !== undefined && <p class="error-text">Couldn’t ask the agent how to sign in: {visible(unknown)}</p>}
          {hello === undefined && unknown === undefined && <p class="hint">Asking the agent how to sign in…</p>}
          <ul role="list" class="sign-in-ways">
            {objects(hello?.authMethods).map((method, at) => (
              <Way key={at} method={method} agent={agentType} name={name} isOwner={isOwner} busy={busy} onSignIn={signIn} />
            ))}
          </ul>
        </>
      )}
      {inProgress && (
        <p class="hint" role="status">
          {lines.length === 0 ? "Signing in. The agent may have opened a page on the daemon’s host." : "Signing in. The agent printed:"}
        </p>
      )}
      {inProgress && (
        <>
          {lines.map((line) => (
            <Printed key={line} line={line} />
          ))}
          <p class="sign-in-acts">
            <button type="button" class="button" onClick={() => void cancel()}>
              Cancel
            </button>
          </p>
        </>
      )}
      {error !== undefined && (
        <p class="error-text" role="alert">
          {visible(error)}
        </p>
      )}
      {failed !== undefined && (
        <p class="sign-in-acts">
          <button ref={again} type="button" class={ready ? "button primary" : "button"} disabled={busy !== undefined} onClick={() => void tryAgain()}>
            Try again
          </button>
          <span class="hint">{ready ? "Sends the prompt again" : "When you have signed in"}</span>
        </p>
      )}
      {ready && (
        <div class="sign-in-acts">
          <CheckButton name={name} check={check} />
          <CheckResult id={agentType} name={name} check={check} />
        </div>
      )}
    </section>
  );
}

/** How often to ask what the agent has printed, in milliseconds. */
const POLL = 1000;

/** Returns whether a sign-in is in progress, of this page or another one, and what the agent has printed for it. */
function useSignIn(threadId: string, asks: boolean, busy: boolean): { inProgress: boolean; lines: readonly string[] } {
  const [found, setFound] = useState<{ inProgress: boolean; lines: readonly string[] }>({ inProgress: false, lines: [] });
  useEffect(() => {
    if (!asks) return undefined;
    let over = false;
    const ask = () =>
      client.peek()?.call("agent/authenticate/read", { threadId }).then(
        (read) => over || setFound(read),
        // Asked again soon, and the sign-in itself reports what is wrong.
        () => {},
      );
    void ask();
    const timer = setInterval(ask, POLL);
    return () => {
      over = true;
      clearInterval(timer);
    };
  }, [threadId, asks, busy]);
  return busy && !found.inProgress ? { inProgress: true, lines: [] } : found;
}

/** A line of the agent. Each of its addresses says where it leads. */
function Printed({ line }: { line: string }) {
  const goals = addresses(line);
  return (
    <div class="sign-in-printed">
      <p>
        <span>{visibleLine(line)}</span>
        <CopyButton text={goals.length === 1 ? goals[0]!.href : visibleLine(line)} what={goals.length === 1 ? "address" : "line"} />
      </p>
      {goals.map((goal) => (
        <p key={goal.href}>
          <a class="button" href={goal.href} target="_blank" rel="noreferrer noopener">
            Open {visibleLine(goal.host)}
          </a>
          {goal.insecure && <span class="th-warning">The connection to this page is not encrypted.</span>}
          {goal.disguise !== undefined && (
            <span class="th-warning">“{visibleLine(goal.disguise)}” in this address is a user name, not where it leads.</span>
          )}
        </p>
      ))}
    </div>
  );
}

/** Returns the web addresses in a line, without the punctuation around them. */
function addresses(line: string): Destination[] {
  const found = line.match(/https?:\/\/[^\s"'<>`]+/g) ?? [];
  return found.flatMap((address) => destination(address.replace(/[.,;:!?)\]}]+$/, "")) ?? []);
}

async function sendAgain(turn: FoldedTurn | undefined, actions: SignInCardProps["actions"]): Promise<void> {
  const blocks = turn === undefined ? [] : promptOf(turn);
  await actions.send(contentText(blocks), blocks.filter(({ type }) => type !== "text"), "queue");
}

interface WayProps {
  method: AcpObject;
  agent: string;
  name: string;
  isOwner: boolean;
  busy: string | undefined;
  onSignIn: (methodId: string) => void;
}

function Way({ method, agent, name, isOwner, busy, onSignIn }: WayProps) {
  const id = text(method.id) ?? "";
  const title = visibleLine(text(method.name) ?? id);
  const about = text(method.description);
  const type = text(method.type) ?? "agent";
  return (
    <li class="sign-in-way">
      {type === "agent" && isOwner ? (
        <button
          type="button"
          class="button primary"
          aria-busy={busy === id}
          disabled={busy !== undefined}
          aria-label={`Sign in to ${name} with ${title}`}
          onClick={() => onSignIn(id)}
        >
          {title}
        </button>
      ) : (
        <strong>{title}</strong>
      )}
      {about !== undefined && <span class="hint">{visibleLine(about)}</span>}
      {type === "env_var" ? (
        <span>
          Set {variablesOf(method).map((variable, at) => <code key={at}>{at > 0 && ", "}{variable}</code>)} in the agent’s environment, in acpd.toml.
        </span>
      ) : (
        (type !== "agent" || !isOwner) && (
          <span>
            Run <Command text={`acpd agents login ${agent}`} /> on the daemon’s host.
          </span>
        )
      )}
    </li>
  );
}

/** Returns the environment variables that a method reads. */
function variablesOf(method: AcpObject): string[] {
  const names = [text(method.varName), ...objects(method.vars).map(({ name }) => text(name))];
  return names.flatMap((name) => (name === undefined ? [] : [visibleLine(name)]));
}

/** Returns how the agent introduces itself, which includes its ways to sign in. */
function useHello(agentType: string): { hello?: AgentHello; error?: string } {
  const [found, setFound] = useState<{ of?: string; hello?: AgentHello; error?: string }>({});
  const known = found.of === agentType ? found : {};
  useEffect(() => {
    // Each request starts the agent.
    if (!online.value || known.hello) {
      return undefined;
    }
    let over = false;
    client.peek()?.call("agent/doctor", { agentType }).then(
      ({ hello, error }) => over || setFound({ of: agentType, ...(hello != null ? { hello } : { error: error ?? "it did not respond" }) }),
      (why: unknown) => over || setFound({ of: agentType, error: sentence(why) }),
    );
    return () => void (over = true);
  }, [agentType, online.value]);
  return known;
}
