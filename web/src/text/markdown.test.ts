// @vitest-environment jsdom
import { expect, test } from "vitest";

import { MARKDOWN_ATTACKS } from "./markdown-attacks.ts";
import { renderMarkdown } from "./markdown.ts";

function rendered(source: string): HTMLDivElement {
  const place = document.createElement("div");
  place.append(renderMarkdown(source));
  return place;
}

/** Returns everything that could execute, load, style, submit or navigate to a forbidden address. */
function dangers(place: HTMLElement): string[] {
  const found: string[] = [];
  for (const element of place.querySelectorAll("*")) {
    const name = element.tagName.toLowerCase();
    if (/^(script|style|iframe|object|embed|form|input|button|base|meta|link|svg|math|img|video|audio|source|template|noscript|textarea|select)$/.test(name)) {
      found.push(name);
    }
    for (const { name: attribute, value } of element.attributes) {
      if (/^on|^style$|^src|^srcset$|^action$|^formaction$|^background$|^id$|^name$|^data-/.test(attribute)) found.push(attribute);
      if (attribute === "href" && !/^(https?|mailto):/.test(value)) found.push(value);
    }
  }
  return found;
}

test.each(MARKDOWN_ATTACKS)("%j does nothing", (source) => {
  expect(dangers(rendered(source))).toEqual([]);
});

test("raw HTML is shown as the text that it is", () => {
  expect(rendered("a <b>bold</b> <script>x</script>").textContent).toContain("a <b>bold</b> <script>x</script>");
});

test("links lead to a tab of their own and tell nothing of this page", () => {
  const link = rendered("[a](https://example.com/x) <https://b.example>").querySelectorAll("a");
  expect(link).toHaveLength(2);
  for (const one of link) {
    expect(one.target).toBe("_blank");
    expect(one.rel).toBe("noopener noreferrer");
  }
});

test("a link that may not be followed keeps its words", () => {
  const place = rendered("[click me](javascript:alert(1))");
  expect(place.querySelector("a")).toBeNull();
  expect(place.textContent?.trim()).toBe("click me");
});

test("a picture from elsewhere is a link to it", () => {
  const link = rendered("![a diagram](https://example.com/d.png)").querySelector("a");
  expect([link?.textContent, link?.getAttribute("href")]).toEqual(["a diagram", "https://example.com/d.png"]);
});

test("no class but a code's language comes in from outside", () => {
  expect(rendered("  - a\n\n    ```rust evil\n    x\n    ```").querySelector("code")?.className).toBe("language-rust");
});

test("boxes of task lists are marks and no controls", () => {
  const boxes = rendered("- [x] done\n- [ ] open").querySelectorAll("[role=img]");
  expect([...boxes].map((box) => box.getAttribute("aria-label"))).toEqual(["done", "not done"]);
});

test("a line break in a table is one", () => {
  expect(rendered("| a |\n|---|\n| x<br>y |").querySelectorAll("td br")).toHaveLength(1);
});

test("the usual things are what they should be", () => {
  const place = rendered("# T\n\n**b** *i* ~~d~~ `c`\n\n1. a\n   - b\n\n> q\n\n---\n\n| a |\n|--:|\n| 1 |");
  // Headings are below the page's own.
  for (const name of ["h3.md-h1", "strong", "em", "del", "code", "ol", "ul", "blockquote", "hr", "td"]) {
    expect(place.querySelector(name), name).not.toBeNull();
  }
});
