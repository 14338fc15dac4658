// A command in a terminal: one line with its exit state, which opens to its output.

import type { Item, Resolved, TerminalCommand } from "@acpd/client";
import { useEffect } from "preact/hooks";

import { commandLine, hasFailed, isUserCommand } from "../../../state/tool-calls.ts";
import { visible, visibleLine } from "../../../text/bidi-guard.ts";
import { who } from "../../../text/who.ts";
import { CopyButton } from "../content/CopyButton.tsx";
import { useThread } from "../content/context.ts";
import { Fold } from "../content/Fold.tsx";
import { Icon } from "../content/Icon.tsx";
import { Output } from "../content/Output.tsx";
import { Path } from "../content/Path.tsx";
import { Status, type Tone } from "../content/Status.tsx";
import { DecisionChip } from "./DecisionChip.tsx";
import { drafts, TerminalInput } from "./typing.ts";

export function CommandLine({ item, decision }: { item: Item & TerminalCommand; decision?: Resolved | undefined }) {
  const line = commandLine(item);
  return (
    <div class="th-tool" data-kind="execute">
      <Fold
        id={item.itemId}
        class="th-line-fold"
        open={item.outcome == null || hasFailed(item)}
        summary={
          <>
            <Icon name="execute" />
            {isUserCommand(item) && (
              <span class="th-label" title={`by ${who(item.requestedBy)}`}>
                You ran{" "}
              </span>
            )}
            <code class="th-command-line">{visible(line) || "Terminal"}</code>
            <DecisionChip itemId={item.itemId} answer={decision} />
            <Ended item={item} />
          </>
        }
      >
        {() => (
          <div class="th-tool-body">
            <CommandOutput item={item} />
          </div>
        )}
      </Fold>
      <span class="th-line-acts">
        <CopyButton text={line} what="command" />
      </span>
    </div>
  );
}

/** The content of a command's line. */
export function CommandOutput({ item }: { item: Item & TerminalCommand }) {
  const { cwd, terminals } = useThread();
  return (
    <>
      {item.cwd != null && item.cwd !== cwd && (
        <p class="th-quiet th-cwd">
          in <Path path={item.cwd} />
        </p>
      )}
      <Output
        output={item.output ?? ""}
        truncated={item.truncated === true}
        blob={item.outputBlob ?? undefined}
        live={item.outcome == null}
        label={`Output of ${visibleLine(commandLine(item))}`}
      />
      {item.outcome == null && terminals !== undefined && <TerminalInput item={item} line={commandLine(item)} />}
    </>
  );
}

/** The exit state of a command. Where it is shown, the output may be opened next. */
export function Ended({ item }: { item: Item & TerminalCommand }) {
  useEffect(() => Output.preload(), []);
  useEffect(() => {
    if (item.outcome != null) drafts.delete(item.itemId);
  }, [item.outcome]);
  const { tone, said } = ending(item);
  return <Status status={item.outcome ?? "in_progress"} tone={tone} said={said} />;
}

/** Describes the outcome of a command. */
export function ending(item: Item & TerminalCommand): { tone: Tone; said: string } {
  if (item.outcome == null) return item.waiting === true ? { tone: "waiting", said: "waiting for input" } : { tone: "running", said: "running" };
  if (item.signal != null) return { tone: "stopped", said: `ended by ${visibleLine(item.signal)}` };
  if (item.exitCode === 0) return { tone: "done", said: "exit code 0" };
  if (item.exitCode != null) return { tone: "failed", said: `exit code ${item.exitCode}` };
  if (item.outcome === "interrupted") return { tone: "stopped", said: "interrupted" };
  return item.outcome === "failed" ? { tone: "failed", said: "failed" } : { tone: "done", said: "ended" };
}
