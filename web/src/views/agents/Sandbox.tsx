/**
 * The sandbox of an agent: its mode, or why there is none, and the granted access. The names are those of the
 * configuration.
 */

import type { AgentSandbox } from "@acpd/client";

import { visibleLine } from "../../text/bidi-guard.ts";

const MODES: Record<string, string> = {
  workspace: "the agent can write the workspace",
  readonly: "the agent can only read the workspace",
  off: "the agent can use every file that the daemon’s user can",
};

const NETWORKS: Record<string, string> = { on: "all connections", off: "no connections" };

export function Sandbox({ mode, reason, read, write, network, gaps, closed, missing }: AgentSandbox) {
  return (
    <dl>
      <div>
        <dt>Sandbox</dt>
        <dd>
          <code>{mode}</code>
          {MODES[mode] !== undefined && `: ${MODES[mode]}`}
          {reason != null && mode === "off" && <p class="agent-reason">{visibleLine(reason)}</p>}
          {/* The daemon checks the sandbox in the home directory, which usually contains its own files. */}
          {reason != null && mode !== "off" && <p class="hint">In the home directory: {visibleLine(reason)}</p>}
        </dd>
      </div>
      {mode !== "off" && (
        <>
          <Paths title="Writes" setting="sandbox.write" paths={write} />
          <Paths title="Reads" setting="sandbox.read" paths={read} />
          <div>
            <dt>TCP</dt>
            <dd>
              {NETWORKS[network] ?? `ports ${visibleLine(network)}`} <span class="hint">sandbox.network</span>
            </dd>
          </div>
        </>
      )}
      {gaps.length > 0 && (
        <div>
          <dt>Not enforced</dt>
          <dd class="agent-reason">This kernel does not enforce: {gaps.map(visibleLine).join(", ")}</dd>
        </div>
      )}
      {closed.length > 0 && (
        <div>
          <dt>No new files</dt>
          <dd class="agent-reason">
            acpd’s own files are in these directories, so agents cannot make new files directly in them:{" "}
            {closed.map(visibleLine).join(", ")}. Move the data directory and the configuration elsewhere.
          </dd>
        </div>
      )}
      {missing.length > 0 && (
        <div>
          <dt>Missing</dt>
          <dd class="agent-reason">These paths of the configuration do not exist: {missing.map(visibleLine).join(", ")}</dd>
        </div>
      )}
    </dl>
  );
}

/** Paths that are granted besides the workspace: often dozens. */
function Paths({ title, setting, paths }: { title: string; setting: string; paths: readonly string[] }) {
  return (
    <div>
      <dt>{title}</dt>
      <dd>
        {paths.length === 0 ? (
          <>
            nothing else <span class="hint">{setting}</span>
          </>
        ) : (
          <details>
            <summary>
              {paths.length === 1 ? "1 other path" : `${paths.length} other paths`} <span class="hint">{setting}</span>
            </summary>
            <pre>{paths.map(visibleLine).join("\n")}</pre>
          </details>
        )}
      </dd>
    </div>
  );
}
