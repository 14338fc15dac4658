// A permission request. It shows all actions in full, as the daemon reads them; the agent's description follows, marked
// as such. No button has the focus or a default, so an answer requires a deliberate click.

import type { Always, Approval as Asked, CallSubject, PermissionOption, Resolved, Scope } from "@acpd/client";
import { useMemo } from "preact/hooks";

import { isRemembered, scopeWords } from "../../../state/scopes.ts";
import { FILE_DEEDS, fileInHead, heading, inOneLine, isAlways, titleOf } from "../../../state/subjects.ts";
import { visibleLine } from "../../../text/bidi-guard.ts";
import { parseUnified } from "../../../text/diff.ts";
import { AgentsWords } from "./AgentsWords.tsx";
import { effectOf, iconOf, nameBeside } from "./answers.ts";
import { useThread } from "../content/context.ts";
import { Counts } from "../content/Counts.tsx";
import { Icon } from "../content/Icon.tsx";
import { Path } from "../content/Path.tsx";
import { Menu } from "../../parts/Menu.tsx";
import { who } from "../../../text/who.ts";
import { QuestionCard, type QuestionFrame } from "./QuestionCard.tsx";
import { Subjects } from "./Subjects.tsx";

export interface ApprovalProps extends QuestionFrame {
  question: Asked;
  /**
   * Receives the chosen option, and how long it is remembered if that is longer than the session; `undefined` if the user
   * chooses none and cancels the question.
   */
  onAnswer: (option: PermissionOption | undefined, scope?: Scope) => void;
  /** The durations beyond the session that the user may choose. */
  scopes?: readonly Scope[];
  /** The answer, if the question is resolved. */
  resolved?: Resolved | undefined;
}

export function Approval({ question, onAnswer, scopes = [], resolved, ...frame }: ApprovalProps) {
  if (resolved !== undefined) return <Settled title={inOneLine(question)} resolved={resolved} options={question.options} />;
  const off = frame.sending === true || frame.barred !== undefined;
  const file = fileInHead(question.subjects);
  return (
    <QuestionCard
      {...frame}
      requestId={question.requestId}
      class="th-approval"
      icon="shield"
      title={file === undefined ? titleOf(question.subjects) : <FileDeed file={file} />}
      alert={`${frame.asker ?? "The agent"} asks for permission: ${heading(question.subjects)}`}
      keyed
      answers={<Answers question={question} off={off} onAnswer={onAnswer} scopes={scopes} />}
    >
      <Subjects id={question.requestId} subjects={question.subjects} headed={file !== undefined} />
      <AgentsWords question={question} />
      {question.always != null && "notRemembered" in question.always && (
        <p class="th-quiet">acpd does not remember an answer: {visibleLine(question.always.notRemembered)}</p>
      )}
    </QuestionCard>
  );
}

/** The head of a question about one file: it stays in sight while the change scrolls. */
function FileDeed({ file }: { file: Extract<CallSubject, { type: "file" }> }) {
  const { access, path, diff } = file;
  const counts = useMemo(() => {
    const files = parseUnified(diff ?? "");
    return { added: files.reduce((sum, { added }) => sum + added, 0), removed: files.reduce((sum, { removed }) => sum + removed, 0) };
  }, [diff]);
  return (
    <>
      {FILE_DEEDS[access]} <Path path={path} /> <Counts {...counts} />
    </>
  );
}

type AnswersProps = Required<Pick<ApprovalProps, "question" | "onAnswer" | "scopes">> & { off: boolean };

