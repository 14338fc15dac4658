// The actions of a call, as the daemon reads them: in full, regardless of length.

import type { CallSubject } from "@acpd/client";

import { deed } from "../../../state/subjects.ts";
import { quoted } from "../../../text/shell.ts";
import { visible, visibleLine } from "../../../text/bidi-guard.ts";
import { CopyButton } from "../content/CopyButton.tsx";
import { UnifiedDiff } from "../content/Diff.tsx";
import { Icon } from "../content/Icon.tsx";
import { Path } from "../content/Path.tsx";
import { RawJson } from "../content/RawJson.tsx";

/** With `headed`, the question's head names the only subject's file. */
export function Subjects({ id, subjects, headed = false }: { id: string; subjects: readonly CallSubject[]; headed?: boolean }) {
  if (subjects.length === 0) return <p class="th-warning">acpd cannot determine the effect of this call.</p>;
  return (
    <>
      {subjects.map((subject, at) => (
        <Subject key={at} id={`${id}/${at}`} subject={subject} headed={headed} />
      ))}
    </>
  );
}

function Subject({ id, subject, headed }: { id: string; subject: CallSubject; headed: boolean }) {
  const { verb, what } = deed(subject);
  switch (subject.type) {
    case "command":
    case "commandLine":
      return (
        <>
          <div class="th-framed">
            <pre class="th-pre th-approval-command" tabIndex={0} role="group" aria-label="Command">
              <span class="th-prompt" aria-hidden="true" />
              {what.split("\n").map(visibleLine).join("\n")}
            </pre>
            <CopyButton text={what} what="command" class="th-copy-corner" />
          </div>
          <p class="th-quiet">
            in <bdi class="mono">{visibleLine(subject.cwd)}</bdi>
          </p>
          {(subject.env ?? []).map(({ name, value }) => (
            <p key={name} class="th-warning">
              with <bdi class="mono">{visibleLine(`${name}=${quoted(value)}`)}</bdi>
            </p>
          ))}
        </>
      );
    case "file":
      return (
        <>
          {!headed && (
            <p class="th-approval-path">
              <Icon name="file" /> {verb} <Path path={subject.path} />
              {subject.realPath != null && (
                <>
                  , which is <Path path={subject.realPath} />
                </>
              )}
            </p>
          )}
          {subject.diff != null && subject.diff !== "" && <UnifiedDiff diff={subject.diff} path={subject.path} full named={!headed} headed={headed} />}
          <Input id={id} json={subject.arguments} />
        </>
      );
    case "fetch":
      return (
        <p>
          {verb} <bdi class="mono">{visibleLine(what)}</bdi>
          {subject.host != null && (
            <>
              {" "}
              from the host <bdi class="mono">{visibleLine(subject.host)}</bdi>
            </>
          )}
        </p>
      );
    case "mcp":
    case "tool":
      return (
        <>
          <p>
            {verb} <bdi>{visibleLine(what)}</bdi>
          </p>
          <Input id={id} json={subject.arguments} />
        </>
      );
    default:
      return (
        <p class="th-warning">
          {verb} {visible(what)}
        </p>
      );
  }
}

/** The input of a call, if nothing else describes its effect. */
function Input({ id, json }: { id: string; json: string | null | undefined }) {
  return json == null ? null : <RawJson id={id} label="Parameters" value={json} open decided />;
}
