// A file path: full in the tooltip, relative to the thread's directory in the text, with invisible characters escaped. A brief one is
// only the name, beside the whole path.

import { visibleLine } from "../../../text/bidi-guard.ts";
import { useThread } from "./context.ts";
import { shownPath } from "../../../text/format.ts";

interface PathProps {
  path: string;
  line?: number | undefined;
  brief?: boolean;
}

export function Path({ path, line, brief = false }: PathProps) {
  const { cwd } = useThread();
  const shown = shownPath(path, cwd);
  const cut = shown.lastIndexOf("/") + 1;
  return (
    <bdi class="th-path mono" dir="ltr" title={visibleLine(path)}>
      {!brief && <span class="th-path-folder">{shown.slice(0, cut)}</span>}
      <span class="th-path-name">{shown.slice(cut)}</span>
      {line !== undefined && <span class="th-path-line">:{line}</span>}
    </bdi>
  );
}
