// The way out of a denial: opens the folder for the thread. The agent has named the path, so the whole folder is shown first.

import { useState } from "preact/hooks";

import { sentence } from "../../../connection/connection.ts";
import { visible, visibleLine } from "../../../text/bidi-guard.ts";
import { CopyButton } from "./CopyButton.tsx";

type Step = "offered" | "asked" | "sent" | "opened";

interface Props {
  folder: string;
  /** The agent whose other threads the owner may open the folder for. */
  agent?: string | undefined;
  onOpen(folder: string): Promise<void>;
}

export function OpenFolder({ folder, agent, onOpen }: Props) {
  const [step, setStep] = useState<Step>("offered");
  const [refusal, setRefusal] = useState<string>();
  const name = visibleLine(folder);
  const open = async () => {
    setStep("sent");
    setRefusal(undefined);
    try {
      await onOpen(folder);
      setStep("opened");
    } catch (error) {
      setRefusal(sentence(error));
      setStep("asked");
    }
  };
  if (step === "opened") {
    return (
      <p class="th-open-folder" role="status">
        This thread may use {name}. If that is new to the agent, it starts anew with your next message.
      </p>
    );
  }
  if (step === "offered") {
    return (
      <p class="th-open-folder">
        <button type="button" class="button" onClick={() => setStep("asked")}>
          Allow a folder for this thread…
        </button>
      </p>
    );
  }
  return (
    <div class="th-open-folder" role="group" aria-label="Allow a folder">
      <p>
        The agent named this folder. It could then read and change everything in <code>{name}</code>, in this thread.
      </p>
      <button type="button" class="button" disabled={step === "sent"} onClick={() => void open()}>
        Allow {name}
      </button>
      <button type="button" class="button quiet" disabled={step === "sent"} onClick={() => setStep("offered")}>
        Cancel
      </button>
      {refusal !== undefined && <p role="alert">{refusal}</p>}
      {agent !== undefined && <ForAgent agent={agent} folder={folder} />}
    </div>
  );
}

/** Says how the folder is opened for all threads of the agent: only the configuration has the sandbox of an agent. */
function ForAgent({ agent, folder }: { agent: string; folder: string }) {
  const lines = sandboxLines(agent, folder);
  return (
    <details class="th-open-for-agent">
      <summary>For all threads of {visibleLine(agent)}</summary>
      <p>
        Add these lines to the configuration, or the folder to the <code>write</code> list that is there. <code>acpd config path</code> prints
        where it is. They hold when the agent starts again, until you remove them.
      </p>
      <pre tabIndex={0}>{visible(lines)}</pre>
      <CopyButton text={lines} what="lines" />
    </details>
  );
}

/** Returns the lines of the configuration that let an agent write a folder. Strings of JSON are strings of TOML. */
export function sandboxLines(agent: string, folder: string): string {
  const name = /^[\w-]+$/.test(agent) ? agent : JSON.stringify(agent);
  return `[agents.${name}.sandbox]\nwrite = [${JSON.stringify(folder)}]\n`;
}
