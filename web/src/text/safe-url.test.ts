import { expect, test } from "vitest";

import { destination, followable } from "./safe-url.ts";

test.each([
  "javascript:alert(1)", "JaVaScRiPt:alert(1)", " javascript:alert(1)", "java\nscript:alert(1)", "\u0001javascript:alert(1)",
  "data:text/html,<script>1</script>", "vbscript:x", "blob:https://a/b", "file:///etc/passwd", "//evil.example", "/threads", "#x", "",
])("%j is not followed", (address) => {
  expect(followable(address)).toBeUndefined();
});

test("the web and mail are followed", () => {
  expect(followable("https://example.com/a b")).toBe("https://example.com/a%20b");
  expect(followable("http://example.com")).toBe("http://example.com/");
  expect(followable("mailto:a@example.com")).toBe("mailto:a@example.com");
});

test("a destination names the host that is really reached", () => {
  expect(destination("http://github.com@evil.example:8443/x")).toEqual({
    href: "http://github.com@evil.example:8443/x",
    host: "evil.example:8443",
    disguise: "github.com",
    insecure: true,
  });
});

test("letters that look like others do not hide a host", () => {
  expect(destination("https://gіthub.com/")?.host).toBe("xn--gthub-n2e.com");
});

test("other schemes are no destination", () => {
  expect(destination("javascript:alert(1)")).toBeUndefined();
  expect(destination("mailto:a@b")).toBeUndefined();
});
