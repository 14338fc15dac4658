// Renders views in tests.

import { type ComponentChild, render } from "preact";
import { act } from "preact/test-utils";
import { afterEach } from "vitest";

const places = new Set<HTMLElement>();

afterEach(() => {
  for (const place of places) {
    render(null, place);
    place.remove();
  }
  places.clear();
});

export interface Drawn {
  place: HTMLElement;
  draw(node: ComponentChild): void;
  /** Returns the first match; fails if there is none. */
  one<E extends HTMLElement = HTMLElement>(selector: string): E;
  all(selector: string): HTMLElement[];
  /** Returns the button with this text or label. */
  button(name: string): HTMLButtonElement;
  text(): string;
}

export function drawn(node: ComponentChild): Drawn {
  const place = document.createElement("div");
  document.body.append(place);
  places.add(place);
  const draw = (next: ComponentChild) => void act(() => render(next, place));
  draw(node);
  return {
    place,
    draw,
    one<E extends HTMLElement>(selector: string): E {
      const found = place.querySelector<E>(selector);
      if (found === null) throw new Error(`nothing fits ${selector} in ${place.innerHTML}`);
      return found;
    },
    all: (selector) => [...place.querySelectorAll<HTMLElement>(selector)],
    button(name) {
      const found = [...place.querySelectorAll("button")].find(
        (button) => (button.getAttribute("aria-label") ?? button.textContent ?? "").trim().startsWith(name),
      );
      if (found === undefined) throw new Error(`no button ${name} in ${place.innerHTML}`);
      return found;
    },
    text: () => place.textContent ?? "",
  };
}

/** Runs an action and waits until its effects are rendered. */
export async function after(what: () => unknown): Promise<void> {
  await act(async () => {
    await what();
  });
}

export function type(field: HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement, value: string): Promise<void> {
  return after(() => {
    field.value = value;
    field.dispatchEvent(new Event("input", { bubbles: true }));
    field.dispatchEvent(new Event("change", { bubbles: true }));
  });
}

export function press(on: HTMLElement, key: string, more: KeyboardEventInit = {}): Promise<void> {
  return after(() => on.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...more })));
}
