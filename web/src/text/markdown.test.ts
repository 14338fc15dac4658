// @vitest-environment jsdom
import { expect, test } from "vitest";

import { renderMarkdown } from "./markdown.ts";

function rendered(source: string): HTMLDivElement {
  const place = document.createElement("div");
  place.append(renderMarkdown(source));
  return place;
}

/** Everything that could run, load, style, submit or lead somewhere it should not. */
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

test.each([
  "<script>alert(1)</script>",
  "<img src=x onerror=alert(1)>",
  "<svg onload=alert(1)>",
  "<svg><script>alert(1)</script></svg>",
  "<b style=\"background:url(https://evil.example)\">x</b>",
  "<style>*{display:none}</style>",
  "<iframe src=https://evil.example></iframe>",
  "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
  "<base href=https://evil.example/>",
  "<form action=https://evil.example><input name=q><button>go</button></form>",
  "<meta http-equiv=refresh content='0;url=https://evil.example'>",
  "<link rel=stylesheet href=https://evil.example/x.css>",
  "<object data=https://evil.example></object><embed src=https://evil.example>",
  "<video src=https://evil.example autoplay></video>",
  "<a href=javascript:alert(1)>x</a>",
  "[x](javascript:alert(1))",
  "[x](JaVaScRiPt&#58;alert(1))",
  "[x](java&#10;script:alert(1))",
  "[x](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)",
  "[x](vbscript:msgbox)",
  "[x](file:///etc/passwd)",
  "[x](/api/session)",
  "<javascript:alert(1)>",
  "[x]: javascript:alert(1)\n\n[x]",
  "![x](javascript:alert(1))",
  "![x](https://evil.example/pixel.png)",
  "![x](data:image/svg+xml,<svg onload=alert(1)>)",
  "[x](https://a.example \"onmouseover=alert(1)\")",
  "[x](https://a.example/\"onmouseover=\"alert(1))",
  "![\" onerror=\"alert(1)](https://a.example)",
  "`<img src=x onerror=alert(1)>`",
  "```html\n<img src=x onerror=alert(1)>\n```",
  "```\"><img src=x onerror=alert(1)>\nx\n```",
  "# <img src=x onerror=alert(1)>",
  "| <img src=x onerror=alert(1)> |\n|---|\n| <script>alert(1)</script> |",
  "- <details open ontoggle=alert(1)>",
  // mXSS: what is harmless as it is read and not as it is written and read again.
  "<math><mtext><table><mglyph><style><!--</style><img title=\"--&gt;&lt;img src=1 onerror=alert(1)&gt;\">",
  "<form><math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>",
  "<svg></p><style><a id=\"</style><img src=1 onerror=alert(1)>\">",
  "<noscript><p title=\"</noscript><img src=x onerror=alert(1)>\">",
  "<template><img src=x onerror=alert(1)></template>",
  "<!--><img src=x onerror=alert(1)>-->",
  "<![CDATA[<img src=x onerror=alert(1)>]]>",
  "<a id=location name=cookie>clobber</a>",
  "<x contenteditable onblur=alert(1) tabindex=1>",
])("%j does nothing", (source) => {
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
  for (const name of ["h1", "strong", "em", "del", "code", "ol", "ul", "blockquote", "hr", "td"]) {
    expect(place.querySelector(name), name).not.toBeNull();
  }
});
