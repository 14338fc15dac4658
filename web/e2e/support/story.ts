/** Random stories of threads: what users and agents do, one action after the other. Pure. */

import { Random } from "./random.ts";

export type Action =
  /** Sends a prompt, which is a script of the fake agent. */
  | { do: "prompt"; text: string }
  | { do: "steer"; text: string }
  /** Answers the oldest open question by one of its options, or dismisses it. */
  | { do: "answer"; choice: number }
  | { do: "interrupt"; pause: boolean; atOnce: boolean }
  | { do: "queue"; change: "reverse" | "edit" | "remove" | "steer" | "pause" | "continue"; at: number }
  | { do: "rollback"; at: number }
  /** Continues with a fork of the thread. */
  | { do: "fork"; at: number }
  | { do: "mode"; id: string }
  | { do: "rename"; name: string }
  | { do: "restart"; signal: "SIGKILL" | "SIGTERM" }
  /** Opens the thread in another page, which stays open. */
  | { do: "open"; limit: number };

/** Steps of the fake agent that come to an end. */
const STEPS: readonly string[] = [
  "say 'Some **words** of the agent.'",
  "say one; say two",
  "stream n=4 text=w",
  "stream n=2 text=x id=m1; stream n=2 text=y id=m2",
  "think n=3",
  "think n=1; say after; think n=1",
  "image",
  "audio",
  "resource",
  "plan",
  "plan empty",
  "plan-by-id id=a text=One; plan-by-id markdown id=b text='# Two'; plan-by-id id=c; plan-by-id id=a text=Three; plan-by-id remove id=c",
  "mode code",
  "mode ask",
  "commands",
  "config",
  "title 'A new title'",
  "usage used=1234 size=200000 cost=0.01",
  "notice",
  "compaction",
  "tool kind=read path=src/a.rs; tool kind=search; tool kind=read path=src/b.rs",
  "tool kind=edit",
  "tool kind=edit path=src/c.rs then='Another title'",
  "tool kind=execute status=failed",
  "tool kind=fetch status=in_progress",
  "tool kind=other status=pending",
  "tool kind=edit id=same; say between; tool kind=edit id=same path=src/d.rs",
  "seed",
  "dup",
  "orphan",
  "backwards",
  "read path=missing.txt",
  "write path=out.txt text='one line'",
  "write path=out.txt text='another line'",
  "files n=2 bytes=900 by=both",
  "terminal echo hello",
  "terminal sh -c 'echo out; echo err >&2; exit 3'",
  "terminal-unread seq 50",
  "terminal /nowhere/program",
  "ext",
  "late ms=1 text=late",
  "stderr 'a warning'",
  "garbage",
  // More notices than a place has room for.
  Array.from({ length: 20 }, () => "garbage").join("; "),
  "flood n=30 bytes=40 kind=delta",
  "flood n=5 bytes=80 kind=call",
  "mirror",
  "echo",
  "subagent title=look id=look; say found; tool kind=read; tool kind=search; parent",
  "subagent title=look id=look; think n=1; tool kind=edit; parent; say 'It is done.'",
  "subagent title=build id=build; tool kind=execute; subagent title=deep id=deep; say deep; tool kind=edit path=src/f.rs; parent; say built; parent",
  "subagent title=plan id=plan; plan; plan-by-id id=a text=Mine; mode code; title 'Not the thread'; usage used=1 size=2; garbage; parent",
  "subagent title=write id=write; write path=out.txt text='of a subagent'; terminal echo hello; parent",
  "subagent id=silent silent=true; say nobody; parent",
];

/** A step that makes a turn too large for one page. */
const LARGE = "flood n=12 bytes=100000 kind=call";

/** Steps that ask the user. */
const QUESTIONS: readonly string[] = [
  "permission kind=execute command='npm test'",
  "permission kind=edit",
  "permission kind=edit path=src/e.rs bare=true",
  "permission kind=read",
  "elicit",
  "elicit url",
  "subagent title=ask id=ask; permission kind=execute command='npm test'; parent",
  "subagent id=unknown silent=true; permission kind=edit; parent",
];

/** Steps that end a turn otherwise than well. */
const ENDS: readonly string[] = [
  "stop reason=refusal",
  "stop reason=max_tokens",
  "stop reason=cancelled",
  "error message=broken",
  "exit code=0",
  "crash code=3 after=2",
  "abort",
  "halfline",
];

/** A subagent that works on after the turn of its parent. */
const AT_WORK = "subagent title=on id=on; tool kind=read; parent working=true";

/** Steps that last until the user does something. */
const WAITS: readonly string[] = ["slow ms=600000", "latecancel ms=600000", "steered", "terminal sleep 600", AT_WORK];

/** Returns the actions of one thread. */
export function story(seed: number): Action[] {
  const random = new Random(seed);
  const actions: Action[] = [];
  const length = 2 + random.below(9);
  while (actions.length < length) {
    actions.push(...scene(random));
  }
  return actions.slice(0, length);
}

function prompt(random: Random, ...last: string[]): Action {
  const steps = Array.from({ length: random.below(5) }, () => random.pick(STEPS));
  if (random.chance(0.02)) steps.push(LARGE);
  return { do: "prompt", text: [...steps, ...last].join("; ") || "say nothing" };
}

const interrupt = (random: Random): Action => ({ do: "interrupt", pause: random.chance(0.5), atOnce: random.chance(0.2) });

/** Returns actions that belong together. */
function scene(random: Random): Action[] {
  switch (random.below(12)) {
    case 0:
    case 1:
    case 2:
      return [prompt(random)];
    case 3:
      return [prompt(random, random.pick(ENDS))];
    case 4:
    case 5: {
      const questions = Array.from({ length: 1 + random.below(2) }, () => random.pick(QUESTIONS));
      const answers = questions.map((): Action => ({ do: "answer", choice: random.below(6) }));
      return [prompt(random, ...questions, random.pick(STEPS)), ...answers, ...(random.chance(0.3) ? [interrupt(random)] : [])];
    }
    case 6:
      return [prompt(random, random.pick(WAITS)), interrupt(random)];
    case 7:
    case 8:
      return queue(random);
    case 9:
      return [{ do: "rollback", at: random.below(8) }];
    case 10:
      return [random.chance(0.5) ? prompt(random, random.pick(WAITS)) : prompt(random, random.pick(QUESTIONS)), restart(random)];
    default:
      return [
        random.pick<Action>([
          { do: "fork", at: random.below(8) },
          { do: "mode", id: random.pick(["ask", "code"]) },
          { do: "rename", name: "Another name" },
          { do: "open", limit: 1 + random.below(4) },
          { do: "open", limit: 10 },
          restart(random),
        ]),
      ];
  }
}

function restart(random: Random): Action {
  return { do: "restart", signal: random.pick(["SIGKILL", "SIGTERM"] as const) };
}

/** A running turn, prompts behind it, and changes to their queue. */
function queue(random: Random): Action[] {
  const changes = ["reverse", "edit", "remove", "steer", "pause", "continue"] as const;
  return [
    prompt(random, random.pick(WAITS)),
    ...Array.from({ length: 1 + random.below(3) }, () => prompt(random)),
    ...Array.from(
      { length: random.below(4) },
      (): Action =>
        random.chance(0.25)
          ? { do: "steer", text: random.pick(["look left", "say later"]) }
          : { do: "queue", change: random.pick(changes), at: random.below(3) },
    ),
    interrupt(random),
    ...(random.chance(0.6) ? [{ do: "queue", change: "continue", at: 0 } as const] : []),
  ];
}
