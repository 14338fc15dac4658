/**
 * Horizontal swipes of a row by touch. In: pointer events, and what each direction does. Out: the row follows the finger,
 * and the action runs when the finger leaves beyond the threshold. A shorter swipe reveals the row's buttons
 * (`data-revealed`), until the user presses elsewhere. A vertical move cancels the swipe.
 */

export interface SwipeAction {
  readonly label: string;
  readonly run: () => void;
}

/** Distance at which a move has a direction, in pixels. */
const SLOP = 10;
/** Distance to the side that reveals the buttons, in pixels. */
const REVEAL = 40;
/** Distance to the side that runs the action, in pixels, and as a part of the row's width. */
const THRESHOLD = 120;
const THRESHOLD_PART = 0.4;
/** Vertical distance that cancels a swipe, in pixels. */
const AWAY = 32;

interface Move {
  readonly id: number;
  readonly x: number;
  readonly y: number;
  dx: number;
  sideways: boolean;
}

/** Adds swipes to a row. Returns a function that removes them. `onReveal` is called when a swipe reveals the buttons. */
export function swipe(
  row: HTMLElement,
  actionOf: (direction: "left" | "right") => SwipeAction | undefined,
  onReveal: () => void = () => {},
): () => void {
  let move: Move | undefined;
  let suppressed: AbortController | undefined;
  const listeners = new AbortController();
  const { signal } = listeners;

  const show = (dx: number) => {
    const action = dx === 0 ? undefined : actionOf(dx > 0 ? "right" : "left");
    const armed = action !== undefined && isFar(dx);
    // A direction without an action resists.
    row.style.setProperty("--swipe", `${action ? dx : dx / 6}px`);
    row.toggleAttribute("data-swiping", dx !== 0);
    row.dataset.swipe = action ? (dx > 0 ? "right" : "left") : "";
    row.dataset.swipeLabel = action ? `${armed ? "Release: " : ""}${action.label}` : "";
    row.toggleAttribute("data-armed", armed);
  };
  const isFar = (dx: number) => Math.abs(dx) >= Math.min(THRESHOLD, row.clientWidth * THRESHOLD_PART);
  const end = () => {
    move = undefined;
    show(0);
  };

  // Nothing moves when the buttons go: the press counts where it is.
  document.addEventListener("pointerdown", ({ target }) => {
    if (!row.contains(target as Node)) {
      row.removeAttribute("data-revealed");
    }
  }, { signal, capture: true });
  row.addEventListener("pointerdown", ({ pointerType, isPrimary, pointerId: id, clientX: x, clientY: y }) => {
    // A new press has a click of its own.
    suppressed?.abort();
    if (!isPrimary) {
      end();
    } else if (pointerType === "touch") {
      move = { id, x, y, dx: 0, sideways: false };
    }
  }, { signal });
  row.addEventListener("pointermove", ({ pointerId, clientX, clientY }) => {
    if (move?.id !== pointerId) {
      return;
    }
    const [dx, dy] = [clientX - move.x, Math.abs(clientY - move.y)];
    if (!move.sideways && dy > SLOP && dy >= Math.abs(dx)) {
      move = undefined;
    } else if (!move.sideways && Math.abs(dx) > SLOP) {
      move.sideways = true;
      row.setPointerCapture(pointerId);
    }
    if (move?.sideways) {
      move.dx = dx;
      if (dy > AWAY) {
        end();
        suppressClick();
      } else {
        show(dx);
      }
    }
  }, { signal });
  row.addEventListener("pointerup", ({ pointerId, target }) => {
    if (move?.id !== pointerId) {
      return;
    }
    const { dx, sideways } = move;
    end();
    if (sideways) {
      suppressClick();
      const action = actionOf(dx > 0 ? "right" : "left");
      if (isFar(dx)) {
        row.removeAttribute("data-revealed");
        action?.run();
      } else if (action && Math.abs(dx) >= REVEAL && !row.hasAttribute("data-revealed")) {
        row.toggleAttribute("data-revealed", true);
        onReveal();
      }
      return;
    }
    // Not every browser sends a click for a tap that follows a swipe.
    const button = (target as Element).closest<HTMLElement>(".row-answers button");
    if (button) {
      button.click();
      suppressClick();
    }
  }, { signal });
  row.addEventListener("pointercancel", end, { signal });

  /** The end of a swipe must not open the thread. */
  const suppressClick = () => {
    const until = new AbortController();
    suppressed = until;
    const stop = (event: Event) => {
      event.preventDefault();
      event.stopPropagation();
    };
    row.addEventListener("click", stop, { capture: true, once: true, signal: until.signal });
    setTimeout(() => until.abort(), 300);
  };

  return () => {
    listeners.abort();
    suppressed?.abort();
    row.removeAttribute("data-revealed");
    end();
  };
}
