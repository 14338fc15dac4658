/** Pure: permission policies as they are written, and in which order they count. `docs/policy.md` says what they mean. */

export type Effect = "deny" | "ask" | "allow";
export const EFFECTS: readonly Effect[] = ["deny", "ask", "allow"];

/** What the presets do. Each has a default of its own. */
export const PRESETS: Record<string, { about: string; rest: Effect }> = {
  standard: { about: "reading in the thread’s directory and thinking are allowed", rest: "ask" },
  restricted: {
    about: "reading in the thread’s directory and thinking are allowed; changes there and commands are asked",
    rest: "deny",
  },
  readonly: {
    about: "reading in the thread’s directory and thinking are allowed; changes, commands and MCP tools are denied",
    rest: "deny",
  },
  permissive: { about: "it has no rules", rest: "allow" },
};

/** Their names, in the order in which they are offered. */
export const PRESET_NAMES: readonly string[] = Object.keys(PRESETS);

export interface Written {
  /** The preset that it stands on. */
  readonly base?: string;
  readonly rules: Readonly<Record<Effect, readonly string[]>>;
  /** What becomes of all else, by its own word or its preset's. */
  readonly rest?: Effect;
}

export type Whose = "thread" | "agent" | "daemon";

export interface Layer {
  readonly whose: Whose;
  /** Nothing where there is no such policy. */
  readonly policy?: Written;
  /** Whether what it says of all else counts: only the first one's does. */
  readonly restCounts: boolean;
}

/** A policy: a preset's name or an object; nothing if there is none. */
export function readPolicy(written: unknown): Written | undefined {
  if (typeof written === "string") {
    return { base: written, rules: { deny: [], ask: [], allow: [] }, rest: presetRest(written) };
  }
  if (typeof written !== "object" || written === null) {
    return undefined;
  }
  const { base: named, preset, default: own, defaultMode, ...lists } = written as Record<string, unknown>;
  const base = [named, preset].find((name) => typeof name === "string") as string | undefined;
  const list = (name: Effect): string[] => {
    const rules = lists[name];
    return Array.isArray(rules) ? rules.map((rule) => (typeof rule === "string" ? rule : JSON.stringify(rule))) : [];
  };
  const rest = EFFECTS.find((effect) => effect === (own ?? defaultMode));
  return {
    base,
    rules: { deny: list("deny"), ask: list("ask"), allow: list("allow") },
    rest: rest ?? presetRest(base),
  };
}

/** Layers in the order in which they count. */
export function layersOf(policies: readonly (readonly [Whose, unknown])[]): Layer[] {
  let said = false;
  return policies.map(([whose, written]) => {
    const policy = readPolicy(written);
    const restCounts = policy?.rest !== undefined && !said;
    said ||= restCounts;
    return { whose, policy, restCounts };
  });
}

function presetRest(name: string | undefined): Effect | undefined {
  return name !== undefined && Object.hasOwn(PRESETS, name) ? PRESETS[name]!.rest : undefined;
}
