/**
 * What the pane of a thread hands to its parts: `views/thread/index.ts` exports `Conversation`, `Composer`, `Approvals`
 * and `PlanCard`, each of which takes these. The pane stacks them (conversation, which scrolls; plan; approvals;
 * composer) and owns nothing of what they show.
 */

import type { Role } from "@acpd/client";

import type { ThreadActions } from "../state/actions.ts";
import type { Row, ThreadState } from "../state/thread.ts";

export interface ThreadViewProps {
  readonly thread: ThreadState;
  /** The lines of the conversation, in order; rows that did not change are the same objects as before. */
  readonly rows: readonly Row[];
  readonly actions: ThreadActions;
  /** What this person may do. Observers see no composer; approvers and above see the buttons of questions. */
  readonly role: Role;
  /** Whether there is a connection: without one, nothing can be sent. */
  readonly online: boolean;
  /** The row to show, by its key: where a search led. For `Virtual`. */
  readonly target?: string;
  /** Counts up when the end is to be shown: the person has sent something. For `Virtual`. */
  readonly toEnd?: number;
}
