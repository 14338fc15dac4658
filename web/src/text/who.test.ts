import type { By } from "@acpd/client";
import { expect, test } from "vitest";

import { grounds, who } from "./who.ts";

const client = (principal: string, name: string): By => ({ kind: "client", principal, client: name });

test("a person is named with the device, in words that people use", () => {
  expect(who(client("owner", "acpd-web"))).toBe("owner (web)");
  expect(who(client("owner", "acpd-cli"))).toBe("owner (command line)");
  expect(who(client("owner", "zed"))).toBe("owner (zed)");
  expect(who(client("phone", "acpd-web"))).toBe("phone");
  expect(who(client("phone", "zed"))).toBe("phone (zed)");
  expect(who(client("a\u202Eb", "x"))).toBe("a⟨U+202E⟩b (x)");
});

test("a policy is named by its rule, else by where it is written", () => {
  const by = { kind: "policy", rule: "Bash(git *)", scope: "agent", reason: "it is allowed" } as const;
  expect([who(by), grounds(by)]).toEqual(["rule Bash(git *)", "the agent’s policy"]);
  expect([who({ ...by, rule: null }), grounds({ ...by, rule: null })]).toEqual(["the agent’s policy", "it is allowed"]);
  expect(who({ kind: "policy", reason: "no rule" })).toBe("the policy");
});

test("acpd and the agent are no persons", () => {
  expect([who({ kind: "agent" }), who({ kind: "daemon" })]).toEqual(["the agent", "acpd"]);
  expect(grounds({ kind: "daemon" })).toBeUndefined();
});
