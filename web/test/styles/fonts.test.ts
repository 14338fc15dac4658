/** The typefaces are small, and never hold a text back. */

import { expect, test } from "vitest";

import inter from "../../src/styles/fonts/inter-latin.woff2?inline";
import mono from "../../src/styles/fonts/jetbrains-mono-latin.woff2?inline";
import interLicence from "../../public/fonts/OFL-Inter.txt?raw";
import monoLicence from "../../public/fonts/OFL-JetBrains-Mono.txt?raw";
import fonts from "../../src/styles/fonts.css?raw";
import tokens from "../../src/styles/tokens.css?raw";

const contentOf = (dataUrl: string) => atob(dataUrl.slice(dataUrl.indexOf(",") + 1));

test("both fonts together have at most 90 kB", () => {
  const [first, second] = [contentOf(inter), contentOf(mono)];
  expect([first.slice(0, 4), second.slice(0, 4)]).toEqual(["wOF2", "wOF2"]);
  expect(first.length + second.length).toBeLessThanOrEqual(90_000);
});

test("no text waits for a font, and none changes its characters", () => {
  const faces = fonts.split("@font-face").slice(1);
  expect(faces).toHaveLength(2);
  for (const face of faces) {
    expect(face).toContain("font-display: optional");
    expect(face).toContain('"calt" 0, "liga" 0');
    expect(face).toMatch(/url\("\.\/fonts\/[\w-]+\.woff2"\)/);
  }
  expect(tokens).toMatch(/--font-ui: "Inter", system-ui/);
  expect(tokens).toMatch(/--font-mono: "JetBrains Mono", ui-monospace/);
});

test("their licences are beside them", () => {
  for (const licence of [interLicence, monoLicence]) {
    expect(licence).toContain("SIL OPEN FONT LICENSE Version 1.1");
  }
});
