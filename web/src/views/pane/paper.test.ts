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
  layOut("<html><head><style>h1 { color: red; }</style></head><body><header><h1>Title</h1></header><main><pre> a</pre></main></body></html>");
  expect(paper()!.innerHTML.trim()).toBe("<header><h1>Title</h1></header><main><pre> a</pre></main>");
  expect(styles()).toBe(before + 1);
  expect(document.documentElement.dataset.theme).toBe("light");
  dispatchEvent(new Event("afterprint"));
  expect(paper()).toBeNull();
  expect(styles()).toBe(before);
  expect(document.documentElement.dataset.theme).toBeUndefined();
});

test("what is no element of an export is nothing but text on paper", () => {
  layOut(
    `<body onload="x()"><p class="said" onclick="x()" style="color: red">a<img src="x" onerror="x()"><a href="javascript:x()">b</a></p>` +
      `<object data="https://evil.example"></object><svg><use href="https://evil.example"/></svg><form><input name="x"></form></body>`,
  );
  expect(paper()!.innerHTML).toBe('<p class="said">ab</p>');
  layOut("");
  expect(paper()!.innerHTML).toBe("");
  dispatchEvent(new Event("afterprint"));
});
