// The views of one thread. The first three are parts of its pane; the others are their components, each a function of its
// props. The pane loads the questions and the queue when there are any.

import "./content/shared.css";
import "./items/messages.css";
import "./items/turn-foot.css";
import "./items/cards.css";
import "./composer/composer.css";
import "./composer/options.css";

export { Composer, type ComposerProps } from "./composer/Composer.tsx";
export { Conversation } from "./Conversation.tsx";
export { PlanCard } from "./items/PlanCard.tsx";

export { type PromptCapabilities, promptCapabilitiesOf } from "../../state/acp.ts";
export { ComposerBox, type ComposerBoxProps, type Manner } from "./composer/ComposerBox.tsx";
export { CurrentThread, type ThreadContext } from "./content/context.ts";
export { CopyButton } from "./content/CopyButton.tsx";
export { TextDiff, UnifiedDiff } from "./content/diffs.ts";
export { ItemView as Item, type ItemProps } from "./items/ItemView.tsx";
export { Markdown } from "./content/Markdown.tsx";
export { Output } from "./content/Output.tsx";
export { NoticeView, TurnEnd } from "./content/Notice.tsx";
export { ConfigOptions, ModeSelect } from "./composer/Options.tsx";
export { Plan, PlanView } from "./content/Plan.tsx";
export { diffStyle, type SendKey, sendKey } from "./content/settings.ts";
export { UsageMeter } from "./composer/UsageMeter.tsx";
