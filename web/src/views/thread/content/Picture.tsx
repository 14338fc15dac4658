// A picture in a message. A click enlarges it, and there it can be saved.

import { useState } from "preact/hooks";

import { saveFile } from "../../../connection/download.ts";
import { visibleLine } from "../../../text/bidi-guard.ts";
import { Dialog } from "../../parts/Dialog.tsx";
import { Icon } from "./Icon.tsx";

export interface PictureProps {
  /** A MIME type that browsers render as an image. */
  type: string;
  /** The picture in base64. */
  data: string;
  name: string;
}

export function Picture({ type, data, name: given }: PictureProps) {
  const [open, setOpen] = useState(false);
  // Without a size, a conversation of pictures looks short until they are decoded, and older turns are loaded to fill the window.
  const [loading, setLoading] = useState(true);
  const loaded = () => setLoading(false);
  const name = visibleLine(given);
  const source = `data:${type};base64,${data}`;
  return (
    <>
      <button type="button" class="th-picture-open" aria-haspopup="dialog" aria-label={`Enlarge: ${name}`} onClick={() => setOpen(true)}>
        <img class={loading ? "th-picture is-loading" : "th-picture"} src={source} alt={name} loading="lazy" onLoad={loaded} onError={loaded} />
      </button>
      {open && (
        <Dialog title={name} class="th-picture-dialog" onClose={() => setOpen(false)}>
          <img class="th-picture-large" src={source} alt={name} />
          <div class="dialog-foot">
            <button type="button" class="button" onClick={() => save(type, data, given)}>
              <Icon name="down" />
              Save
            </button>
          </div>
        </Dialog>
      )}
    </>
  );
}

function save(type: string, data: string, name: string): void {
  const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
  const ending = type.replace(/^image\//, "").replace(/\+.*$/, "").replace("jpeg", "jpg");
  const base = name.split("/").at(-1)?.replace(/[^\w.-]+/g, "_").replace(/\.\w+$/, "") || "picture";
  saveFile(new Blob([bytes], { type }), `${base}.${ending}`);
}
