// The views of one thread. The first four are the parts of its pane; the others are their components, each a function
// of its props.

import "./shared.css";
import "./messages.css";
import "./cards.css";
import "./diff.css";
import "./terminal.css";
import "./questions.css";
import "./composer.css";

export { Approvals } from "./Approvals.tsx";
export { Composer, type ComposerProps } from "./Composer.tsx";
export { Conversation } from "./Conversation.tsx";
export { PlanCard } from "./PlanCard.tsx";

export { type PromptCapabilities, promptCapabilitiesOf } from "./acp.ts";
export { Approval, type ApprovalProps, Settled } from "./Approval.tsx";
export { ComposerBox, type ComposerBoxProps, type Manner, type SendKey } from "./ComposerBox.tsx";
export { Surroundings, type ThreadContext } from "./context.ts";
export { CopyButton, copyText } from "./CopyButton.tsx";
export { TextDiff, UnifiedDiff } from "./Diff.tsx";
export { Elicitation, type ElicitationProps } from "./Elicitation.tsx";
export { ItemView as Item, type ItemProps } from "./ItemView.tsx";
export { Markdown } from "./Markdown.tsx";
export { NoticeView, TurnEnd, who } from "./Notice.tsx";
export { ConfigOptions, ModeSelect } from "./Options.tsx";
export { Plan } from "./Plan.tsx";
export { diffStyle, sendKey } from "./settings.ts";
export { Output } from "./Terminal.tsx";
export { UsageMeter } from "./UsageMeter.tsx";
export { ViewSettings } from "./ViewSettings.tsx";
