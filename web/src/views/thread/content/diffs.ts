// Diffs. Their views are loaded with the first one: they are folded until the user opens them.

import { lazy } from "../../parts/lazy.tsx";
import type { TextDiffProps, UnifiedProps } from "./Diff.tsx";

export const UnifiedDiff = lazy<UnifiedProps>(async () => ({ default: (await import("./Diff.tsx")).UnifiedDiff }));
export const TextDiff = lazy<TextDiffProps>(async () => ({ default: (await import("./Diff.tsx")).TextDiff }));
