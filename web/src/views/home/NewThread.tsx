/** The form for a new thread: prompt, agent, directory and settings. */

import type { AcpObject, StartThread } from "@acpd/client";
import { useEffect, useRef, useState } from "preact/hooks";

import { agents, agentsError, folders, lastAgent, newestSettings, type Settings, settingsOf } from "../../app/agents.ts";
import { awayThreads } from "../../app/away.ts";
import { createFolder, listFolders } from "../../app/folders.ts";
import { announce } from "../../app/live-region.ts";
import { draftOf, keepDraft, NEW_THREAD } from "../../app/drafts.ts";
import { narrow, touch } from "../../app/layout.ts";
import { go, pathOf } from "../../app/route.ts";
import { threads, waiting } from "../../app/threads.ts";
import { client, online, sentence, standing } from "../../connection/connection.ts";
import { newId } from "../../connection/new-id.ts";
import { lazy } from "../parts/lazy.tsx";
import { Head } from "../parts/Head.tsx";
import { visibleLine } from "../../text/bidi-guard.ts";
import { Icon } from "../parts/Icon.tsx";
import { ComposerBox, sendKey } from "../thread/index.ts";
import { FolderField, type FolderProblem } from "./FolderField.tsx";
import MoreOptions, { type Options } from "./MoreOptions.tsx";
import WaitingThreads from "./WaitingThreads.tsx";

import "./home.css";

const Setup = lazy<{ error: string | undefined }>(() => import("./Setup.tsx"));
const AwayCard = lazy(() => import("./AwayCard.tsx"));

const NO_OPTIONS: Options = { name: "", mode: "", config: {}, policy: "" };

/** Time to wait for the event of a thread whose start has failed, in milliseconds. */
const EVENT_MS = 2_000;

/** The agent of `acpd serve --demo`. */
const DEMO = "demo";
const DEMO_PROMPT = "Show me what you can do";

export default function NewThread({ agent: wished }: { agent?: string }) {
  const { value: who } = standing;
  const role = who.name === "in" ? who.session.role : "observer";
  const may = role === "operator" || role === "owner";
  return (
    <>
      <Head title="New thread" />
      <div class="page" tabIndex={0} role="region" aria-label="New thread">
        <div class="home">
          {/* First, so that nothing moves it. */}
          {narrow.value && waiting.value.length > 0 && <WaitingThreads />}
          {awayThreads.value.length > 0 && <AwayCard />}
          <h2 class="home-title">{!may ? "Select a thread." : hasAgents() ? "What should the agent do?" : "Set up an agent"}</h2>
          {may && <Form wished={wished} owner={role === "owner"} />}
        </div>
      </div>
    </>
  );
}

/** Returns whether an agent can be started, or the daemon has not responded yet. */
function hasAgents(): boolean {
  return agents.value === undefined || agents.value.some(({ installed }) => installed);
}

/**
 * Returns the possible settings of an agent's threads: those that this browser remembers, or those of the newest
 * thread.
 */
function useSettings(agent: string | undefined): Settings | undefined {
  const remembered = agent === undefined ? undefined : settingsOf.value[agent];
  const [found, setFound] = useState<{ agent: string; settings?: Settings }>();
  useEffect(() => {
    const now = client.peek();
    if (agent === undefined || remembered !== undefined || !now || !online.value) {
      return;
    }
    let over = false;
    newestSettings(now, agent).then(
      (settings) => !over && setFound({ agent, settings }),
      // Then the thread starts with the agent's defaults.
      () => {},
    );
    return () => void (over = true);
  }, [agent, remembered === undefined, online.value]);
  return remembered ?? (found?.agent === agent ? found?.settings : undefined);
}

/** An error of the form: at its folder, or about the whole. */
interface Problem {
  readonly folder?: Pick<FolderProblem, "create">;
  readonly words: string;
  /** The thread that exists nevertheless. */
  readonly threadId?: string;
}

