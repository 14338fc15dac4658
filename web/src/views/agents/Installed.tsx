/** The agent that was just installed, with its check. */

import type { Agent } from "@acpd/client";

import { online } from "../../connection/connection.ts";
import { CheckButton, CheckResult, useCheck } from "./Check.tsx";

import "./setup.css";

export default function Installed({ agent: { id, title } }: { agent: Agent }) {
  const check = useCheck(id);
  return (
    <section class="card setup-installed" aria-label={`${title} is installed`}>
      <p class="setup-agent-line">
        <span class="setup-agent-text">
          <strong>{title}</strong> is installed.
        </span>
        <CheckButton name={title} check={check} barred={online.value ? undefined : "Not connected"} />
      </p>
      <CheckResult id={id} name={title} check={check} />
    </section>
  );
}
