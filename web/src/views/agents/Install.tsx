/** Installs an agent, and shows how far that is. */

import type { Agent, InstallProgress } from "@acpd/client";

import { installAgent, installErrors, isInstalling } from "../../app/agents.ts";
import { announce } from "../../app/live-region.ts";
import { online, standing } from "../../connection/connection.ts";
import { visible, visibleLine } from "../../text/bidi-guard.ts";
import { bytes } from "../../text/format.ts";

import "./setup.css";

interface Props {
  agent: Agent;
  primary?: boolean;
  onInstalled?: () => void;
}

/** The button; absent if the daemon cannot install the agent. */
export function InstallButton({ agent, primary = false, onInstalled }: Props) {
  const { id, title, installed, runs, installsBy } = agent;
  const { value: who } = standing;
  const busy = isInstalling(agent);
  if (installsBy == null && !busy) {
    return null;
  }
  const isOwner = who.name === "in" && who.session.role === "owner";
  const barred = !isOwner ? "Requires the owner role" : !online.value ? "Not connected" : undefined;
  const label = installed && runs === "installed" ? "Update" : "Install";
  const install = async () => {
    if (busy || barred !== undefined) {
      return;
    }
    announce(`Installing ${title}`);
    if (await installAgent(id)) {
      announce(`${title} is installed`);
      onInstalled?.();
    }
  };
  return (
    // The busy button keeps the focus, for keyboard users.
    <button
      type="button"
      class={primary ? "button primary" : "button"}
      aria-label={`${busy ? "Installing…" : label} ${title}`}
      aria-busy={busy}
      aria-disabled={busy || undefined}
      disabled={barred !== undefined}
      title={barred}
      onClick={() => void install()}
    >
      {busy ? "Installing…" : label}
    </button>
  );
}

/** The progress of an installation, or why it failed. */
export function InstallState({ agent }: { agent: Agent }) {
  const error = installErrors.value[agent.id];
  const { installing } = agent;
  if (installing != null) {
    return (
      <div class="install-progress">
        <progress aria-label={`Installing ${agent.title}`} {...partOf(installing)} />
        <span class="hint truncate">{stepOf(installing)}</span>
      </div>
    );
  }
  return error === undefined ? null : (
    <p class="error-text" role="alert">
      Couldn’t install: {visible(error)}
    </p>
  );
}

function partOf({ receivedBytes, totalBytes }: InstallProgress): { value?: number; max?: number } {
  return receivedBytes != null && totalBytes ? { value: receivedBytes, max: totalBytes } : {};
}

function stepOf({ step, receivedBytes, totalBytes, line }: InstallProgress): string {
  switch (step) {
    case "downloading":
      return `Downloading ${receivedBytes == null ? "" : bytes(receivedBytes)}${totalBytes == null ? "" : ` of ${bytes(totalBytes)}`}`;
    case "unpacking":
      return "Unpacking";
    default:
      return line == null ? "Installing" : visibleLine(line);
  }
}
