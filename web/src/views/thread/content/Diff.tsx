// File changes in one or two columns, by the user's setting. Large changes are cut until the user expands them.

import type { RefObject } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";

import { diffOfTexts, type FileDiff, parseUnified } from "../../../text/diff.ts";
import { visibleOrder } from "../../../text/bidi-guard.ts";
import { lineEnds } from "../../../text/line-ends.ts";
import { type DiffStyle, useThread } from "./context.ts";
import { CopyButton } from "./CopyButton.tsx";
import { Counts } from "./Counts.tsx";
import { useColours } from "./diff-colours.ts";
import { beginsChange, DiffTable } from "./DiffRows.tsx";
import { Icon } from "./Icon.tsx";
import { count, pathOfDiff, shownPath } from "../../../text/format.ts";
import { Path } from "./Path.tsx";

import "./diff.css";

/** Number of initially rendered rows, and of each further batch. */
const ROWS = 400;

interface LookProps {
  /** Whether to render everything, as in approvals. */
  full?: boolean;
  /** Whether the file's path is already shown above. The head then has only the name, for readers who have scrolled past it. */
  named?: boolean;
  /** Whether the file's path and its numbers are already shown in a head that stays in sight. */
  headed?: boolean;
  /** Whether the numbers of changed lines are already shown above. */
  counted?: boolean;
}

export interface UnifiedProps extends LookProps {
  diff: string;
  /** The file's path, if known from elsewhere: a diff of one file may contain a different name. */
  path?: string | undefined;
  /** The full paths of files that the diff may be about. */
  paths?: readonly string[];
}

/** A unified diff, of one file or of several. */
export function UnifiedDiff({ diff, path, paths, named = false, headed = false, ...look }: UnifiedProps) {
  const { cwd } = useThread();
  const files = useMemo(() => {
    const full = (path: string | undefined) => path && pathOfDiff(path, cwd, paths);
    return parseUnified(diff).map((file) => ({ ...file, path: full(file.path), oldPath: full(file.oldPath) }));
  }, [diff, cwd, paths]);
  return <Diffs files={files} path={path} source={diff} named={named && files.length === 1} headed={headed && files.length === 1} {...look} />;
}

export interface TextDiffProps extends LookProps {
  path: string;
  before: string | null | undefined;
  after: string;
}

/** A diff of a file's text before and after. */
export function TextDiff({ path, before, after, ...look }: TextDiffProps) {
  const file = useMemo(() => diffOfTexts(path, before, after), [path, before, after]);
  return <Diffs files={[file]} path={path} source={after} {...look} />;
}

interface DiffsProps extends LookProps {
  files: readonly FileDiff[];
  path: string | undefined;
  /** The text to copy. */
  source: string;
}

function Diffs({ files, path, ...rest }: DiffsProps) {
  const given = files.length === 1 ? path : undefined;
  return (
    <div class="th-diffs">
      {files.map((file, at) => (
        <FileDiffView key={at} file={file} path={given ?? file.path ?? path} {...rest} />
      ))}
    </div>
  );
}

type FileDiffProps = Omit<DiffsProps, "files"> & { file: FileDiff };

function FileDiffView({ file, path, source, full = false, named = false, headed = false, counted = false }: FileDiffProps) {
  const { cwd, diffStyle } = useThread();
  const [limit, setLimit] = useState(full ? Number.POSITIVE_INFINITY : ROWS);
  const colours = useColours(file, path);
  const ends = useMemo(() => lineEnds(file), [file]);
  const place = useRef<HTMLElement>(null);
  const rows = file.hunks.reduce((sum, hunk) => sum + hunk.lines.length, 0);
  const changes = file.hunks.reduce((sum, hunk) => sum + hunk.lines.filter((_, at) => beginsChange(hunk, at)).length, 0);
  return (
    <section class="th-diff" ref={place} role="group" aria-label={`Changes of ${path === undefined ? "a file" : shownPath(path, cwd)}`}>
      <header class="th-diff-head">
        {path !== undefined && !headed && <Path path={path} brief={named} />}
        {file.state !== "changed" && !named && <span class="th-tag">{file.state}</span>}
        {!counted && !headed && <Counts added={file.added} removed={file.removed} />}
        <span class="th-space" />
        <span class="th-diff-tools">
          {changes > 1 && <Steps place={place} />}
          <StyleSwitch />
          <CopyButton text={source} what="diff" />
        </span>
      </header>
      {file.state === "moved" && file.oldPath !== undefined && (
        <p class="th-diff-note">
          was <Path path={file.oldPath} />
        </p>
      )}
      {file.notes.length > 0 && <pre class="th-diff-note th-pre">{visibleOrder(file.notes.join("\n"))}</pre>}
      {ends.notes.map((note) => (
        <p key={note} class="th-diff-note">
          {note}
        </p>
      ))}
      {file.hunks.length > 0 && (
        <DiffTable hunks={file.hunks} style={diffStyle} limit={limit} full={full} marked={ends.marked} colours={colours} />
      )}
      {file.hunks.length === 0 && file.notes.length === 0 && <p class="th-quiet th-no-output">No lines changed</p>}
      {rows > limit && (
        <p class="th-more">
          <span>{count(rows - limit)} more lines</span>
          <button type="button" class="button quiet" data-grows onClick={() => setLimit(limit + ROWS * 5)}>
            Show more
          </button>
        </p>
      )}
    </section>
  );
}

/** Buttons that scroll to the previous and the next change. */
function Steps({ place }: { place: RefObject<HTMLElement | null> }) {
  const step = (by: 1 | -1) => {
    const changes = [...(place.current?.querySelectorAll("[data-change]") ?? [])];
    const edge = place.current?.querySelector(".th-diff-head")?.getBoundingClientRect().bottom ?? 0;
    // The current change is just below the head.
    const away = (element: Element) => (element.getBoundingClientRect().top - edge) * by;
    const next = by === 1 ? changes.find((one) => away(one) > SNAP) : changes.findLast((one) => away(one) > SNAP);
    next?.scrollIntoView({ block: "start" });
  };
  return (
    <>
      <button type="button" class="th-copy th-step-up" aria-label="Previous change" title="Previous change" onClick={() => step(-1)}>
        <Icon name="down" />
      </button>
      <button type="button" class="th-copy" aria-label="Next change" title="Next change" onClick={() => step(1)}>
        <Icon name="down" />
      </button>
    </>
  );
}

/** Distance from the head within which a change is the current one, in pixels; the style sheet has the same margin. */
const SNAP = 10;

function StyleSwitch() {
  const { diffStyle, setDiffStyle } = useThread();
  const style = (name: DiffStyle, label: string) => (
    <button type="button" class="th-switch-side" aria-pressed={diffStyle === name} onClick={() => setDiffStyle(name)}>
      {label}
    </button>
  );
  return (
    <span class="th-switch" role="group" aria-label="Diff view">
      {style("unified", "Unified")}
      {style("split", "Split")}
    </span>
  );
}
