// The agent asks whether it may do something. Everything that would be done stands here in full; the answers are the agent's
// own. Nothing is focused and nothing is preset: an answer takes a deliberate press.

import type { Approval as Asked, PermissionOption, Resolved } from "@acpd/client";
import { useId } from "preact/hooks";

import { visible, visibleLine } from "../../text/visible.ts";
import { isObject, locationsOf, objects, text } from "./acp.ts";
import { meaningOf, nameBeside } from "./answers.ts";
import { quoted } from "./CommandCard.tsx";
import { Content } from "./Content.tsx";
import { CopyButton } from "./CopyButton.tsx";
import { TextDiff, UnifiedDiff } from "./Diff.tsx";
import { Icon } from "./Icon.tsx";
import { who } from "./Notice.tsx";
import { Path } from "./Path.tsx";
import { RawJson } from "./RawJson.tsx";

export interface ApprovalProps {
  question: Asked;
  /** An option's id; nothing means that none of them is picked, and the question is cancelled. */
  onAnswer: (option: PermissionOption | undefined) => void;
  /** The answer is on its way. */
  sending?: boolean;
  /** Why the last answer was not taken. */
  error?: string | undefined;
  /** Who else is asked. */
  others?: readonly string[];
  /** How it was answered. */
  resolved?: Resolved | undefined;
  /** Why this person cannot answer. */
  barred?: string | undefined;
}

export function Approval(props: ApprovalProps) {
  const { question, onAnswer, sending = false, error, others = [], resolved, barred } = props;
  const title = useId();
  if (resolved !== undefined) return <Settled title={question.title} resolved={resolved} options={question.options} />;
  const off = sending || barred !== undefined;
  return (
    <section class="th-card th-approval" role="group" aria-labelledby={title} aria-busy={sending}>
      <p class="sr-only" role="alert">
        The agent asks for permission: {visibleLine(question.title)}
      </p>
      <header class="th-approval-head">
        <Icon name="shield" />
        <h3 id={title}>{visible(question.title)}</h3>
      </header>
      {question.reason != null && question.reason !== "" && <p class="th-approval-reason">{visible(question.reason)}</p>}
      <Subject question={question} />
      <AlsoAsked others={others} />
      {error !== undefined && (
        <p class="error-text" role="alert">
          {error}
        </p>
      )}
      {barred !== undefined && <p class="th-quiet">{barred}</p>}
      <div class="th-answers">
        {question.options.map((option) => (
          <button
            key={option.optionId}
            type="button"
            class={`button ${looks(option.kind)}`}
            disabled={off}
            onClick={() => onAnswer(option)}
          >
            <Icon name={icon(option.kind)} />
            <Label option={option} />
            {question.agentRemembers?.includes(option.optionId) && (
              <span class="th-tag">the agent may remember this by itself</span>
            )}
          </button>
        ))}
        {question.options.length === 0 && (
          <button type="button" class="button" disabled={off} onClick={() => onAnswer(undefined)}>
            Cancel: the agent offers no answers
          </button>
        )}
        {sending && <span class="th-spinner" role="status" aria-label="Sending the answer" />}
      </div>
    </section>
  );
}

/** Who else may answer first. */
export function AlsoAsked({ others }: { others: readonly string[] }) {
  if (others.length === 0) return null;
  // Two pages of the same person look alike.
  return <p class="th-quiet">Also asked: {[...new Set(others)].map(visibleLine).join(", ")}</p>;
}

/** What the answer does, and behind it what the agent calls it. */
function Label({ option }: { option: PermissionOption }) {
  const name = nameBeside(option);
  return (
    <span>
      {meaningOf(option.kind)}
      {name !== undefined && <span class="th-agents-name"> “{visibleLine(name)}”</span>}
    </span>
  );
}

function icon(kind: string): "check" | "cross" | "info" {
  if (kind.startsWith("allow")) return "check";
  return kind.startsWith("reject") ? "cross" : "info";
}

/** Only a yes to this one thing is the plain way on. */
function looks(kind: string): string {
  if (kind === "allow_once") return "primary";
  return kind.startsWith("reject") ? "danger" : "";
}

