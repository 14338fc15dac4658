/** Browser features that the tests' DOM lacks. */

if (typeof globalThis.matchMedia !== "function") {
  globalThis.matchMedia = (media) =>
    ({ media, matches: false, addEventListener: () => {}, removeEventListener: () => {} }) as unknown as MediaQueryList;
}
