/** The policies in force, of the daemon or a thread, their evaluation for a call, and the past decisions. */

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

import { setGlobalPreset } from "../../app/configuration.ts";
import { go, pathOf } from "../../app/route.ts";
import { attempt } from "../../app/threads.ts";
import { client, online, sentence, standing } from "../../connection/connection.ts";
import { type Layer, layersOf, PRESET_NAMES, PRESETS } from "../../state/policy.ts";
import { nameOf } from "../../state/threads.ts";
import { Command } from "../agents/Command.tsx";
import { Icon } from "../parts/Icon.tsx";
import { Head } from "../parts/Head.tsx";
import { AllRemembered } from "./AllRemembered.tsx";
import { Audit } from "./Audit.tsx";
import { Explain } from "./Explain.tsx";
import { Layers } from "./Layers.tsx";
import { OfAgents } from "./OfAgents.tsx";
import { Remembered } from "./Remembered.tsx";

import "./policy.css";

export default function Policy({ threadId }: { threadId?: string }) {
  return threadId === undefined ? <OfDaemon /> : <OfThread threadId={threadId} />;
}

function OfDaemon() {
  const [layers, setLayers] = useState<readonly Layer[]>();
  const [written, setWritten] = useState<unknown>();
  const [error, setError] = useState<string>();
  const [round, setRound] = useState(0);
  const { value: who } = standing;
  const isOwner = who.name === "in" && who.session.role === "owner";
  useEffect(() => {
    if (!online.value) {
      return;
    }
    client.peek()?.call("policy/read", {}).then(
      ({ daemon }) => {
        setLayers(layersOf([["daemon", daemon]]));
        setWritten(daemon);
        setError(undefined);
      },
      (why: unknown) => setError(sentence(why)),
    );
  }, [online.value, round]);
  return (
    <>
      <Head title="Policy" />
      <div class="page" tabIndex={0} role="region" aria-label="Policy">
        <div class="page-column">
          <section aria-labelledby="force">
            <h2 id="force">Global policy</h2>
            {error !== undefined && (
              <p class="error-text" role="alert">
                {error}
              </p>
            )}
            {layers && <Layers layers={layers} />}
            {layers && isOwner && <Default written={written} onSet={() => setRound(round + 1)} />}
          </section>
          {layers && <OfAgents />}
          {layers && <AllRemembered role={who.name === "in" ? who.session.role : "observer"} />}
          <p class="hint">
            A thread can have a policy of its own: choose “Policy and decisions” in its menu. See{" "}
            <DocsLink to="policy.html">Permission policies</DocsLink> and the <DocsLink to="policy-cookbook.html">cookbook</DocsLink>.
          </p>
        </div>
      </div>
    </>
  );
}

function OfThread({ threadId }: { threadId: string }) {
  const [name, setName] = useState<string>();
  const [policy, setPolicy] = useState<unknown>();
  const [agent, setAgent] = useState<string>();
  const [layers, setLayers] = useState<readonly Layer[]>();
  const [error, setError] = useState<string>();
  const [round, setRound] = useState(0);
  const { value: who } = standing;
  const role = who.name === "in" ? who.session.role : "observer";
  const owner = role === "owner";
  useEffect(() => {
    if (!online.value) {
      return;
    }
    const now = client.peek();
    let over = false;
    const read = async () => {
      if (!now) {
        return;
      }
      const { thread } = await now.call("thread/read", { threadId });
      if (over) {
        return;
      }
      setName(nameOf(thread));
      setAgent(thread.agentType);
      setPolicy(thread.policy ?? null);
      const configured = await now.call("policy/read", { agentType: thread.agentType });
      if (!over) {
        setLayers(
          layersOf([
            ["thread", thread.policy],
            ["agent", configured.agent],
            ["daemon", configured.daemon],
          ]),
        );
        setError(undefined);
      }
    };
    read().catch((why: unknown) => !over && setError(sentence(why)));
    return () => void (over = true);
  }, [threadId, online.value, round]);
  const set = async (preset: string) => {
    const wanted = preset === "" ? null : preset;
    await attempt("Couldn’t change the policy", (now) => now.call("thread/policy/set", { threadId, policy: wanted }));
    setRound(round + 1);
  };
  const preset = presetOf(policy);
  return (
    <>
      <Head title="Policy and decisions" sub={name}>
        <a
          class="button"
          href={pathOf({ view: "thread", threadId })}
          onClick={(event) => {
            event.preventDefault();
            go({ view: "thread", threadId });
          }}
        >
          <Icon name="back" size={14} />
          Thread
        </a>
      </Head>
      <div class="page" tabIndex={0} role="region" aria-label="Policy and decisions">
        <div class="page-column">
          {error !== undefined && (
            <p class="error-text" role="alert">
              {error}
            </p>
          )}
          <section aria-labelledby="force">
            <div class="audit-head">
              <h2 id="force">The effective policy</h2>
              <button
                type="button"
                class="button quiet"
                aria-label="Refresh the policy"
                onClick={() => setRound(round + 1)}
              >
                Refresh
              </button>
            </div>
            {layers && <Layers layers={layers} agent={agent} />}
            {owner && (
              <div class="policy-set">
                <label class="label" for="preset">
                  This thread’s preset
                </label>
                <select
                  id="preset"
                  class="field"
                  value={preset ?? (policy == null ? "" : "own")}
                  disabled={policy === undefined}
                  onChange={(event) => void set(event.currentTarget.value)}
                >
                  <option value="">None of its own</option>
                  {policy != null && preset === undefined && <option value="own">Own rules</option>}
                  {PRESET_NAMES.map((one) => (
                    <option key={one} value={one}>
                      {one}
                    </option>
                  ))}
                </select>
              </div>
            )}
          </section>
          <Explain threadId={threadId} />
          <Remembered threadId={threadId} role={role} />
          <Audit threadId={threadId} />
        </div>
      </div>
    </>
  );
}

