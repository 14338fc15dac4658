/**
 * What one stroke in a list or a notification may allow: only what is known to do no harm, since a hand can slip. Everything
 * else has to be opened. A guard against a slip, and no policy: a person has read the line before. Pure.
 */

import type { CallSubject } from "@acpd/client";

/** The arguments with which a program is known: where it has rules of its own, those of the first word. */
type Known = (args: readonly string[]) => boolean;

const anything: Known = () => true;
const nothing: Known = (args) => args.length === 0;

/** Accepts words, and of the flags only these. */
const flags = (wanted: RegExp): Known => (args) => args.every((arg) => !arg.startsWith("-") || wanted.test(arg));

/** Accepts no more than one of these words. */
const oneOf = (...words: string[]): Known => ([word, ...rest]) => word === undefined || (words.includes(word) && rest.length === 0);

/** Accepts a first word with arguments of its own. */
const first = (known: Readonly<Record<string, Known>>): Known => ([word = "", ...rest]) =>
  Object.hasOwn(known, word) && known[word]!(rest);

const DIFF = flags(/^(-[A-Za-z0-9]+|--|--(stat|numstat|shortstat|cached|staged|name-only|name-status|patch|oneline|graph|all|decorate|word-diff))$/);
const CARGO = flags(
  /^(-[qvp]|--|--(workspace|all|package|release|quiet|verbose|tests|lib|bins|all-targets|all-features|no-run|locked|offline|check|nocapture|ignored|exact))$/,
);
const GO = flags(/^-(v|race|short|run|count=\d+)$/);
const CHOSEN_TESTS = flags(/^--(coverage|run|silent|verbose)$/);
/** A script of tests may have the names of some of them. */
const TESTS: Known = ([dashes, ...chosen]) => dashes === undefined || (dashes === "--" && CHOSEN_TESTS(chosen));
const NPM = first({ test: TESTS, run: first({ test: TESTS, build: nothing, lint: nothing, check: nothing, typecheck: nothing }) });

/**
 * Programs that only read, and what builds and tests a project in the usual way. None of them takes the name of a program, of
 * a place to write to or of another configuration from the arguments that are accepted here. A build or a test runs what the
 * project contains, which the user knows of these.
 */
const PROGRAMS: Readonly<Record<string, Known>> = {
  ...Object.fromEntries("ls cat head tail wc pwd echo stat du df which whoami grep diff cmp basename dirname realpath readlink".split(" ").map((name) => [name, anything])),
  rg: flags(/^(-[A-Za-z0-9]+|--|--(files|hidden|count|ignore-case|fixed-strings|files-with-matches|line-number|word-regexp))$/),
  git: first({
    status: flags(/^(-[sbu]+|--(short|branch|porcelain))$/),
    diff: DIFF, log: DIFF, show: DIFF, blame: DIFF,
    "ls-files": flags(/^-[a-z]$/),
    "rev-parse": flags(/^--(short|abbrev-ref|show-toplevel|verify)$/),
    add: flags(/^(-[Aunv]|--|--all)$/),
    commit: flags(/^-[amqv]+$/),
  }),
  cargo: first({ test: CARGO, check: CARGO, build: CARGO, clippy: CARGO, fmt: CARGO }),
  go: first({ test: GO, build: GO, vet: GO }),
  make: oneOf("all", "test", "build", "lint", "check", "typecheck"),
  npm: NPM, pnpm: NPM, yarn: NPM,
  pytest: flags(/^(-[qvxk]+|--(lf|ff|maxfail=\d+))$/),
};

/** Returns whether one stroke may allow a call. */
export function isHarmless(subject: CallSubject): boolean {
  switch (subject.type) {
    case "command":
      return isKnown(subject.argv);
    case "commandLine": {
      const commands = read(subject.line);
      return commands !== undefined && commands.length > 0 && commands.every(isKnown);
    }
    case "file":
      return subject.access === "read" || subject.access === "search";
    default:
      return false;
  }
}

function isKnown([program = "", ...args]: readonly string[]): boolean {
  return Object.hasOwn(PROGRAMS, program) && PROGRAMS[program]!(args);
}

/** A word without a character that a shell resolves; in quotes, without one that is special there. */
const WORD = /^(?:[\w./:,@%+=^-]+|'[^']*'|"[^"$`\\!]*")+/;

/** Reads a line of plain words, perhaps several commands with `&&` between them; `undefined` if it has anything else. */
function read(line: string): string[][] | undefined {
  const commands: string[][] = [[]];
  // A line break would end a command.
  const blanks = /^[ \t]+/;
  let rest = line.replace(blanks, "");
  while (rest !== "") {
    const and = /^&&(?=[ \t])/.exec(rest)?.[0];
    const word = and ?? WORD.exec(rest)?.[0];
    if (word === undefined || !/^([ \t]|$)/.test(rest.slice(word.length))) {
      return undefined;
    }
    if (and === undefined) {
      commands.at(-1)!.push(word.replace(/'([^']*)'|"([^"]*)"/g, "$1$2"));
    } else {
      commands.push([]);
    }
    rest = rest.slice(word.length).replace(blanks, "");
  }
  return commands;
}
