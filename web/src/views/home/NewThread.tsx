/** The form for a new thread: prompt, agent, directory and settings. */

import type { ConfigValue, StartThread } from "@acpd/client";
import { useEffect, useRef, useState } from "preact/hooks";

import { agents, agentsError, folders, lastAgent, newestSettings, type Settings, settingsOf } from "../../app/agents.ts";
import { go } from "../../app/route.ts";
import { threads } from "../../app/threads.ts";
import { client, online, sentence, standing } from "../../connection/connection.ts";
import { newId } from "../../connection/new-id.ts";
import { PRESET_NAMES } from "../../state/policy.ts";
import { Icon } from "../parts/Icon.tsx";
import { Head } from "../parts/Head.tsx";
import { configOption, modesOf } from "../../state/acp.ts";

import "./home.css";

/** The empty value stands for the agent's default. */
const BY_ITSELF = "";

export function NewThread({ agent: wished }: { agent?: string }) {
  const { value: who } = standing;
  const role = who.name === "in" ? who.session.role : "observer";
  const may = role === "operator" || role === "owner";
  return (
    <>
      <Head title="New thread" />
      <div class="page" tabIndex={0} role="region" aria-label="New thread">
        <div class="home">
          <h2 class="home-title">{may ? "What should the agent do?" : "Select a thread."}</h2>
          {may && <Form wished={wished} owner={role === "owner"} />}
        </div>
      </div>
    </>
  );
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

function Form({ wished, owner }: { wished?: string; owner: boolean }) {
  const installed = (agents.value ?? []).filter((one) => one.installed);
  const known = (id: string | undefined) => installed.find((one) => one.id === id)?.id;
  const [picked, setPicked] = useState<string | undefined>(wished);
  const agent = known(picked) ?? known(lastAgent.value) ?? installed[0]?.id;
  const places = [...new Set([...folders.value, ...(threads.value ?? []).map(({ cwd }) => cwd)])].slice(0, 20);
  const [folder, setFolder] = useState<string | undefined>(undefined);
  const cwd = folder ?? places[0] ?? "";
  const [prompt, setPrompt] = useState("");
  const [name, setName] = useState("");
  const [mode, setMode] = useState(BY_ITSELF);
  const [config, setConfig] = useState<Record<string, ConfigValue>>({});
  const [policy, setPolicy] = useState(BY_ITSELF);
  const [error, setError] = useState<string>();
  const [starting, setStarting] = useState(false);
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => field.current?.focus(), []);
  // Another agent has other modes and options.
  useEffect(() => {
    setMode(BY_ITSELF);
    setConfig({});
  }, [agent]);

  const start = async (event: Event) => {
    event.preventDefault();
    if (!agent || starting) {
      return;
    }
    if (!cwd.startsWith("/")) {
      setError("The folder must be an absolute path, such as /home/ann/project.");
      document.getElementById("folder")?.focus();
      return;
    }
    setError(undefined);
    setStarting(true);
    const wanted: StartThread = {
      agentType: agent,
      cwd,
      text: prompt.trim() || undefined,
      clientTurnId: prompt.trim() ? newId() : undefined,
      name: name.trim() || undefined,
      mode: mode || undefined,
      config: Object.keys(config).length > 0 ? config : undefined,
      policy: policy || undefined,
    };
    // The thread exists before its agent runs: show it while the agent starts.
    let made: string | undefined;
    const off = client.peek()?.on("thread/started", ({ threadId, thread }) => {
      if (made === undefined && thread.cwd === cwd && thread.agentType === agent) {
        made = threadId;
      }
    });
    try {
      const { thread } = await client.peek()!.call("thread/start", wanted);
      folders.value = [cwd, ...folders.peek().filter((one) => one !== cwd)].slice(0, 12);
      lastAgent.value = agent;
      go({ view: "thread", threadId: thread.id });
    } catch (why) {
      setError(
        made === undefined ? sentence(why) : `The thread was created, but: ${sentence(why)}`,
      );
      setStarting(false);
    } finally {
      off?.();
    }
  };

  const settings = useSettings(agent) ?? {};
  const options = (settings.configOptions ?? []).flatMap((option) => configOption(option) ?? []);
  const modes = modesOf(settings.modes);
  const hasModeOption = options.some((option) => option.category === "mode" && !option.id.startsWith("acpd."));

  return (
    <form class="home-form" onSubmit={(event) => void start(event)}>
      <div class="home-box">
        <label class="sr-only" for="prompt">
          First prompt
        </label>
        <textarea
          ref={field}
          id="prompt"
          rows={3}
          placeholder="Describe a task, or leave this empty to start with a blank thread"
          value={prompt}
          onInput={(event) => setPrompt(event.currentTarget.value)}
          onKeyDown={(event) => {
            // On touch keyboards, Enter starts a new line.
            const byTouch = matchMedia("(pointer: coarse)").matches;
            if (event.key === "Enter" && !event.shiftKey && !event.isComposing && !byTouch) {
              void start(event);
            }
          }}
        />
        <div class="home-row">
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
          <span class="home-space" />
          <button type="submit" class="button primary" disabled={!agent || !online.value || starting}>
            {starting ? "Starting…" : prompt.trim() ? "Start" : "Open"}
          </button>
        </div>
      </div>
      {agents.value !== undefined && installed.length === 0 && (
        <p class="error-text">No agent is installed. See Agents for details.</p>
      )}
      {agentsError.value !== undefined && <p class="error-text">{agentsError.value}</p>}
      {error !== undefined && (
        <p class="error-text" role="alert">
          {error}
        </p>
      )}
      <div class="home-grid">
        <div class="home-wide">
          <label class="label" for="folder">
            Folder
          </label>
          <input
            id="folder"
            class="field mono"
            list="folders"
            placeholder="/home/ann/project"
            autocomplete="off"
            spellcheck={false}
            required
            value={cwd}
            onInput={(event) => setFolder(event.currentTarget.value)}
          />
          <datalist id="folders">
            {places.map((place) => (
              <option key={place} value={place} />
            ))}
          </datalist>
        </div>
        <div>
          <label class="label" for="name">
            Name
          </label>
          <input
            id="name"
            class="field"
            placeholder="Automatic"
            autocomplete="off"
            maxLength={200}
            value={name}
            onInput={(event) => setName(event.currentTarget.value)}
          />
        </div>
        {modes.length > 0 && !hasModeOption && (
          <div>
            <label class="label" for="mode">
              Mode
            </label>
            <select id="mode" class="field" value={mode} onChange={(event) => setMode(event.currentTarget.value)}>
              <option value={BY_ITSELF}>Agent default</option>
              {modes.map(({ value, name: words }) => (
                <option key={value} value={value}>
                  {words}
                </option>
              ))}
            </select>
          </div>
        )}
        {options
          .filter(({ id }) => !id.startsWith("acpd."))
          .map(({ id, name: words, choices }) => (
            <div key={id}>
              <label class="label" for={`option-${id}`}>
                {words}
              </label>
              <select
                id={`option-${id}`}
                class="field"
                value={config[id] === undefined ? BY_ITSELF : String(config[id])}
                onChange={(event) => {
                  const { value } = event.currentTarget;
                  const { [id]: _, ...rest } = config;
                  setConfig(value === BY_ITSELF ? rest : { ...rest, [id]: choices ? value : value === "true" });
                }}
              >
                <option value={BY_ITSELF}>Agent default</option>
                {(choices ?? [{ value: "true", name: "On" }, { value: "false", name: "Off" }]).map((choice) => (
                  <option key={choice.value} value={choice.value}>
                    {choice.name}
                  </option>
                ))}
              </select>
            </div>
          ))}
        {owner && (
          <div>
            <label class="label" for="policy">
              Policy
            </label>
            <select id="policy" class="field" value={policy} onChange={(event) => setPolicy(event.currentTarget.value)}>
              <option value={BY_ITSELF}>Daemon default</option>
              {PRESET_NAMES.map((preset) => (
                <option key={preset} value={preset}>
                  {preset}
                </option>
              ))}
            </select>
          </div>
        )}
      </div>
    </form>
  );
}
