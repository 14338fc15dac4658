// The agent's description of a call: its title, its reason, its text. The decision does not depend on it.

import type { Approval as Asked } from "@acpd/client";

import { visible } from "../../../text/bidi-guard.ts";
import { isObject, objects } from "../../../state/acp.ts";
import { repeats } from "../../../state/subjects.ts";
import { Content } from "../content/Content.tsx";
import { RawJson } from "../content/RawJson.tsx";

export function AgentsWords({ question }: { question: Asked }) {
  const { requestId, itemId, title, reason, toolCall, subjects } = question;
  // A question that acpd itself asks has acpd's own text.
  if (itemId == null) return null;
  const texts = objects(toolCall?.content).filter((entry) => entry.type === "content" && isObject(entry.content));
  const titled = !repeats(title, subjects);
  const says = titled || (reason != null && reason !== "") || texts.length > 0;
  return (
    <section class="th-agents-words" aria-label="The agent’s own words">
      {says && <p class="th-quiet">The agent’s own words:</p>}
      {titled && <p dir="auto">{visible(title)}</p>}
      {reason != null && reason !== "" && <p class="th-approval-reason">{visible(reason)}</p>}
      {texts.map((entry, at) => isObject(entry.content) && <Content key={at} id={`${requestId}/${at}`} block={entry.content} />)}
      {toolCall != null && (
        <RawJson
          id={`${requestId}/call`}
          label="Tool call as it was sent"
          value={toolCall}
          // Useful if acpd cannot describe the call.
          open={subjects.length === 0 || subjects.some((subject) => subject.type === "unknown")}
        />
      )}
    </section>
  );
}