function Answers({ question, off, onAnswer, scopes }: AnswersProps) {
  const { options, always, agentRemembers } = question;
  const canHold = ({ kind, optionId }: PermissionOption) =>
    isAlways(kind) && always != null && "holds" in always && agentRemembers?.includes(optionId) !== true;
  if (options.length === 0) {
    return (
      <button type="button" class="button" disabled={off} aria-keyshortcuts="1" onClick={() => onAnswer(undefined)}>
        Cancel: the agent offers no answers
      </button>
    );
  }
  return (
    <>
      {options.map((option, at) => (
        <span key={option.optionId} class="th-answer">
          <button
            type="button"
            class={`button ${looks(option.kind)}`}
            disabled={off}
            aria-keyshortcuts={at < 9 ? String(at + 1) : undefined}
            onClick={() => onAnswer(option)}
          >
            <Icon name={iconOf(option.kind)} />
            <Label option={option} always={always} />
            {agentRemembers?.includes(option.optionId) && <span class="th-tag">the agent may remember this answer itself</span>}
          </button>
          {!off && scopes.length > 0 && canHold(option) && (
            <Longer option={option} scopes={scopes} onPick={(scope) => onAnswer(option, scope)} />
          )}
        </span>
      ))}
    </>
  );
}

/** The other durations of an answer that is remembered. */
function Longer({ option, scopes, onPick }: { option: PermissionOption; scopes: readonly Scope[]; onPick: (scope: Scope) => void }) {
  const verb = option.kind === "allow_always" ? "Allow" : "Reject";
  const items = scopes.map((scope) => ({ label: `${verb} ${scopeWords(scope)}`, icon: iconOf(option.kind), run: () => onPick(scope) }));
  return (
    <span class="th-longer">
      <Menu label={`${verb} for longer`} items={items}>
        <Icon name="down" />
      </Menu>
    </span>
  );
}

/** The effect of the answer, followed by the agent's name for it. */
function Label({ option, always }: { option: PermissionOption; always: Always | null | undefined }) {
  const name = nameBeside(option);
  const { cwd } = useThread();
  const [full, shown] = [effectOf(option.kind, always), effectOf(option.kind, always, cwd)];
  return (
    <span title={full === shown ? undefined : full}>
      {shown}
      {name !== undefined && <span class="th-agents-name"> “{visibleLine(name)}”</span>}
    </span>
  );
}

/** Only a single approval gets the primary style. */
function looks(kind: string): string {
  if (kind === "allow_once") return "primary";
  return iconOf(kind) === "cross" ? "danger" : "";
}

const OUTCOMES = {
  accepted: { said: "Allowed", icon: "check" },
  declined: { said: "Rejected", icon: "cross" },
  cancelled: { said: "Cancelled", icon: "cross" },
  void: { said: "No longer needed", icon: "info" },
} as const;

/** The outcomes of a form, which allows nothing. */
const FORM_OUTCOMES = { ...OUTCOMES, accepted: { said: "Answered", icon: "check" }, declined: { said: "Declined", icon: "cross" } } as const;

interface SettledProps {
  title: string;
  /** Whether the question was a form. */
  form?: boolean;
  resolved: Resolved;
  options?: readonly PermissionOption[];
  /** For how long acpd remembers the answer. */
  held?: string | undefined;
}

/** An answered question: the answer and its author. */
export function Settled({ title, form = false, resolved, options = [], held }: SettledProps) {
  const { said, icon } = (form ? FORM_OUTCOMES : OUTCOMES)[resolved.outcome] ?? OUTCOMES.void;
  const option = options.find((one) => one.optionId === resolved.optionId);
  const sent = options.find((one) => one.optionId === resolved.sentOptionId);
  const remembered = isRemembered(resolved, option?.kind ?? resolved.optionKind);
  return (
    <p class="th-settled" data-outcome={resolved.outcome}>
      <Icon name={icon} />
      <span class="th-settled-what">
        <strong>{said}</strong> {(held ?? remembered) && <span class="th-tag">{held ?? "remembered"}</span>} {visibleLine(title)}
      </span>
      <span class="th-quiet">
        {option !== undefined && `“${visibleLine(option.name)}” `}
        {resolved.outcome === "void" ? visibleLine(resolved.reason ?? "") : `by ${who(resolved.by)}`}
        {sent !== undefined && `; acpd remembers it, the agent was sent “${visibleLine(sent.name)}”`}
      </span>
    </p>
  );
}
