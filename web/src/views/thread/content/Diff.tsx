// File changes in one or two columns, by the user's setting. Large changes are cut until the user expands them.

import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";

import { type DiffLine, diffOfTexts, type FileDiff, type Hunk, parseUnified, sideBySide } from "../../../text/diff.ts";
import { visibleLine, visibleOrder } from "../../../text/bidi-guard.ts";
import { type DiffStyle, useThread } from "./context.ts";
import { CopyButton } from "./CopyButton.tsx";
import { count } from "../../../text/format.ts";
import { Path } from "./Path.tsx";

/** Number of initially rendered rows, and of each further batch. */
const ROWS = 400;
/** Maximum length of a rendered line, in characters. */
const LINE_LENGTH = 4_000;

export interface UnifiedProps {
  diff: string;
  /** The file's path, if known from elsewhere: a diff of one file may contain a different name. */
  path?: string | undefined;
  full?: boolean;
  /** Whether the file's name is already shown above. */
  named?: boolean;
}

/** A unified diff, of one file or of several. */
export function UnifiedDiff({ diff, path, full = false, named = false }: UnifiedProps) {
  const files = useMemo(() => parseUnified(diff), [diff]);
  return <Diffs files={files} path={path} source={diff} full={full} named={named && files.length === 1} />;
}

/** A diff of a file's text before and after. */
export function TextDiff(props: { path: string; before: string | null | undefined; after: string; full?: boolean }) {
  const { path, before, after, full = false } = props;
  const file = useMemo(() => diffOfTexts(path, before, after), [path, before, after]);
  return <Diffs files={[file]} path={path} source={after} full={full} />;
}

interface DiffsProps {
  files: readonly FileDiff[];
  path: string | undefined;
  /** The text to copy. */
  source: string;
  /** Whether to render everything, as in approvals. */
  full: boolean;
  named?: boolean;
}

function Diffs({ files, path, source, full, named = false }: DiffsProps) {
  const given = files.length === 1 ? path : undefined;
  return (
    <div class="th-diffs">
      {files.map((file, at) => (
        <FileDiffView key={at} file={file} path={given ?? file.path ?? path} source={source} full={full} named={named} />
      ))}
    </div>
  );
}

interface FileDiffProps {
  file: FileDiff;
  path: string | undefined;
  source: string;
  full: boolean;
  named: boolean;
}

function FileDiffView({ file, path, source, full, named }: FileDiffProps) {
  const { diffStyle } = useThread();
  const [limit, setLimit] = useState(full ? Number.POSITIVE_INFINITY : ROWS);
  const rows = file.hunks.reduce((sum, hunk) => sum + hunk.lines.length, 0);
  let left = limit;
  return (
    <section class="th-diff" aria-label={`Changes of ${visibleLine(path ?? "a file")}`}>
      <header class="th-diff-head">
        {path !== undefined && !named && <Path path={path} />}
        {file.state !== "changed" && !named && <span class="th-tag">{file.state}</span>}
        <Counts added={file.added} removed={file.removed} />
        <span class="th-space" />
        <span class="th-diff-tools">
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
      {file.hunks.length > 0 && (
        <div class="th-diff-scroll" tabIndex={0} role="region" aria-label="Changed lines">
          <table class={`th-diff-lines th-diff-${diffStyle}`}>
            {diffStyle === "split" && (
              <colgroup>
                <col class="th-number-column" />
                <col />
                <col class="th-number-column" />
                <col />
              </colgroup>
            )}
            <thead class="sr-only">
              <tr>
                {diffStyle === "unified" ? (
                  <>
                    <th>Old line</th>
                    <th>New line</th>
                    <th>Text</th>
                  </>
                ) : (
                  <>
                    <th>Old line</th>
                    <th>Old text</th>
                    <th>New line</th>
                    <th>New text</th>
                  </>
                )}
              </tr>
            </thead>
            {file.hunks.map((hunk, at) => {
              if (left <= 0) return null;
              const shown = hunk.lines.length > left ? { ...hunk, lines: hunk.lines.slice(0, left) } : hunk;
              left -= shown.lines.length;
              return <HunkRows key={at} hunk={shown} first={at === 0} split={diffStyle === "split"} full={full} />;
            })}
          </table>
        </div>
      )}
      {file.hunks.length === 0 && file.notes.length === 0 && <p class="th-quiet th-no-output">No lines changed</p>}
      {rows > limit && (
        <p class="th-more">
          <span>{count(rows - limit)} more lines</span>
          <button type="button" class="button quiet" onClick={() => setLimit(limit + ROWS * 5)}>
            Show more
          </button>
        </p>
      )}
    </section>
  );
}

