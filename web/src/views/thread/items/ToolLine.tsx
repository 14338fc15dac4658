// A tool call: one line with what it does and how it ended, which opens to its content.

import type { Item, Resolved, TerminalCommand, ToolCall } from "@acpd/client";
import { useContext } from "preact/hooks";

import { type Location, locationsOf, objects, text } from "../../../state/acp.ts";
import { changesOf, commandOf, hasFailed, isUnmade, sumOf, titleOf } from "../../../state/tool-calls.ts";
import { visibleLine } from "../../../text/bidi-guard.ts";
import { shortPaths, words } from "../../../text/format.ts";
import { type ThreadContext, useThread, Waiting } from "../content/context.ts";
import { CopyButton } from "../content/CopyButton.tsx";
import { Counts } from "../content/Counts.tsx";
import { Chevron, Fold } from "../content/Fold.tsx";
import { Icon, kindIcon } from "../content/Icon.tsx";
import { Path } from "../content/Path.tsx";
import { Status } from "../content/Status.tsx";
import { Ended } from "./CommandLine.tsx";
import { DecisionChip } from "./DecisionChip.tsx";
import { useRawDetails } from "./RawDetails.tsx";
import { ToolBody, toolParts } from "./ToolBody.tsx";

export interface ToolProps {
  item: Item & ToolCall;
  /** The nested items: written files, commands, calls of a sub-agent. */
  nested?: readonly Item[];
  /** The answer to acpd's own question that allowed a part of it. */
  decision?: Resolved | undefined;
}

export function ToolLine({ item, nested = [], decision }: ToolProps) {
  const context = useThread();
  const asked = useContext(Waiting).items.has(item.itemId);
  const call = item.toolCall ?? undefined;
  const title = shortTitle(item, context);
  const command = item.kind === "execute" ? commandOf(call?.rawInput) : undefined;
  const parts = toolParts(item, nested, context);
  const { button, details } = useRawDetails({ id: item.itemId, input: call?.rawInput, output: call?.rawOutput });
  const head = <ToolHead item={item} nested={nested} title={title} terminal={parts.terminals[0]} asked={asked} decision={decision} />;
  return (
    <div class="th-tool" data-kind={item.kind ?? "other"}>
      {parts.isEmpty ? (
        <div class="th-summary th-line-plain">
          <Chevron />
          {head}
        </div>
      ) : (
        <Fold id={item.itemId} class="th-line-fold" open={!asked && isOpen(item, parts.terminals)} summary={head}>
          {() => <ToolBody item={item} title={title} parts={parts} />}
        </Fold>
      )}
      <span class="th-line-acts">
        {command !== undefined && <CopyButton text={command} what="command" />}
        {button}
      </span>
      {details}
    </div>
  );
}

/** A running change or command is open, and a failed command. */
function isOpen(item: Item & ToolCall, terminals: readonly TerminalCommand[]): boolean {
  const runs = item.status === "in_progress" && item.outcome == null;
  if (terminals.some((one) => (one as Item & TerminalCommand).outcome == null && one.waiting === true)) return true;
  const failed = item.status === "failed" || terminals.some((one) => hasFailed(one as Item & TerminalCommand));
  return (runs && item.kind !== "read" && item.kind !== "search") || (failed && item.kind === "execute");
}

interface HeadProps {
  item: Item & ToolCall;
  nested: readonly Item[];
  title: string;
  /** The command in the call's terminal. */
  terminal: (Item & TerminalCommand) | undefined;
  /** Whether the call waits for an approval. */
  asked: boolean;
  decision: Resolved | undefined;
}

function ToolHead({ item, nested, title, terminal, asked, decision }: HeadProps) {
  const { cwd } = useThread();
  const path = unsaidPath(item, title, cwd);
  const kind = words(item.kind ?? "other");
  return (
    <>
      <span class="th-line-icon" title={kind}>
        <Icon name={kindIcon(item.kind)} />
        {!title.toLowerCase().startsWith(kind) && <span class="sr-only">{kind}: </span>}
      </span>
      {item.kind === "execute" && isCommand(item, title) ? (
        <code class="th-command-line">{visibleLine(title)}</code>
      ) : (
        <span class="th-tool-title" dir="auto">
          {visibleLine(title)}
        </span>
      )}
      {path !== undefined && <Path path={path.path} line={path.line} />}
      <Counts {...sumOf(changesOf([item, ...nested]))} />
      <DecisionChip itemId={item.itemId} answer={decision} />
      <Progress item={item} terminal={terminal} asked={asked} />
    </>
  );
}

function Progress({ item, terminal, asked }: Pick<HeadProps, "item" | "terminal" | "asked">) {
  const answer = useContext(Waiting).answers?.get(item.itemId);
  // The question below says so in words.
  if (asked) {
    return (
      <span class="th-status th-status-waiting" data-status="asked">
        <Icon name="shield" />
        <span class="sr-only">Waiting for approval below</span>
      </span>
    );
  }
  if (terminal !== undefined && (terminal.outcome != null || terminal.waiting === true || item.status === "in_progress")) return <Ended item={terminal} />;
  const end = item.outcome == null || item.outcome === "completed" ? item.status : item.outcome;
  const status = isUnmade(item) && answer?.outcome === "declined" ? "rejected" : end;
  return <Status status={status} brief={status === "completed"} />;
}

/** Returns the title, with paths relative to the thread's directory. */
function shortTitle(item: Item & ToolCall, { cwd }: ThreadContext): string {
  return shortPaths(titleOf(item), cwd);
}

function isCommand(item: Item & ToolCall, title: string): boolean {
  const input = item.toolCall?.rawInput;
  const command = commandOf(input);
  return command === undefined || title.startsWith(command) || title.includes(`\`${command}\``) || command.includes(title);
}

/** Returns the location of the call, unless the title contains it or there are several. */
function unsaidPath(item: Item & ToolCall, title: string, cwd: string): Location | undefined {
  const locations = locationsOf(item.toolCall);
  const diffs = objects(item.toolCall?.content).flatMap(({ type, path }) => (type === "diff" ? (text(path) ?? []) : []));
  const [first] = locations.length === 1 ? locations : diffs.length === 1 ? [{ path: diffs[0]! }] : [];
  if (first === undefined) return undefined;
  const name = first.path.slice(first.path.lastIndexOf("/") + 1);
  return title.includes(name) || first.path === cwd ? undefined : first;
}
