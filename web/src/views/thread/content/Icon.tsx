// The icons of the thread's views: smaller than those of the shell, and of one class for their styles.

import { Icon as PageIcon, type IconName } from "../../parts/Icon.tsx";

export type { IconName };

export function Icon({ name }: { name: IconName }) {
  return <PageIcon name={name} size={14} class="th-icon" />;
}

const KINDS = new Set<string>(["read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode"]);

/** The icon of ACP's `ToolKind`. */
export function kindIcon(kind: string | null | undefined): IconName {
  return kind != null && KINDS.has(kind) ? (kind as IconName) : "other";
}
