/**
 * Back closes what is open over the view: the drawer, a dialog, a menu, the sheet of a question. Each has an entry in the
 * browser's history, with the address of the view below it, so that Back leaves the view only when nothing is open. Owns the
 * page's entries of the history.
 */

/** What is open, from the bottom to the top: the function that closes it. */
const layers: (() => void)[] = [];
/** While the browser goes back over the entries of closed layers: what has to wait for that. */
let waiting: (() => void)[] | undefined;
/** The address from which it goes back. The entries of layers have the address of the view below them. */
let from = "";
let arrived = (): void => {};
/**
 * The address, if the page has loaded in an entry of a layer. Nothing is open then, and the entry stays until something takes it
 * over: a page that goes back when it has loaded would stop the navigation of a user who is on the way already.
 */
let left = depth() > 0 ? location.href : undefined;

/** Time in which the browser has gone back, in milliseconds. */
const PATIENCE_MS = 1_000;

/** Returns how many layers the current entry stands for. */
function depth(): number {
  const { layers: number } = (history.state ?? {}) as { layers?: unknown };
  return typeof number === "number" ? number : 0;
}

/** Adds what has just opened. Returns a function that removes it, for when it closes another way. */
export function addLayer(close: () => void): () => void {
  const layer = () => close();
  left = undefined;
  layers.push(layer);
  settle();
  return () => {
    const at = layers.indexOf(layer);
    if (at >= 0) {
      layers.splice(at, 1);
      // Not at once: a navigation takes the entry over, or what opens next does.
      setTimeout(settle);
    }
  };
}

/** Goes to an address. `replace` gives the current entry this address. */
export function moveTo(address: string, replace: boolean): void {
  if (waiting !== undefined) {
    waiting.push(() => moveTo(address, replace));
  } else {
    // What is open closes when the view changes: its entry becomes that of the view.
    left = undefined;
    history[replace || depth() > 0 ? "replaceState" : "pushState"](null, "", address);
  }
}

/** Sets what happens when the user has gone to another entry. */
export function onArrival(handler: () => void): void {
  arrived = handler;
}

/** Makes the history fit what is open. */
function settle(): void {
  if (waiting !== undefined) {
    return;
  }
  const surplus = depth() - layers.length;
  if (surplus > 0) {
    goBack(surplus);
  }
  for (let number = depth() + 1; number <= layers.length; number += 1) {
    history.pushState({ layers: number }, "", location.href);
  }
}

function goBack(steps: number): void {
  waiting = [];
  from = location.href;
  history.go(-steps);
  const mine = waiting;
  setTimeout(() => {
    // There was nothing to go back to, such as in a copied tab.
    if (waiting === mine) {
      history.replaceState(null, "", location.href);
      goOn();
    }
  }, PATIENCE_MS);
}

function goOn(): void {
  const queued = waiting ?? [];
  waiting = undefined;
  queued.forEach((move) => move());
  settle();
}

addEventListener("popstate", () => {
  if (waiting !== undefined) {
    // The user can have gone back meanwhile, which the browser may report with this step.
    const isElsewhere = location.href !== from;
    goOn();
    if (isElsewhere) {
      arrived();
    }
    return;
  }
  if (left !== undefined) {
    const isBelow = location.href === left;
    left = undefined;
    if (isBelow) {
      // The step from the entry of nothing to the view below it has shown nothing: the user wants to leave the view.
      history.go(-(depth() + 1));
      return;
    }
  }
  for (const close of layers.splice(depth()).reverse()) {
    close();
  }
  arrived();
  // The entry of a layer that closed long ago, to which the user went forward.
  settle();
});
