// The line over a message that is edited to be sent in place of an earlier one: what sending changes, and the ways out.

import type { Edited } from "../../../state/prompts.ts";
import { Icon } from "../content/Icon.tsx";

export interface EditingProps {
  readonly edited: Edited;
  /** Moves the message to a fork that ends before the earlier one; absent if there can be none. */
  readonly onFork: (() => void) | undefined;
  /** Loads the earlier message; absent if it is loaded, or cannot be now. */
  readonly onLoad: (() => void) | undefined;
  readonly onLeave: () => void;
  /** Whether the message is on its way. */
  readonly off: boolean;
}

export function Editing({ edited, onFork, onLoad, onLeave, off }: EditingProps) {
  return (
    <div class="th-editing" role="group" aria-label="Editing an earlier message">
      <Icon name="edit" />
      <p class="th-editing-words">
        <strong>{edited.gone ? "The earlier message is gone" : "Editing an earlier message"}</strong> {consequence(edited)}
      </p>
      <div class="th-editing-acts">
        {onFork !== undefined && (
          <button
            type="button"
            class="button quiet"
            title="Keep this thread as it is, and send in a new one that ends before this message"
            disabled={off}
            onClick={onFork}
          >
            Edit in a fork
          </button>
        )}
        {onLoad !== undefined && (
          <button type="button" class="button quiet" onClick={onLoad}>
            Load it
          </button>
        )}
        <button type="button" class="button quiet" title="Cancel (Esc)" disabled={off} onClick={onLeave}>
          Cancel
        </button>
      </div>
    </div>
  );
}

function consequence({ gone, later }: Edited): string {
  if (gone) return "It was removed from the conversation. Sending adds a new message.";
  return `Sending removes ${removed(later)} from the conversation. Files do not change.`;
}

function removed(later: number | undefined): string {
  if (later === undefined) return "this message and everything after it";
  return later === 0 ? "this message and its answer" : `this message, its answer and ${later === 1 ? "the turn" : `${later} turns`} after it`;
}
