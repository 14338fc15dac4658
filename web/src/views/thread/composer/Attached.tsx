// The attachments of a message, each with a button to remove it.

import { bytes } from "../../../text/format.ts";
import { visibleLine } from "../../../text/bidi-guard.ts";
import { Icon } from "../content/Icon.tsx";
import type { Attachment } from "./attachments.ts";

interface AttachedProps {
  attached: readonly Attachment[];
  off: boolean;
  onRemove: (attachment: Attachment) => void;
}

export function Attached({ attached, off, onRemove }: AttachedProps) {
  if (attached.length === 0) return null;
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
              {bytes(one.size)}
            </span>
          </span>
          <button type="button" class="th-remove" aria-label={`Remove ${visibleLine(one.name)}`} disabled={off} onClick={() => onRemove(one)}>
            <Icon name="cross" />
          </button>
        </li>
      ))}
    </ul>
  );
}
