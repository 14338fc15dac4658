/** The list of keyboard shortcuts. */

import { over } from "../../app/layout.ts";
import { Dialog } from "../parts/Dialog.tsx";
import { sendKey } from "../thread/content/settings.ts";
import { shortcuts } from "./shortcut-list.ts";

import "./settings.css";

export default function Shortcuts() {
  return (
    <Dialog title="Keyboard shortcuts" class="keys-dialog" onClose={() => (over.value = undefined)}>
      <div class="keys-parts">
        {shortcuts(sendKey.value).map((group) => (
          <section key={group.title} class="keys-part">
            <h3>{group.title}</h3>
            <dl class="keys">
              {group.shortcuts.map(({ keys, does }) => (
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
      </div>
    </Dialog>
  );
}
