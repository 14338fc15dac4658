/** The list of global shortcuts. */

import { over } from "../../app/layout.ts";
import { SHORTCUTS } from "../../app/shortcuts.ts";
import { Dialog } from "../parts/Dialog.tsx";

import "./settings.css";

export function Shortcuts() {
  return (
    <Dialog title="Keyboard shortcuts" onClose={() => (over.value = undefined)}>
      <dl class="keys">
        {SHORTCUTS.map(({ keys, does }) => (
          <div key={does}>
            <dt>
              {keys.map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
      <p class="hint">In lists, the arrow keys go from row to row. In a conversation, Page Up, Home and End scroll.</p>
    </Dialog>
  );
}
