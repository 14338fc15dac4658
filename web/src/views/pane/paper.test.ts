import { expect, test, vi } from "vitest";

import { layOut, listenForPrinting } from "./paper.ts";

vi.mock("../../app/route.ts", () => ({ route: { value: { view: "home" } } }));
vi.mock("../../app/export.ts", () => ({ exportPath: () => "" }));
vi.mock("../../connection/download.ts", () => ({ readTextNow: () => undefined }));

listenForPrinting();

const paper = () => document.querySelector(".print-only");

test("an export is on paper with its styles, until it is printed", () => {
  const styles = () => document.adoptedStyleSheets.length;
  const before = styles();
  void layOut("<html><head><style>h1 { color: red; }</style></head><body><header><h1>Title</h1></header><main><pre> a</pre></main></body></html>");
  expect(paper()!.innerHTML.trim()).toBe("<header><h1>Title</h1></header><main><pre> a</pre></main>");
  expect(styles()).toBe(before + 1);
  expect(document.documentElement.dataset.theme).toBe("light");
  dispatchEvent(new Event("afterprint"));
  expect(paper()).toBeNull();
  expect(styles()).toBe(before);
  expect(document.documentElement.dataset.theme).toBeUndefined();
});

test("what is no element of an export is nothing but text on paper", () => {
  void layOut(
    `<body onload="x()"><p class="said" onclick="x()" style="color: red">a<img src="x" onerror="x()"><a href="javascript:x()">b</a></p>` +
      `<object data="https://evil.example"></object><svg><use href="https://evil.example"/></svg><form><input name="x"></form></body>`,
  );
  expect(paper()!.innerHTML).toBe('<p class="said">ab</p>');
  void layOut("");
  expect(paper()!.innerHTML).toBe("");
  dispatchEvent(new Event("afterprint"));
});

test("only pictures that are part of an export are on paper, without anything else of them", async () => {
  const decode = vi.fn(() => Promise.resolve());
  HTMLImageElement.prototype.decode = decode;
  const bad = [
    "https://evil.example/a.png",
    "data:image/svg+xml;base64,AAAA",
    "data:text/html;base64,AAAA",
    "data:image/png;base64,AAAA#x",
    "data:image/png,AAAA",
    "javascript:x()",
    "",
  ];
  await layOut(
    `<p><img src="data:image/png;base64,AA+/" alt="Picture" onload="x()" srcset="https://evil.example/a.png 2x" style="width: 1px"></p>` +
      bad.map((src) => `<img src="${src}" alt="${src}">`).join(""),
  );
  expect(paper()!.innerHTML).toBe('<p><img alt="Picture" decoding="sync" src="data:image/png;base64,AA+/"></p>');
  expect(decode).toHaveBeenCalledTimes(1);
  dispatchEvent(new Event("afterprint"));
});