/** What would be done: in full, whatever the length. */
function Subject({ question }: { question: Asked }) {
  const { toolCall, command, cwd, diff, path } = question;
  const line = commandText(command);
  const content = objects(toolCall?.content);
  const inContent = content.some((entry) => entry.type === "diff");
  const known = new Set([path, ...content.map((entry) => text(entry.path))]);
  const locations = locationsOf(toolCall).filter((location) => !known.has(location.path));
  return (
    <div class="th-subject">
      {line !== undefined && (
        <div class="th-framed">
          <pre class="th-pre th-approval-command" tabIndex={0} role="group" aria-label="Command">
            <span class="th-prompt" aria-hidden="true" />
            {line.split("\n").map(visibleLine).join("\n")}
          </pre>
          <CopyButton text={line} what="command" class="th-copy-corner" />
        </div>
      )}
      {cwd != null && (
        <p class="th-quiet">
          in <bdi class="mono">{visibleLine(cwd)}</bdi>
        </p>
      )}
      {path != null && !(diff != null && diff !== "") && !inContent && (
        <p class="th-approval-path">
          <Icon name="file" /> <Path path={path} />
        </p>
      )}
      {locations.map((location, at) => (
        <p key={at} class="th-approval-path">
          <Icon name="file" /> <Path path={location.path} line={location.line} />
        </p>
      ))}
      {diff != null && diff !== "" && !inContent && <UnifiedDiff diff={diff} path={path ?? undefined} full />}
      {content.map((entry, at) => (
        <ToBeDone key={at} id={`${question.requestId}/${at}`} entry={entry} />
      ))}
      {toolCall?.rawInput != null && (
        <RawJson
          id={`${question.requestId}/input`}
          label="Parameters"
          value={toolCall.rawInput}
          // Where nothing else says what it is about, this has to.
          open={line === undefined && path == null && content.length === 0 && locations.length === 0}
        />
      )}
    </div>
  );
}

function ToBeDone({ id, entry }: { id: string; entry: Record<string, unknown> }) {
  if (entry.type === "content" && isObject(entry.content)) return <Content id={id} block={entry.content} />;
  const [path, after] = [text(entry.path), text(entry.newText)];
  if (entry.type === "diff" && path !== undefined && after !== undefined) {
    return <TextDiff path={path} before={text(entry.oldText)} after={after} full />;
  }
  return <RawJson id={id} label="Content" value={entry} open />;
}

/** A command line as it is; its parts so that one sees where each ends. */
function commandText(command: unknown): string | undefined {
  if (typeof command === "string") return command;
  if (Array.isArray(command) && command.length > 0) {
    return command.map((word) => (typeof word === "string" ? quoted(word) : JSON.stringify(word))).join(" ");
  }
  return command == null ? undefined : JSON.stringify(command);
}

const OUTCOMES = {
  accepted: { said: "Allowed", icon: "check" },
  declined: { said: "Refused", icon: "cross" },
  cancelled: { said: "Cancelled", icon: "cross" },
  void: { said: "No answer is needed any more", icon: "info" },
} as const;

interface SettledProps {
  title: string;
  resolved: Resolved;
  options?: readonly PermissionOption[];
}

/** A question that is answered: what was said, and by whom. */
export function Settled({ title, resolved, options = [] }: SettledProps) {
  const { said, icon } = OUTCOMES[resolved.outcome] ?? OUTCOMES.void;
  const option = options.find((one) => one.optionId === resolved.optionId);
  const sent = options.find((one) => one.optionId === resolved.sentOptionId);
  const always = (option?.kind ?? resolved.optionKind ?? "").endsWith("_always");
  return (
    <p class="th-settled" role="status" data-outcome={resolved.outcome}>
      <Icon name={icon} />
      <span class="th-settled-what">
        <strong>{said}</strong> {always && <span class="th-tag">always</span>} {visibleLine(title)}
      </span>
      <span class="th-quiet">
        {option !== undefined && `“${visibleLine(option.name)}” `}
        {resolved.outcome === "void" ? visibleLine(resolved.reason ?? "") : `by ${who(resolved.by)}`}
        {sent !== undefined && `; acpd remembers it, the agent was sent “${visibleLine(sent.name)}”`}
      </span>
    </p>
  );
}
