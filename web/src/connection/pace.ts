/** When a state that changes often is published. */

/** Minimum time between two published states, in milliseconds: twice as fast as users can read, and cheap. */
const FRAME_MS = 50;
/** The time between two published states, as a multiple of the work for one. */
const SHARE = 3;
/**
 * Publishing interval of a hidden page, in milliseconds. It is not drawn, but must be current when it becomes
 * visible.
 */
const HIDDEN_MS = 500;

/**
 * Publishes a state soon after each change, but leaves at least two thirds of the time to other work: after a state that took long to
 * draw, twice as much time passes again. So a page stays usable, and what moves in it is drawn 40 times a second, however slow the
 * computer and however long the text is.
 */
export class Pace {
  #isDue = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Stops to wait until the last state is drawn. */
  #stopWatching: (() => void) | undefined;
  /** When the next state may be published. */
  #nextAt = 0;

  constructor(private readonly publish: () => void) {}

  /** Publishes when it is time. */
  soon(): void {
    this.#isDue = true;
    if (this.#timer === undefined && this.#stopWatching === undefined) {
      this.#schedule();
    }
  }

  /** Publishes now. */
  now(): void {
    this.stop();
    const from = performance.now();
    this.#nextAt = from + FRAME_MS;
    this.publish();
    let rendered = performance.now() - from;
    // The views are rendered behind this task.
    queueMicrotask(() => {
      rendered = performance.now() - from;
    });
    if (!document.hidden) {
      this.#stopWatching = afterFrame((drawn) => {
        this.#stopWatching = undefined;
        this.#nextAt = from + Math.max(FRAME_MS, SHARE * (rendered + drawn));
        if (this.#isDue) {
          this.#schedule();
        }
      });
    }
  }

  /** Publishes nothing until the next call. */
  stop(): void {
    this.#isDue = false;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#stopWatching?.();
    this.#stopWatching = undefined;
  }

  #schedule(): void {
    const wait = document.hidden ? HIDDEN_MS : Math.max(0, this.#nextAt - performance.now());
    this.#timer = setTimeout(() => this.now(), wait);
  }
}

/**
 * Calls `then` when the next frame is drawn, with the milliseconds that drawing took, or after a while if none is: the page may have been
 * hidden. Returns what cancels it.
 */
function afterFrame(then: (drawn: number) => void): () => void {
  let timer = setTimeout(() => {
    cancelAnimationFrame(frame);
    then(0);
  }, HIDDEN_MS);
  const frame = requestAnimationFrame(() => {
    clearTimeout(timer);
    const from = performance.now();
    // The browser draws after this callback.
    timer = setTimeout(() => then(performance.now() - from));
  });
  return () => {
    cancelAnimationFrame(frame);
    clearTimeout(timer);
  };
}
