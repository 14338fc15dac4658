// The way out of a denial: opens the folder for the thread. The agent has named the path, so the whole folder is shown first.

import { useState } from "preact/hooks";

import { sentence } from "../../../connection/connection.ts";
import { visibleLine } from "../../../text/bidi-guard.ts";
import { lazy } from "../../parts/lazy.tsx";
import type { AllowForAgentProps } from "./AllowForAgent.tsx";

const AllowForAgent = lazy<AllowForAgentProps>(() => import("./AllowForAgent.tsx"));

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
          {agent === undefined ? "Allow a folder for this thread…" : "Allow a folder…"}
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
      {agent !== undefined && <AllowForAgent agent={agent} folder={folder} />}
    </div>
  );
}
