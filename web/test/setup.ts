/** Browser features that the tests' DOM lacks. */

if (typeof globalThis.matchMedia !== "function") {
  globalThis.matchMedia = (media) =>
    ({ media, matches: false, addEventListener: () => {}, removeEventListener: () => {} }) as unknown as MediaQueryList;
}

// jsdom has no CSS interface. The ids in tests need no escaping.
if (typeof CSS === "undefined") {
  Object.assign(globalThis, { CSS: { escape: (text: string) => text } });
}
