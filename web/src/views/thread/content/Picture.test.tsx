// @vitest-environment jsdom
import { expect, test } from "vitest";

import { after, drawn } from "../../testing.ts";
import { Picture } from "./Picture.tsx";

test.each(["load", "error"])("a picture keeps its place until its %s", async (event) => {
  const view = drawn(<Picture type="image/png" data="iVBORw0KGgo=" name="Picture" />);
  const picture = view.one<HTMLImageElement>("img");
  expect(picture.className).toBe("th-picture is-loading");
  await after(() => picture.dispatchEvent(new Event(event)));
  expect(picture.className).toBe("th-picture");
});
