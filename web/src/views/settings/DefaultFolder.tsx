/** The folder that the form for a new thread begins with, in this browser. */

import { useState } from "preact/hooks";

import { defaultFolder } from "../../app/agents.ts";
import { listFolders } from "../../app/folders.ts";
import { sentence } from "../../connection/connection.ts";
import { visibleLine } from "../../text/bidi-guard.ts";

export function DefaultFolder() {
  const [typed, setTyped] = useState(defaultFolder.value);
  const [refusal, setRefusal] = useState<string>();
  const save = async () => {
    const path = typed.trim();
    setRefusal(undefined);
    if (path === "") {
      defaultFolder.value = "";
      return;
    }
    if (!/^(\/|~(\/|$))/.test(path)) {
      setRefusal("Enter an absolute path, like /home/ann/project or ~/project.");
      return;
    }
    try {
      const found = (await listFolders(path)).path;
      defaultFolder.value = found;
      setTyped(found);
    } catch (why) {
      setRefusal(sentence(why));
    }
  };
  return (
    <form
      class="setting"
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <h3>
        <label for="default-folder">Folder of new threads</label>
      </h3>
      <div class="setting-row">
        <input
          id="default-folder"
          class="field"
          value={typed}
          placeholder="The last one used"
          spellcheck={false}
          autocomplete="off"
          autocapitalize="off"
          aria-describedby="default-folder-says"
          onInput={(event) => setTyped(event.currentTarget.value)}
        />
        <button type="submit" class="button" disabled={typed.trim() === defaultFolder.value}>
          Save
        </button>
      </div>
      <p id="default-folder-says" class={refusal === undefined ? "hint" : "error-text"} role={refusal === undefined ? undefined : "alert"}>
        {refusal ??
          (defaultFolder.value === ""
            ? "New threads begin in the folder that was used last."
            : `New threads begin in ${visibleLine(defaultFolder.value)}.`)}
      </p>
    </form>
  );
}