/** Sets the preset of all agents. A policy with rules is changed in the file: a preset would drop the rules. */
export function Default({ written, onSet }: { written: unknown; onSet: () => void }) {
  const now = presetOf(written);
  const hasRules = written != null && now === undefined;
  const [preset, setPreset] = useState(now ?? "standard");
  const [isSent, setSent] = useState(false);
  const field = useRef<HTMLSelectElement>(null);
  // Any client can set it.
  useEffect(() => setPreset(now ?? "standard"), [now]);
  // The pressed button keeps the focus, so it is not disabled.
  const isOff = isSent || !online.value;
  const set = async (wanted: string | null) => {
    setSent(true);
    if (await setGlobalPreset(wanted)) {
      if (wanted === null && field.current?.closest("details")?.contains(document.activeElement)) {
        // Its button goes.
        field.current.focus();
      }
      onSet();
    }
    setSent(false);
  };
  return (
    <details class="policy-default">
      <summary>Change the global policy</summary>
      <label class="label" for="default-preset">
        Preset
      </label>
      <select ref={field} id="default-preset" class="field" value={preset} onChange={(event) => setPreset(event.currentTarget.value)}>
        {PRESET_NAMES.map((one) => (
          <option key={one} value={one}>
            {one}
          </option>
        ))}
      </select>
      <p class="hint">
        {preset}: {PRESETS[preset]?.about}.{PRESETS[preset]?.rest === "allow" && " Agents then do everything without asking."}
      </p>
      {hasRules ? (
        <>
          <p>
            The policy has rules of its own, which a preset would replace. Write this line above the first <code>[</code> of the
            configuration, in place of the policy that is there:
          </p>
          <Command text={`policy = "${preset}"`} />
          <p class="hint">
            <code>acpd config path</code> prints where the configuration is. The daemon applies the change at once. See{" "}
            <DocsLink to="policy.html#presets">Presets</DocsLink>.
          </p>
        </>
      ) : (
        <>
          <div class="policy-default-acts">
            <button
              type="button"
              class="button"
              aria-disabled={isOff || preset === now || undefined}
              onClick={() => !isOff && preset !== now && void set(preset)}
            >
              Use for all agents
            </button>
            {now !== undefined && (
              <button type="button" class="button quiet" aria-disabled={isOff || undefined} onClick={() => !isOff && void set(null)}>
                Remove the policy
              </button>
            )}
          </div>
          <p class="hint">
            This changes the daemon’s configuration, and applies to all threads at once. See{" "}
            <DocsLink to="policy.html#presets">Presets</DocsLink>.
          </p>
        </>
      )}
    </details>
  );
}

function DocsLink({ to, children }: { to: string; children: ComponentChildren }) {
  return (
    <a href={`/docs/${to}`} target="_blank" rel="noopener">
      {children}
    </a>
  );
}

/** Returns the preset's name of a policy that contains nothing else. */
export function presetOf(policy: unknown): string | undefined {
  if (typeof policy === "string") {
    return PRESET_NAMES.includes(policy) ? policy : undefined;
  }
  if (typeof policy !== "object" || policy === null) {
    return undefined;
  }
  const { base, ...rest } = policy as Record<string, unknown>;
  const empty = Object.values(rest).every((value) => value == null || (Array.isArray(value) && value.length === 0));
  return typeof base === "string" && empty && PRESET_NAMES.includes(base) ? base : undefined;
}
