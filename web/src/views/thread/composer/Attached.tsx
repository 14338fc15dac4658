// The attachments of a message, each with a button to remove it, and files on their way with a button to cancel. A file that waits for its
// thread is one of the former.

import { bytes } from "../../../text/format.ts";
import { visibleLine } from "../../../text/bidi-guard.ts";
import { Icon } from "../content/Icon.tsx";
import type { Arriving, Attachment } from "./attachments.ts";

interface AttachedProps {
  attached: readonly Attachment[];
  arriving: readonly Arriving[];
  later: readonly File[];
  off: boolean;
  onRemove: (attachment: Attachment | File) => void;
}

export function Attached({ attached, arriving, later, off, onRemove }: AttachedProps) {
  if (attached.length + arriving.length + later.length === 0) return null;
  return (
    <ul class="th-attached" role="list" aria-label="Attached">
      {attached.map((one, at) => (
        <li key={at} class="th-attached-file">
          {one.block.type === "image" ? (
            <img class="th-attached-picture" src={`data:${String(one.block.mimeType)};base64,${String(one.block.data)}`} alt="" />
          ) : (
            <Icon name="file" />
          )}
          <span class="th-attached-words">
            <span class="truncate">{visibleLine(one.name)}</span>
            <span class="th-quiet">
              {one.shrunk !== undefined && <span title="Resized to fit into a message">{one.shrunk}, </span>}
              {bytes(one.fileSize ?? one.size)}
              {one.block.type === "resource_link" && <span title="The agent reads it from the daemon’s host">, as a file</span>}
            </span>
          </span>
          <button type="button" class="th-remove" aria-label={`Remove ${visibleLine(one.name)}`} disabled={off} onClick={() => onRemove(one)}>
            <Icon name="cross" />
          </button>
        </li>
      ))}
      {later.map((file, at) => (
        <li key={`later ${at}`} class="th-attached-file">
          <Icon name="file" />
          <span class="th-attached-words">
            <span class="truncate">{visibleLine(file.name || "file")}</span>
            <span class="th-quiet">{bytes(file.size)}, as a file</span>
          </span>
          <button type="button" class="th-remove" aria-label={`Remove ${visibleLine(file.name || "file")}`} disabled={off} onClick={() => onRemove(file)}>
            <Icon name="cross" />
          </button>
        </li>
      ))}
      {arriving.map((one, at) => (
        <li key={`arriving ${at}`} class="th-attached-file">
          <Icon name="file" />
          <span class="th-attached-words">
            <span class="truncate">{visibleLine(one.name)}</span>
            <progress class="th-arriving" aria-label={`Sending ${visibleLine(one.name)}`} max={one.fileSize} value={Math.min(one.sent, one.fileSize)} />
          </span>
          <button type="button" class="th-remove" aria-label={`Cancel ${visibleLine(one.name)}`} onClick={one.cancel}>
            <Icon name="cross" />
          </button>
        </li>
      ))}
    </ul>
  );
}