function Form({ wished, owner }: { wished?: string; owner: boolean }) {
  const installed = (agents.value ?? []).filter((one) => one.installed);
  const known = (id: string | undefined) => installed.find((one) => one.id === id)?.id;
  const [picked, setPicked] = useState<string | undefined>(wished);
  const agent = known(picked) ?? known(lastAgent.value) ?? installed[0]?.id;
  const places = [...new Set([...folders.value, ...(threads.value ?? []).map(({ cwd }) => cwd)])].slice(0, 20);
  const [folder, setFolder] = useState<string | undefined>(undefined);
  const typed = folder ?? places[0] ?? "";
  const prompt = draftOf(NEW_THREAD);
  const [options, setOptions] = useState(NO_OPTIONS);
  const [problem, setProblem] = useState<Problem>();
  const sender = useRef<() => void>(undefined);
  const settings = useSettings(agent) ?? {};
  useEffect(() => document.getElementById("prompt")?.focus(), []);
  // Another agent has other modes and options.
  useEffect(() => setOptions(({ name, policy }) => ({ ...NO_OPTIONS, name, policy })), [agent]);

  /** Shows what is wrong with the folder, and rejects. */
  const refuseFolder = (words: string, create?: () => void): never => {
    setProblem({ folder: { create }, words });
    document.getElementById("folder")?.focus();
    throw new Error(words);
  };
  /** Returns the absolute path of the folder. */
  const resolveFolder = async (path: string): Promise<string> => {
    if (!/^(\/|~(\/|$))/.test(path)) {
      return refuseFolder("Enter an absolute path, like /home/ann/project or ~/project.");
    }
    try {
      return (await listFolders(path)).path;
    } catch (why) {
      if ((why as { code?: string }).code !== "not_found") {
        return refuseFolder(sentence(why));
      }
      const host = await listFolders("~").then((home) => home.host, () => "the daemon’s host");
      return refuseFolder(`No such folder on ${visibleLine(host)}.`, () => void makeFolder(path));
    }
  };
  const makeFolder = async (path: string) => {
    try {
      setFolder(await createFolder(path));
      setProblem(undefined);
      announce("Created the folder");
      document.getElementById("prompt")?.focus();
    } catch (why) {
      setProblem({ folder: {}, words: `Could not create it: ${sentence(why)}` });
    }
  };

  const start = async (text: string, input: readonly AcpObject[]) => {
    if (!agent) {
      return;
    }
    setProblem(undefined);
    const cwd = await resolveFolder(typed);
    const hasPrompt = text.trim() !== "" || input.length > 0;
    const wanted: StartThread = {
      agentType: agent,
      cwd,
      text: text.trim() || undefined,
      input: input.length > 0 ? [...input] : undefined,
      clientTurnId: hasPrompt ? newId() : undefined,
      name: options.name.trim() || undefined,
      mode: options.mode || undefined,
      config: Object.keys(options.config).length > 0 ? options.config : undefined,
      policy: options.policy || undefined,
    };
    // The thread exists before its agent runs: show it even if the agent fails.
    let made: string | undefined;
    let heard = () => {};
    const started = new Promise<void>((resolve) => (heard = resolve));
    const off = client.peek()?.on("thread/started", ({ threadId, thread }) => {
      if (made === undefined && thread.cwd === cwd && thread.agentType === agent) {
        made = threadId;
        heard();
      }
    });
    try {
      const { thread } = await client.peek()!.call("thread/start", wanted);
      folders.value = [cwd, ...folders.peek().filter((one) => one !== cwd)].slice(0, 12);
      lastAgent.value = agent;
      keepDraft(NEW_THREAD, "");
      go({ view: "thread", threadId: thread.id });
    } catch (why) {
      const { code } = why as { code?: string };
      if (code === "sign_in_required" || code === "agent_failed") {
        // The event may come after the response.
        await Promise.race([started, new Promise((over) => setTimeout(over, EVENT_MS))]);
      }
      if (made !== undefined && input.length === 0 && code === "sign_in_required") {
        // The thread has the card that signs in. Its composer has the prompt if no turn has.
        lastAgent.value = agent;
        keepDraft(NEW_THREAD, "");
        const read = await client.peek()?.call("thread/read", { threadId: made }).catch(() => undefined);
        keepDraft(made, read?.thread.turnCount === 0 ? text : "");
        go({ view: "thread", threadId: made });
        return;
      }
      const words = sentence(why);
      setProblem({ words: made === undefined ? words : `The thread was created, but the agent could not start: ${words}`, threadId: made });
      throw why;
    } finally {
      off?.();
    }
  };

  if (!hasAgents()) {
    return <Setup error={agentsError.value} />;
  }
  const isFirst = threads.value?.length === 0;
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
      {wished !== undefined && agents.value !== undefined && known(wished) === undefined && (
        <p class="home-note" role="status">
          The agent “{wished}” is not available. Another one is selected.
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
        placeholder="Describe a task, or leave this empty to start with a blank thread"
        sendLabel={prompt.trim() === "" ? "Open" : "Start"}
        slowly="Starting the agent…"
        emptyAllowed
        sender={sender}
        quiet={problem !== undefined}
        barred={online.value ? undefined : "Not connected. Your draft is saved."}
      >
        <label class="home-pick">
          <span class="sr-only">Agent</span>
          <Icon name="agents" size={14} />
          <select id="agent" value={agent} onChange={(event) => setPicked(event.currentTarget.value)}>
            {installed.map(({ id, title }) => (
              <option key={id} value={id}>
                {title}
              </option>
            ))}
          </select>
        </label>
      </ComposerBox>
      {agentsError.value !== undefined && <p class="error-text">{agentsError.value}</p>}
      {problem !== undefined && !problem.folder && (
        <p class="error-text" role="alert">
          {problem.words}{" "}
          {problem.threadId !== undefined && <ThreadLink threadId={problem.threadId} />}
        </p>
      )}
      <FolderField
        value={typed}
        places={places}
        problem={problem?.folder && { words: problem.words, ...problem.folder }}
        onChange={(value) => {
          setFolder(value);
          setProblem(undefined);
        }}
      />
      <MoreOptions value={options} onChange={setOptions} settings={settings} owner={owner} />
      {isFirst && known(DEMO) !== undefined && (
        <p class="home-note">
          New to acpd? The demo agent needs no account.{" "}
          <button
            type="button"
            class="button"
            onClick={() => {
              setPicked(DEMO);
              keepDraft(NEW_THREAD, DEMO_PROMPT);
              document.getElementById(typed === "" ? "folder" : "prompt")?.focus();
            }}
          >
            Try the demo
          </button>
        </p>
      )}
    </form>
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
