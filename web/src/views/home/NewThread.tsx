/** The form for a new thread: prompt, agent, directory and settings. */

import type { AcpObject, Agent, StartThread } from "@acpd/client";
import { useEffect, useRef, useState } from "preact/hooks";

import {
  agents,
  agentsError,
  downloadedAgents,
  justInstalled,
  lastAgent,
  rememberFolder,
  setUpAgents,
} from "../../app/agents.ts";
import { awayThreads } from "../../app/away.ts";
import { DEMO, DEMO_FOLDER } from "../../app/demo.ts";
import { draftOf, keepDraft, NEW_THREAD } from "../../app/drafts.ts";
import { showStarted } from "../../app/focus.ts";
import { low, narrow, touch } from "../../app/layout.ts";
import { go, pathOf } from "../../app/route.ts";
import { movePrompt, type StartFailed, startThread } from "../../app/start-thread.ts";
import { threads, waiting } from "../../app/threads.ts";
import { client, online, standing, startsThreads } from "../../connection/connection.ts";
import { newId } from "../../connection/new-id.ts";
import { visibleLine } from "../../text/bidi-guard.ts";
import { AgentGlyph } from "../parts/AgentGlyph.tsx";
import { Head } from "../parts/Head.tsx";
import { lazy } from "../parts/lazy.tsx";
import { ComposerBox } from "../thread/composer/ComposerBox.tsx";
import { hasLater } from "../thread/composer/use-attachments.ts";
import { sendKey } from "../thread/content/settings.ts";
import { FolderField, FolderNotes } from "./FolderField.tsx";
import MoreOptions, { type Options } from "./MoreOptions.tsx";
import ThreadsHome from "./ThreadsHome.tsx";
import { useFolder } from "./use-folder.ts";
import { useSettings } from "./use-settings.ts";
import WaitingThreads from "./WaitingThreads.tsx";

import "./home.css";

const Setup = lazy<{ error: string | undefined }>(() => import("./Setup.tsx"));
const Continue = lazy(() => import("./Continue.tsx"));
const AwayCard = lazy(() => import("./AwayCard.tsx"));
const Installed = lazy<{ agent: Agent }>(() => import("../agents/Installed.tsx"));
const DemoButton = lazy(async () => ({ default: (await import("./DemoButton.tsx")).DemoButton }));

const NO_OPTIONS: Options = { name: "", mode: "", config: {}, policy: "", systemPrompt: "" };

export default function NewThread({ agent: wished }: { agent?: string }) {
  const { value: who } = standing;
  if (!startsThreads.value) {
    return <ThreadsHome />;
  }
  // First, so that nothing moves it; but in a low window, the prompt has to be in sight.
  const waits = narrow.value && waiting.value.length > 0 && <WaitingThreads />;
  return (
    <>
      <Head title="New thread" />
      <div class="page" tabIndex={0} role="region" aria-label="New thread">
        <div class="home">
          {!low.value && waits}
          {awayThreads.value.length > 0 && <AwayCard />}
          <h2 class="home-title">{hasAgents(wished) ? "What should the agent do?" : "Set up an agent"}</h2>
          <Form wished={wished} owner={who.name === "in" && who.session.role === "owner"} />
          {low.value && waits}
          {(threads.value?.length ?? 0) > 0 && <Continue />}
        </div>
      </div>
    </>
  );
}

/** Returns whether an agent is set up, or the daemon has not responded yet. The demo counts if it is wished for, or the default. */
function hasAgents(wished: string | undefined): boolean {
  return agents.value === undefined || setUpAgents().some(({ id, isDefault }) => id !== DEMO || isDefault || wished === DEMO);
}

/** An error of the form. */
interface Problem {
  readonly words: string;
  /** The thread that exists nevertheless. */
  readonly threadId: string | undefined;
}

