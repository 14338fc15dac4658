/**
 * The props of a thread pane's parts: `Conversation`, `PlanCard`, `Queue`, `Approvals` and `Composer` each take these. The
 * pane stacks them in this order (the conversation scrolls) and owns none of their content.
 */

import type { Role } from "@acpd/client";

import type { ThreadActions } from "../state/actions.ts";
import type { Row, ThreadState } from "../state/thread.ts";

export interface ThreadViewProps {
  readonly thread: ThreadState;
  /** The rows of the conversation, in order; unchanged rows are the same objects as before. */
  readonly rows: readonly Row[];
  readonly actions: ThreadActions;
  /** The user's role. Observers see no composer; approvers and above see the buttons of questions. */
  readonly role: Role;
  /** Whether there is a connection: without one, nothing can be sent. */
  readonly online: boolean;
  /** The key of the row to show, for a search result. For `Virtual`. */
  readonly target?: string;
  /** Whether the conversation opens at its beginning. For `Virtual`. */
  readonly fromStart?: boolean;
  /** Increases when the user has sent a message: the list scrolls to its end. For `Virtual`. */
  readonly toEnd?: number;
}
