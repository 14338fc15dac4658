// A command in a terminal: its command line, directory, output and outcome.

import type { Item, TerminalCommand } from "@acpd/client";

import { quoted } from "../../../text/shell.ts";
import { visible, visibleLine } from "../../../text/bidi-guard.ts";
import { CopyButton } from "../content/CopyButton.tsx";
import { useThread } from "../content/context.ts";
import { Fold } from "../content/Fold.tsx";
import { count } from "../../../text/format.ts";
import { Icon } from "../content/Icon.tsx";
import { Path } from "../content/Path.tsx";
import { Status, type Tone } from "../content/Status.tsx";
import { Output } from "../content/Terminal.tsx";

/** Maximum number of output lines that stay unfolded after the command has succeeded. */
const LONG = 40;

export function CommandCard({ item }: { item: Item & TerminalCommand }) {
  const { cwd } = useThread();
  const line = commandLine(item);
  const output = item.output ?? "";
  const live = item.outcome == null;
  const lines = countLines(output);
  const failed = item.outcome === "failed" || (item.exitCode != null && item.exitCode !== 0);
  return (
    <section class="th-card th-command" aria-label={`Command: ${visibleLine(line)}`}>
      <header class="th-card-head">
        <Icon name="execute" />
        <code class="th-command-line">{visible(line) || "Terminal"}</code>
        <CopyButton text={line} what="command" />
        <Ended item={item} />
      </header>
      {item.cwd != null && item.cwd !== cwd && (
        <p class="th-quiet th-cwd">
          in <Path path={item.cwd} />
        </p>
      )}
      <Fold
        id={`${item.itemId}/output`}
        class="th-output-fold"
        open={live || failed || lines <= LONG}
        summary={<span class="th-quiet">Output{lines > 1 ? `, ${count(lines)} lines` : ""}</span>}
      >
        {() => (
          <Output
            output={output}
            truncated={item.truncated === true}
            blob={item.outputBlob ?? undefined}
            live={live}
            label={`Output of ${visibleLine(line)}`}
          />
        )}
      </Fold>
    </section>
  );
}

/** Returns the command with its arguments, quoted as a shell requires: the quotes show what is really one word. */
export function commandLine(item: Pick<TerminalCommand, "command" | "args">): string {
  const { command, args } = item;
  return [command ?? "", ...(args ?? []).map(quoted)].join(" ").trim();
}

function countLines(output: string): number {
  if (output === "") return 0;
  let lines = output.endsWith("\n") ? 0 : 1;
  for (let at = output.indexOf("\n"); at !== -1; at = output.indexOf("\n", at + 1)) lines += 1;
  return lines;
}

function Ended({ item }: { item: Item & TerminalCommand }) {
  const { tone, said } = ending(item);
  return <Status status={item.outcome ?? "in_progress"} tone={tone} said={said} />;
}

/** Describes the outcome of a command. */
export function ending(item: Item & TerminalCommand): { tone: Tone; said: string } {
  if (item.outcome == null) return { tone: "running", said: "running" };
  if (item.signal != null) return { tone: "stopped", said: `ended by ${visibleLine(item.signal)}` };
  if (item.exitCode === 0) return { tone: "done", said: "exit code 0" };
  if (item.exitCode != null) return { tone: "failed", said: `exit code ${item.exitCode}` };
  if (item.outcome === "interrupted") return { tone: "stopped", said: "interrupted" };
  return item.outcome === "failed" ? { tone: "failed", said: "failed" } : { tone: "done", said: "ended" };
}
