// A tool call: its title, kind, locations, input and output.

import type { Item, ToolCall } from "@acpd/client";

import { visibleLine } from "../../../text/bidi-guard.ts";
import { type AcpObject, isObject, type Location, locationsOf, objects, text } from "../../../state/acp.ts";
import { CommandCard } from "./CommandCard.tsx";
import { Content } from "../content/Content.tsx";
import { useThread } from "../content/context.ts";
import { TextDiff } from "../content/Diff.tsx";
import { Fold } from "../content/Fold.tsx";
import { words } from "../../../text/format.ts";
import { Icon, kindIcon } from "../content/Icon.tsx";
import { ItemView } from "./ItemView.tsx";
import { Path } from "../content/Path.tsx";
import { RawJson } from "../content/RawJson.tsx";
import { Status } from "../content/Status.tsx";

export interface ToolProps {
  item: Item & ToolCall;
  /** The nested items: written files, commands, calls of a sub-agent. */
  nested?: readonly Item[];
}

/** Number of locations shown before the rest is folded. */
const LOCATIONS = 4;

export function ToolCard({ item, nested = [] }: ToolProps) {
  const call = item.toolCall ?? undefined;
  const title = item.title ?? item.name ?? text(call?.title) ?? "Tool call";
  const content = objects(call?.content);
  const shownInside = new Set(content.map((entry) => text(entry.terminalId) ?? text(entry.path)));
  const rest = nested.filter((inner) => !shownInside.has(innerName(inner)));
  const locations = locationsOf(call);
  const only = locations.length === 1 ? locations[0] : undefined;
  const hasTerminal = content.some((entry) => entry.type === "terminal");
  const stopped = item.outcome === "interrupted";
  return (
    <section class="th-card th-tool" aria-label={`Tool call: ${visibleLine(title)}`} data-kind={item.kind ?? "other"}>
      <header class="th-card-head">
        <span title={words(item.kind ?? "other")}>
          <Icon name={kindIcon(item.kind)} />
        </span>
        <span class="th-tool-title">{visibleLine(title)}</span>
        <span class="th-kind">{words(item.kind ?? "tool")}</span>
        {only !== undefined && <Path path={only.path} line={only.line} />}
        <Status status={stopped ? "interrupted" : item.status} />
      </header>
      {only === undefined && <Locations id={item.itemId} locations={locations} />}
      <Parameters id={item.itemId} input={call?.rawInput} said={title} terminal={hasTerminal} />
      {content.map((entry, at) => (
        <ToolContent key={at} id={`${item.itemId}/${at}`} entry={entry} nested={nested} />
      ))}
      {rest.length > 0 && (
        <div class="th-nested">
          {rest.map((inner) => (
            <ItemView key={inner.itemId} item={inner} />
          ))}
        </div>
      )}
      <Result id={item.itemId} output={call?.rawOutput} open={item.status === "failed" && content.length === 0} />
    </section>
  );
}

function innerName(item: Item): string | undefined {
  if (item.type === "terminalCommand") return item.terminalId;
  return item.type === "fileChange" ? item.path : undefined;
}

function Locations({ id, locations }: { id: string; locations: readonly Location[] }) {
  if (locations.length === 0) return null;
  const list = (some: readonly Location[]) => (
    <ul class="th-locations" role="list" aria-label="Locations">
      {some.map(({ path, line }, at) => (
        <li key={at}>
          <Path path={path} line={line} />
        </li>
      ))}
    </ul>
  );
  if (locations.length <= LOCATIONS) return list(locations);
  return (
    <>
      {list(locations.slice(0, LOCATIONS))}
      <Fold
        id={`${id}/locations`}
        summary={<span class="th-quiet">{locations.length - LOCATIONS} more locations</span>}
      >
        {() => list(locations.slice(LOCATIONS))}
      </Fold>
    </>
  );
}

interface ParametersProps {
  id: string;
  input: unknown;
  /** The call's title, which often is the command. */
  said: string;
  /** Whether the command's terminal is shown below. */
  terminal: boolean;
}

/** The input. For a command, shows the command itself, once. */
function Parameters({ id, input, said, terminal }: ParametersProps) {
  if (input == null || (isObject(input) && Object.keys(input).length === 0)) return null;
  const command = isObject(input) ? commandOf(input.command ?? input.cmd) : undefined;
  return (
    <>
      {command !== undefined && !terminal && !said.includes(command) && (
        <pre class="th-pre th-tool-command" role="group" aria-label="Command">
          <span class="th-prompt" aria-hidden="true" />
          {visibleOrderLines(command)}
        </pre>
      )}
      <RawJson id={`${id}/input`} label="Parameters" value={input} />
    </>
  );
}

function commandOf(command: unknown): string | undefined {
  if (typeof command === "string") return command;
  return Array.isArray(command) && command.every((word) => typeof word === "string") ? command.join(" ") : undefined;
}

function visibleOrderLines(command: string): string {
  return command.split("\n").map(visibleLine).join("\n");
}

function Result({ id, output, open }: { id: string; output: unknown; open: boolean }) {
  if (output == null || (isObject(output) && Object.keys(output).length === 0)) return null;
  return <RawJson id={`${id}/output`} label="Result" value={output} open={open} />;
}

interface ToolContentProps {
  id: string;
  entry: AcpObject;
  nested: readonly Item[];
}

/** One of ACP's `ToolCallContent`. */
export function ToolContent({ id, entry, nested }: ToolContentProps) {
  const { terminal } = useThread();
  if (entry.type === "content" && isObject(entry.content)) {
    return (
      <div class="th-tool-content">
        <Content id={id} block={entry.content} />
      </div>
    );
  }
  const [path, after] = [text(entry.path), text(entry.newText)];
  if (entry.type === "diff" && path !== undefined && after !== undefined) {
    return <ToolDiff id={id} path={path} before={text(entry.oldText)} after={after} />;
  }
  const terminalId = text(entry.terminalId);
  if (entry.type === "terminal" && terminalId !== undefined) {
    const inside = nested.find((item) => item.type === "terminalCommand" && item.terminalId === terminalId);
    const command = inside ?? terminal(terminalId);
    if (command?.type === "terminalCommand") return <CommandCard item={command} />;
    return <p class="th-quiet th-note">Terminal {visibleLine(terminalId)}: nothing of it is known here.</p>;
  }
  return <RawJson id={`${id}/raw`} label={`Content: ${visibleLine(text(entry.type) ?? "unknown")}`} value={entry} />;
}

/** Maximum length of a file with an unfolded diff, in characters. */
const LARGE = 40_000;

function ToolDiff(props: { id: string; path: string; before: string | undefined; after: string }) {
  const { id, path, before, after } = props;
  return (
    <Fold
      id={`${id}/diff`}
      class="th-diff-fold"
      open={(before?.length ?? 0) + after.length <= LARGE}
      summary={<span class="th-quiet">Changes</span>}
    >
      {() => <TextDiff path={path} before={before} after={after} />}
    </Fold>
  );
}