function Form({ wished, owner }: { wished?: string; owner: boolean }) {
  const ready = setUpAgents();
  const others = downloadedAgents();
  const known = (id: string | undefined) => ready.find((one) => one.id === id)?.id;
  const [picked, setPicked] = useState<string | undefined>(wished);
  // To start it would download it. So it is selected only if the user picks it, and the form then leads to its installation.
  const missing = others.find(({ id }) => id === picked);
  const usual = known(justInstalled.value) ?? ready.find(({ isDefault }) => isDefault)?.id ?? known(lastAgent.value) ?? ready[0]?.id;
  const agent = missing?.id ?? known(picked) ?? usual;
  const folder = useFolder(agent === DEMO ? DEMO_FOLDER : undefined);
  const prompt = draftOf(NEW_THREAD);
  const [options, setOptions] = useState(NO_OPTIONS);
  const [problem, setProblem] = useState<Problem>();
  const [browsing, setBrowsing] = useState(false);
  const sender = useRef<() => void>(undefined);
  const [unfolded, setUnfolded] = useState(false);
  const settings = useSettings(agent, unfolded ? folder.typed : undefined) ?? {};
  useEffect(() => document.getElementById("prompt")?.focus(), []);
  // Another agent has other modes and options.
  useEffect(() => setOptions(({ name, policy, systemPrompt }) => ({ ...NO_OPTIONS, name, policy, systemPrompt })), [agent]);

  const start = async (text: string, input: readonly AcpObject[]) => {
    const now = client.peek();
    if (!agent || missing || !now) {
      throw new Error(missing ? notSetUp(missing) : agent ? "There is no connection." : "There is no agent.");
    }
    setProblem(undefined);
    const cwd = await folder.resolve();
    // Before there is a thread: what cannot be loaded leaves the form as it is.
    const files = hasLater(NEW_THREAD) ? await import("./send-with-files.ts") : undefined;
    const leave = (threadId: string) => {
      rememberFolder(cwd);
      lastAgent.value = agent;
      justInstalled.value = undefined;
      showStarted(threadId);
    };
    try {
      const threadId = await startThread(now, { agentType: agent, cwd, ...(files === undefined && promptOf(text, input)), ...chosen(options) });
      files?.sendWithFiles(now, threadId, text);
      leave(threadId);
    } catch (why) {
      const { threadId, wantsSignIn, message } = why as StartFailed;
      if (threadId !== undefined && wantsSignIn && input.length === 0 && files === undefined) {
        // The thread has the card that signs in.
        await movePrompt(now, threadId, text);
        leave(threadId);
        return;
      }
      setProblem({ words: threadId === undefined ? message : `The thread was created, but the agent couldn’t start: ${message}`, threadId });
      throw why;
    }
  };

  if (!hasAgents(wished)) {
    return <Setup error={agentsError.value} />;
  }
  const place = {
    value: folder.typed,
    places: folder.places,
    problem: folder.problem,
    onChange: (path: string) => {
      folder.change(path);
      setProblem(undefined);
    },
  };
  const isFirst = threads.value?.length === 0;
  const fresh = ready.find(({ id }) => id === justInstalled.value);
  return (
    <form
      class="home-form"
      noValidate
      onSubmit={(event) => event.preventDefault()}
      onKeyDown={(event) => {
        if (event.key === "Enter" && !event.isComposing && event.target instanceof HTMLInputElement) {
          event.preventDefault();
          sender.current?.();
        }
      }}
    >
      {wished !== undefined && agents.value !== undefined && known(wished) === undefined && missing === undefined && (
        <p class="home-note" role="status">
          The agent “{visibleLine(wished)}” is not available. Another one is selected.
        </p>
      )}
      <ComposerBox
        id="prompt"
        name={NEW_THREAD}
        label="First prompt"
        draft={prompt}
        onDraft={(text) => keepDraft(NEW_THREAD, text)}
        onSend={start}
        onStop={() => {}}
        running={false}
        // On touch keyboards, Enter starts a new line.
        sendKey={touch.value ? "modEnter" : sendKey.value}
        commands={[]}
        capabilities={settings.prompt}
        starts
        placeholder="Describe a task, or leave this empty to start with a blank thread"
        sendLabel={prompt.trim() === "" ? "Open" : "Start"}
        slowly="Starting the agent…"
        emptyAllowed
        sender={sender}
        quiet={problem !== undefined || folder.problem !== undefined}
        barred={!online.value ? "Offline. Your draft is saved." : missing && notSetUp(missing)}
      >
        <label class="home-pick">
          <span class="sr-only">Agent</span>
          {agent !== undefined && <AgentGlyph agentType={agent} />}
          <select id="agent" value={agent} onChange={(event) => setPicked(event.currentTarget.value)}>
            {ready.map(({ id, title }) => (
              <option key={id} value={id}>
                {title}
              </option>
            ))}
            {others.length > 0 && (
              <optgroup label="Not set up yet">
                {others.map(({ id, title }) => (
                  <option key={id} value={id}>
                    {title}
                  </option>
                ))}
              </optgroup>
            )}
          </select>
        </label>
        <FolderField {...place} onEnter={folder.enter} onLeave={folder.leave} onBrowse={() => setBrowsing(true)} />
      </ComposerBox>
      {missing !== undefined && (
        <p class="home-note" role="status">
          {notSetUp(missing)} <AgentsLink />
        </p>
      )}
      {agentsError.value !== undefined && <p class="error-text">{agentsError.value}</p>}
      {problem !== undefined && (
        <p class="error-text" role="alert">
          {problem.words}{" "}
          {problem.threadId !== undefined && <ThreadLink threadId={problem.threadId} />}
        </p>
      )}
      <FolderNotes {...place} browsing={browsing} onBrowse={setBrowsing} />
      {fresh !== undefined && <Installed agent={fresh} />}
      <MoreOptions value={options} onChange={setOptions} onUnfold={() => setUnfolded(true)} settings={settings} owner={owner} />
      {isFirst && known(DEMO) !== undefined && (
        <p class="home-note">
          New to acpd? The demo agent needs no account. <DemoButton />
        </p>
      )}
    </form>
  );
}

/** Returns the first prompt as members of `thread/start`; none without one. */
function promptOf(text: string, input: readonly AcpObject[]): Partial<StartThread> {
  const words = text.trim();
  if (words === "" && input.length === 0) {
    return {};
  }
  return { text: words || undefined, input: input.length > 0 ? [...input] : undefined, clientTurnId: newId() };
}

/** Returns the chosen options as members of `thread/start`. */
function chosen({ name, mode, config, policy, systemPrompt }: Options): Partial<StartThread> {
  return {
    name: name.trim() || undefined,
    mode: mode || undefined,
    config: Object.keys(config).length > 0 ? config : undefined,
    policy: policy || undefined,
    systemPrompt: systemPrompt.trim() === "" ? undefined : { content: systemPrompt },
  };
}

function notSetUp({ title }: Agent): string {
  return `${title} is not set up yet.`;
}

function AgentsLink() {
  const to = { view: "agents" } as const;
  return (
    <a
      href={pathOf(to)}
      onClick={(event) => {
        event.preventDefault();
        go(to);
      }}
    >
      Install it on the Agents page
    </a>
  );
}

function ThreadLink({ threadId }: { threadId: string }) {
  const to = { view: "thread", threadId } as const;
  return (
    <a
      href={pathOf(to)}
      onClick={(event) => {
        event.preventDefault();
        go(to);
      }}
    >
      Open the thread
    </a>
  );
}
