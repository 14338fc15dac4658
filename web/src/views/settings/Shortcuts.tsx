/** The list of keyboard shortcuts. */

import { over } from "../../app/layout.ts";
import { Dialog } from "../parts/Dialog.tsx";
import { SHORTCUTS } from "./shortcut-list.ts";

import "./settings.css";

export default function Shortcuts() {
  return (
    <Dialog title="Keyboard shortcuts" onClose={() => (over.value = undefined)}>
      {SHORTCUTS.map(({ title, shortcuts }) => (
        <section key={title} class="keys-part">
          <h3>{title}</h3>
          <dl class="keys">
            {shortcuts.map(({ keys, does }) => (
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
        </section>
      ))}
    </Dialog>
  );
}
