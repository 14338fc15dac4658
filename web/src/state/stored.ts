/**
 * The browser's persistent settings, as signals. Unreadable storage counts as empty, and failed writes are ignored:
 * private windows and full disks store nothing.
 */

import { effect, type Signal, signal } from "@preact/signals";

/** Returns a signal that is stored under a name, and follows changes by other tabs. */
export function stored<T>(name: string, first: T, isOne: (value: unknown) => boolean): Signal<T> {
  const key = `acpd.${name}`;
  const read = (text: string | null): T => {
    try {
      const value: unknown = text === null ? undefined : JSON.parse(text);
      return isOne(value) ? (value as T) : first;
    } catch {
      return first;
    }
  };
  let text: string | null = null;
  try {
    text = localStorage.getItem(key);
  } catch {
    // This browser stores nothing.
  }
  const kept = signal<T>(read(text));
  let known = text;
  effect(() => {
    const now = JSON.stringify(kept.value);
    if (now !== known && !(known === null && kept.value === first)) {
      known = now;
      try {
        localStorage.setItem(key, now);
      } catch {
        // This browser stores nothing.
      }
    }
  });
  addEventListener("storage", (event) => {
    if (event.key === key && event.newValue !== known) {
      known = event.newValue;
      kept.value = read(event.newValue);
    }
  });
  return kept;
}

export const isRecord = (value: unknown): boolean =>
  typeof value === "object" && value !== null && !Array.isArray(value);
export const isTexts = (value: unknown): boolean =>
  Array.isArray(value) && value.every((part) => typeof part === "string");