/** The numbers of added and removed lines. */
export function Counts({ added, removed }: { added: number; removed: number }) {
  return (
    <span class="th-counts" title={`${added} lines added, ${removed} removed`}>
      {added > 0 && <span class="th-added">+{count(added)}</span>}
      {removed > 0 && <span class="th-removed">−{count(removed)}</span>}
    </span>
  );
}

function StyleSwitch() {
  const { diffStyle, setDiffStyle } = useThread();
  const style = (name: DiffStyle, label: string) => (
    <button type="button" class="th-switch-side" aria-pressed={diffStyle === name} onClick={() => setDiffStyle(name)}>
      {label}
    </button>
  );
  return (
    <span class="th-switch" role="group" aria-label="How changes are shown">
      {style("unified", "Unified")}
      {style("split", "Split")}
    </span>
  );
}

function HunkRows({ hunk, first, split, full }: { hunk: Hunk; first: boolean; split: boolean; full: boolean }) {
  return (
    <tbody>
      {(!first || hunk.heading !== "") && (
        <tr class="th-hunk-head">
          <td colSpan={split ? 4 : 3}>{hunk.heading === "" ? "⋯" : visibleOrder(hunk.heading)}</td>
        </tr>
      )}
      {split
        ? sideBySide(hunk).map(({ left, right }, at) => (
            <tr key={at}>
              <Side line={left} number={left?.before} full={full} />
              <Side line={right} number={right?.after} full={full} right />
            </tr>
          ))
        : hunk.lines.map((line, at) => (
            <tr key={at} class={`th-line-${line.kind}`}>
              <td class="th-number">{line.before}</td>
              <td class="th-number">{line.after}</td>
              <td class="th-text" data-sign={SIGNS[line.kind]}>
                <span class="sr-only">{SAID[line.kind]}</span>
                <LineText line={line} full={full} />
              </td>
            </tr>
          ))}
    </tbody>
  );
}

// The style sheet renders the signs, so that copied lines do not contain them.
const SIGNS = { add: "+", del: "−", same: "", note: "" } as const;
const SAID = { add: "added: ", del: "removed: ", same: "", note: "" } as const;

function Side(props: { line: DiffLine | undefined; number: number | undefined; full: boolean; right?: boolean }) {
  const { line, number, full } = props;
  const side = props.right ? "th-right" : "";
  if (line === undefined) return <td class={`th-nothing ${side}`} colSpan={2} />;
  return (
    <>
      <td class={`th-number th-line-${line.kind} ${side}`}>{number}</td>
      <td class={`th-text th-line-${line.kind}`} data-sign={SIGNS[line.kind]}>
        <span class="sr-only">{SAID[line.kind]}</span>
        <LineText line={line} full={full} />
      </td>
    </>
  );
}

function LineText({ line, full }: { line: DiffLine; full: boolean }): ComponentChildren {
  const { text, changed } = line;
  if (text.length > LINE_LENGTH && !full) {
    return `${visibleOrder(text.slice(0, LINE_LENGTH))} … ${count(text.length - LINE_LENGTH)} more characters`;
  }
  if (changed === undefined || changed[0] === changed[1]) return visibleOrder(text);
  return (
    <>
      {visibleOrder(text.slice(0, changed[0]))}
      <span class="th-changed">{visibleOrder(text.slice(...changed))}</span>
      {visibleOrder(text.slice(changed[1]))}
    </>
  );
}
