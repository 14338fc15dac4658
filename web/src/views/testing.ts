// Draws views for tests.

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
  /** The first that fits; it has to be there. */
  one<E extends HTMLElement = HTMLElement>(selector: string): E;
  all(selector: string): HTMLElement[];
  /** The button that says or is labelled so. */
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

/** Does something and lets what comes of it be drawn. */
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
