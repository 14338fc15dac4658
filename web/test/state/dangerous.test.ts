import type { CallSubject } from "@acpd/client";
import { expect, test } from "vitest";

import { isDangerous } from "../../src/state/dangerous.ts";

const line = (text: string): CallSubject => ({ type: "commandLine", line: text, cwd: "/w" });

test.each([
  "rm -rf build && git push --force origin main",
  "rm x",
  "cd /tmp; /bin/rm x",
  "sudo apt install x",
  "r''m -rf x",
  "\\rm x",
  '"rm" x',
  "{rm,-rf,x}",
  "env A=1 rm x",
  "/bin/r? x",
  "ls | xargs ls",
  "echo hi | sh",
  "bash build.sh",
  "echo $(date)",
  "echo `date`",
  "$CLEAN x",
  "git push -f",
  "git push -uf origin x",
  "git -C /w push origin +main",
  "git push --force-with-lease",
  "git reset --hard HEAD~1",
  "git clean -fdx",
  "git branch -D x",
  "GIT push --FORCE",
  "find . -name x -delete",
  "dd if=/dev/zero of=/dev/sda",
  "mkfs.ext4 /dev/sda1",
  "kubectl -n x delete pod y",
  "aws s3api delete-bucket x",
  "npm publish",
  "psql -c 'DROP TABLE users'",
  "chmod -R 777 /",
])("%s has to be opened", (text) => expect(isDangerous(line(text))).toBe(true));

test.each([
  "", "make all", "npm test", "git push", "git push origin main", "git status", "cargo test", "ls *.txt", "echo hello > out.txt", "git checkout main",
  "npm run farm", "cat form.txt", "grep -r rmdirs src", "git diff -D", `echo ${"x".repeat(100_000)}`,
])("%s may be allowed from a list", (text) => expect(isDangerous(line(text))).toBe(false));

test("a program with its arguments counts like a line, and a deleted file as well", () => {
  expect(isDangerous({ type: "command", argv: ["rm", "-rf", "x"], cwd: "/w" })).toBe(true);
  expect(isDangerous({ type: "command", argv: ["sh", "-c", "ls"], cwd: "/w" })).toBe(true);
  expect(isDangerous({ type: "command", argv: ["git", "push", "--force"], cwd: "/w" })).toBe(true);
  expect(isDangerous({ type: "command", argv: ["make"], cwd: "/w" })).toBe(false);
  expect(isDangerous({ type: "file", access: "delete", path: "/w/a" })).toBe(true);
  expect(isDangerous({ type: "file", access: "read", path: "/w/a" })).toBe(false);
  expect(isDangerous({ type: "fetch", url: "https://rm/" })).toBe(false);
});
