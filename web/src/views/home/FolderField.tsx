/** The field for the folder of a new thread, with recent folders. */

interface Props {
  value: string;
  /** Recent folders. */
  places: readonly string[];
  /** Why the folder cannot be used. */
  wrong: string | undefined;
  onChange: (folder: string) => void;
}

export function FolderField({ value, places, wrong, onChange }: Props) {
  return (
    <div>
      <label class="label" for="folder">
        Folder
      </label>
      <input
        id="folder"
        class="field mono"
        list="folders"
        placeholder="/home/ann/project"
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        required
        value={value}
        aria-invalid={wrong !== undefined}
        aria-describedby={wrong === undefined ? undefined : "folder-wrong"}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
      <datalist id="folders">
        {places.map((place) => (
          <option key={place} value={place} />
        ))}
      </datalist>
      {wrong !== undefined && (
        <p class="error-text field-wrong" id="folder-wrong" role="alert">
          {wrong}
        </p>
      )}
    </div>
  );
}
