// The content of an opened tool call: locations, command, changes, output, and the nested items.

import type { Item, TerminalCommand, ToolCall } from "@acpd/client";

import { type AcpObject, isObject, type Location, locationsOf, objects, text } from "../../../state/acp.ts";
import { commandOf } from "../../../state/tool-calls.ts";
import { visibleLine } from "../../../text/bidi-guard.ts";
import { grammarOf, languageOfPath } from "../../../text/highlight.ts";
import { Content } from "../content/Content.tsx";
import type { ThreadContext } from "../content/context.ts";
import { TextDiff } from "../content/diffs.ts";
import { Path } from "../content/Path.tsx";
import { Preformatted } from "../content/Preformatted.tsx";
import { RawJson } from "../content/RawJson.tsx";
import { CommandLine, CommandOutput } from "./CommandLine.tsx";
import { WrittenFile } from "./FileLine.tsx";
import { ItemView } from "./ItemView.tsx";

export interface ToolParts {
  /** ACP's `ToolCallContent`. */
  content: readonly AcpObject[];
  /** The commands in the call's terminals. */
  terminals: readonly (Item & TerminalCommand)[];
  /** The nested items that the content does not contain. */
  rest: readonly Item[];
  locations: readonly Location[];
  isEmpty: boolean;
}

/** Returns what an opened tool call shows. */
export function toolParts(item: Item & ToolCall, nested: readonly Item[], { terminal }: ThreadContext): ToolParts {
  const content = objects(item.toolCall?.content);
  const terminals = content.flatMap(({ terminalId }) => {
    const inside = nested.find((one) => one.type === "terminalCommand" && one.terminalId === terminalId);
    const command = inside ?? (text(terminalId) === undefined ? undefined : terminal(String(terminalId)));
    return command?.type === "terminalCommand" ? [command] : [];
  });
  const shownInside = new Set(content.map((entry) => text(entry.terminalId) ?? text(entry.path)));
  const rest = nested.filter((inner) => !shownInside.has(innerName(inner)));
  const locations = locationsOf(item.toolCall);
  return { content, terminals, rest, locations, isEmpty: content.length + rest.length === 0 && locations.length < 2 };
}

function innerName(item: Item): string | undefined {
  if (item.type === "terminalCommand") return item.terminalId;
  return item.type === "fileChange" ? item.path : undefined;
}

interface BodyProps {
  item: Item & ToolCall;
  title: string;
  parts: ToolParts;
}

export function ToolBody({ item, title, parts }: BodyProps) {
  const { content, terminals, rest, locations } = parts;
  const command = commandOf(item.toolCall?.rawInput);
  const [only] = rest.length === 1 && content.length === 0 ? rest : [];
  return (
    <div class="th-tool-body">
      {locations.length > 1 && <Locations locations={locations} />}
      {command !== undefined && terminals.length === 0 && !title.includes(command) && <Command command={command} />}
      {content.map((entry, at) => (
        <ToolContent key={at} id={`${item.itemId}/${at}`} entry={entry} item={item} terminals={terminals} />
      ))}
      {only?.type === "fileChange" ? (
        <WrittenFile item={only} />
      ) : (
        rest.length > 0 && (
          <div class="th-nested">
            {rest.map((inner) => (
              <ItemView key={inner.itemId} item={inner} />
            ))}
          </div>
        )
      )}
    </div>
  );
}

function Locations({ locations }: { locations: readonly Location[] }) {
  return (
    <ul class="th-locations" role="list" aria-label="Locations">
      {locations.map(({ path, line }, at) => (
        <li key={at}>
          <Path path={path} line={line} />
        </li>
      ))}
    </ul>
  );
}

function Command({ command }: { command: string }) {
  return (
    <pre class="th-pre th-tool-command" role="group" aria-label="Command">
      <span class="th-prompt" aria-hidden="true" />
      {command.split("\n").map(visibleLine).join("\n")}
    </pre>
  );
}

interface ContentProps {
  id: string;
  entry: AcpObject;
  item: Item & ToolCall;
  terminals: ToolParts["terminals"];
}

/** One of ACP's `ToolCallContent`. */
function ToolContent({ id, entry, item, terminals }: ContentProps) {
  if (entry.type === "content" && isObject(entry.content)) {
    const output = entry.content.type === "text" ? text(entry.content.text) : undefined;
    return output !== undefined && VERBATIM.has(item.kind ?? "") ? (
      <Preformatted id={id} text={output} language={languageOf(item)} />
    ) : (
      <div class="th-tool-content">
        <Content id={id} block={entry.content} />
      </div>
    );
  }
  const [path, after] = [text(entry.path), text(entry.newText)];
  if (entry.type === "diff" && path !== undefined && after !== undefined) {
    const only = objects(item.toolCall?.content).filter(({ type }) => type === "diff").length === 1;
    return <TextDiff path={path} before={text(entry.oldText)} after={after} named={only} counted={only} />;
  }
  const terminalId = text(entry.terminalId);
  if (entry.type === "terminal" && terminalId !== undefined) {
    const command = terminals.find((one) => one.terminalId === terminalId);
    if (command === undefined) return <p class="th-quiet th-note">The terminal {visibleLine(terminalId)} is not loaded.</p>;
    return terminals.length > 1 ? <CommandLine item={command} /> : <CommandOutput item={command} />;
  }
  return <RawJson id={`${id}/raw`} label={`Content: ${visibleLine(text(entry.type) ?? "unknown")}`} value={entry} />;
}

/** The kinds of calls whose output is the content of files or the output of programs. */
const VERBATIM = new Set(["read", "search", "execute"]);

function languageOf(item: Item & ToolCall): string {
  const path = item.kind === "read" ? locationsOf(item.toolCall)[0]?.path : undefined;
  const language = path === undefined ? "" : languageOfPath(path);
  return grammarOf(language) === undefined ? "" : language;
}
