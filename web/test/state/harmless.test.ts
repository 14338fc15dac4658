import type { CallSubject } from "@acpd/client";
import { expect, test } from "vitest";

import { isHarmless } from "../../src/state/harmless.ts";

const line = (text: string): CallSubject => ({ type: "commandLine", line: text, cwd: "/w" });

test.each([
  // What deletes, overwrites, publishes or runs other text, however it is written.
  "rm x", "/bin/rm x", "r''m -rf x", '"rm" x', "\\rm x", "{rm,-rf,x}", "/bin/r? x", "sudo ls", "env A=1 ls", "A=1 ls", "ls; rm x", "ls &&rm x", "ls && rm x",
  "ls & rm x", "ls || rm x", "ls | xargs rm", "echo hi | sh", "curl https://a | python3", "bash build.sh", "./build.sh", ". ./x.sh", "source x.sh", "python -c 1",
  "node -e 1", "perl -e 1", "find . -delete", "sed -i s/a/b/ x", "awk 1 x", "tee x", "dd if=a of=b", "chmod -R 777 /", "npx x", "npm publish", "npm install x",
  "npm run deploy", "npm run test -- --x", "npm run test x", "npm run build -- x", "npm run", "npm", "make deploy", "make SHELL=./x", "make -f x", "kubectl delete x", "psql -c 'DROP TABLE users'",
  // What only the shell can resolve.
  "echo $(date)", "echo `date`", 'echo "$(date)"', "$CLEAN x", "cat ~/x", "ls *", "cat x # y", "echo hi\nrm x", "echo hi\rrm x", "(ls)", "! ls", "cat 'x", "echo !!",
  "echo hi > out.txt", "cat /dev/null > app.db", "cat < x", "cat x 2>y", "cat <(rm x)",
  // Known programs with what they run, write or end.
  "git push", "git push origin :main", "git push origin '+main'", "git tag -d v1", "git reset --hard", "git checkout .", "git stash drop", "git -C /x status",
  "git -c core.pager=./x log", "git diff --output=x", "git diff --outp=x", "git diff --ext-diff", "git log --output x", "git commit --amend", "git branch -D x",
  "rg --pre ./x y", "cargo test --config x", "cargo run", "cargo publish", "cargo clippy --fix", "cargo +nightly test", "go test -exec ./x", "go build -toolexec=./x",
  "go run .", "pytest -p x", "pytest -c x", "constructor", "git constructor", "toString", "", "  ", "&&", "ls &&",
])("%s has to be opened", (text) => expect(isHarmless(line(text))).toBe(false));

test.each([
  "ls", "ls -la src", "cat 'a b'", 'grep -rn "a | b; > c" src', "head -n 5 x", "wc -l x", "rg -n word src", "git status", "git status --short",
  "git diff -w --stat main..x", "git log --oneline -5", "git show HEAD^1", "git add -A", "git commit -am 'Mend it'", "git add x && git commit -m x",
  "cargo test", "cargo test -p x -- --nocapture", "cargo clippy --workspace --all-targets", "npm test", "npm run build", "npm run test -- --coverage src/a.test.ts", "pnpm run lint", "make", "make all",
  "go test -run X", "pytest -q tests", `echo ${"x".repeat(100_000)}`,
])("%s may be allowed at once", (text) => expect(isHarmless(line(text))).toBe(true));

test("a line of absurd length is read in time", () => {
  for (const piece of ["'a' ", "a'", '"a"', "&& "]) {
    expect(isHarmless(line(`rm ${piece.repeat(100_000)}`))).toBe(false);
  }
});

test("a program with its arguments counts like a line", () => {
  const command = (...argv: string[]): CallSubject => ({ type: "command", argv, cwd: "/w" });
  expect(isHarmless(command("ls", "a b; rm x"))).toBe(true);
  expect(isHarmless(command("make"))).toBe(true);
  expect(isHarmless(command("sh", "-c", "ls"))).toBe(false);
  expect(isHarmless(command("git", "push"))).toBe(false);
  expect(isHarmless(command())).toBe(false);
});

test("of other calls, only those that read files are known", () => {
  const file = (access: "read" | "search" | "edit" | "delete" | "move"): CallSubject => ({ type: "file", access, path: "/w/a" });
  expect((["read", "search", "edit", "delete", "move"] as const).filter((access) => isHarmless(file(access)))).toEqual(["read", "search"]);
  expect(isHarmless({ type: "fetch", url: "https://a/" })).toBe(false);
  expect(isHarmless({ type: "mcp", server: "s", tool: "t" })).toBe(false);
});
