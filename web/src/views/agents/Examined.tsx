/** The result of an agent's check: its identity and capabilities, or its error; and its sandbox. */

import type { AgentExamined, AgentHello } from "@acpd/client";

import { visible, visibleLine } from "../../text/bidi-guard.ts";
import { objects, text } from "../../state/acp.ts";
import { duration } from "../../text/format.ts";
import { abilities } from "./capabilities.ts";
import { Sandbox } from "./Sandbox.tsx";

/** Short times are shown in milliseconds. */
const took = (millis: number): string => (millis < 1_000 ? `${Math.round(millis)} ms` : duration(millis));

interface Props extends AgentExamined {
  /** Whether the agent has refused to open a session because nobody was signed in. */
  isSignedOut?: boolean;
}

export function Examined({ error, hello, millis, sandbox, stderr, strayLines, isSignedOut = false }: Props) {
  const works = hello != null && error == null;
  return (
    <div class="examined">
      {works ? (
        <p class={isSignedOut ? "examined-half" : "examined-works"}>
          {isSignedOut ? (
            <>
              <strong>Starts. Not signed in.</strong> A new thread offers the sign-in.
            </>
          ) : (
            <>
              <strong>Started</strong> in {took(millis)}
            </>
          )}
        </p>
      ) : (
        <p class="examined-fails">
          <strong>Couldn’t start.</strong> {error == null ? "The agent did not respond to initialize." : visible(error)}{" "}
          <span class="hint">After {took(millis)}</span>
        </p>
      )}
      {works && <Hello {...hello} />}
      {sandbox != null && <Sandbox {...sandbox} />}
      {strayLines.length > 0 && (
        <div class="examined-stray">
          <p>Invalid lines on its standard output:</p>
          <pre>{strayLines.map(visibleLine).join("\n")}</pre>
        </div>
      )}
      {stderr !== "" && (
        <details>
          <summary>End of standard error</summary>
          <pre>{visible(stderr)}</pre>
        </details>
      )}
    </div>
  );
}

function Hello({ protocolVersion, agentInfo, agentCapabilities, authMethods }: AgentHello) {
  const called = [text(agentInfo?.title) ?? text(agentInfo?.name), text(agentInfo?.version)]
    .flatMap((part) => (part === undefined ? [] : [visibleLine(part)]))
    .join(" ");
  const { can, cannot } = abilities(agentCapabilities);
  const ways = objects(authMethods).flatMap((way) => {
    const name = text(way.name) ?? text(way.id);
    return name === undefined ? [] : [{ name, about: text(way.description) }];
  });
  return (
    <dl>
      <div>
        <dt>Protocol</dt>
        <dd>ACP version {protocolVersion}</dd>
      </div>
      {called !== "" && (
        <div>
          <dt>Reports as</dt>
          <dd>{called}</dd>
        </div>
      )}
      {can.length > 0 && (
        <div>
          <dt>Can</dt>
          <dd>{can.map(visibleLine).join(", ")}</dd>
        </div>
      )}
      {cannot.length > 0 && (
        <div>
          <dt>Cannot</dt>
          <dd>{cannot.map(visibleLine).join(", ")}</dd>
        </div>
      )}
      <div>
        <dt>Sign-in</dt>
        <dd>
          {ways.length === 0
            ? "Not needed"
            : ways.map(({ name, about }, index) => (
                <span class="examined-way" key={index}>
                  {visibleLine(name)}
                  {about !== undefined && <span class="hint"> {visibleLine(about)}</span>}
                </span>
              ))}
        </dd>
      </div>
    </dl>
  );
}
