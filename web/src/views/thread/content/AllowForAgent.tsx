// Opens a folder for all threads of an agent: only the owner may, because the configuration has the sandbox of an agent.

import { useState } from "preact/hooks";

import { client, sentence } from "../../../connection/connection.ts";
import { visible, visibleLine } from "../../../text/bidi-guard.ts";
import { CopyButton } from "./CopyButton.tsx";

export interface AllowForAgentProps {
  agent: string;
  folder: string;
}

export default function AllowForAgent({ agent, folder }: AllowForAgentProps) {
  const [isSent, setSent] = useState(false);
  const [file, setFile] = useState<string>();
  const [refusal, setRefusal] = useState<string>();
  const [name, place] = [visibleLine(agent), visibleLine(folder)];
  const allow = async () => {
    setSent(true);
    setRefusal(undefined);
    try {
      const now = client.peek();
      if (!now) throw new Error("there is no connection");
      setFile((await now.call("config/folder/add", { agentType: agent, folder })).file);
    } catch (error) {
      setRefusal(sentence(error));
    }
    setSent(false);
  };
  if (file !== undefined) {
    return (
      <p class="th-open-for-agent" role="status">
        {name} may use {place} in all its threads when it starts again, until you remove it from <code>{visibleLine(file)}</code>.
      </p>
    );
  }
  return (
    <div class="th-open-for-agent">
      <button type="button" class="button" disabled={isSent} onClick={() => void allow()}>
        Allow for all threads of {name}
      </button>
      {refusal !== undefined && (
        <>
          <p role="alert">{refusal}</p>
          <Lines agent={agent} folder={folder} />
        </>
      )}
    </div>
  );
}

/** Says what to write where the daemon cannot do it. */
function Lines({ agent, folder }: AllowForAgentProps) {
  const lines = sandboxLines(agent, folder);
  return (
    <details>
      <summary>Change the configuration yourself</summary>
      <p>
        Add these lines, or the folder to the <code>folders</code> list that is there. <code>acpd config path</code> prints where the
        configuration is.
      </p>
      <pre tabIndex={0}>{visible(lines)}</pre>
      <CopyButton text={lines} what="lines" />
    </details>
  );
}

/** Returns the lines of the configuration that let an agent write a folder. Strings of JSON are strings of TOML. */
export function sandboxLines(agent: string, folder: string): string {
  const name = /^[\w-]+$/.test(agent) ? agent : JSON.stringify(agent);
  return `[agents.${name}.sandbox]\nfolders = [${JSON.stringify(folder)}]\n`;
}
