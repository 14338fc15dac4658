/** Permission policies as written, in order of precedence. Pure. `docs/policy.md` defines their meaning. */

export type Effect = "deny" | "ask" | "allow";
export const EFFECTS: readonly Effect[] = ["deny", "ask", "allow"];

/** The presets. Each has its own default. */
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

/** The names of the presets, in the order of the menu. */
export const PRESET_NAMES: readonly string[] = Object.keys(PRESETS);

export interface Written {
  /** The preset that it extends. */
  readonly base?: string;
  readonly rules: Readonly<Record<Effect, readonly string[]>>;
  /** The effect for everything else, from the policy itself or its preset. */
  readonly rest?: Effect;
}

export type Whose = "thread" | "agent" | "daemon";

export interface Layer {
  readonly whose: Whose;
  /** `undefined` if there is no such policy. */
  readonly policy?: Written;
  /** Whether its default applies: only the first policy's does. */
  readonly restCounts: boolean;
}

/** Parses a policy: a preset's name or an object; `undefined` if there is none. */
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

/** Returns the layers in order of precedence. */
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
