import { expect, test } from "vitest";

import styles from "../../src/views/parts/folder-dialog.css?raw";
import dialog from "../../src/views/parts/FolderDialog.tsx?raw";

test("the dialog of folders brings its styles along: more than one view opens it", () => {
  const own = [...dialog.matchAll(/class="[^"]*\b(folders-[a-z]+)/g)].map(([, name]) => name);
  expect(own.length).toBeGreaterThan(3);
  for (const name of own) {
    expect(styles, name).toContain(`.${name}`);
  }
  expect(dialog).toContain('import "./folder-dialog.css";');
});
