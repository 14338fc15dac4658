/** The current view, by the address. The paths are real, so links and the back button work. */

import { signal } from "@preact/signals";

import { VIEWS } from "../state/views.ts";
import { SHARED } from "../text/shared-address.ts";
import { moveTo, onArrival } from "./back.ts";

export type Route =
  | { view: "home"; agent?: string }
  | { view: "thread"; threadId: string; item?: string; find?: string }
  | { view: "policy"; threadId?: string }
  | { view: "agents" }
  | { view: "usage" }
  | { view: "archive" };

export const route = signal<Route>(parse(location.pathname + location.search));

onArrival(() => {
  const address = location.pathname + location.search;
  if (address !== pathOf(route.peek())) {
    route.value = parse(address);
  }
});

/** Navigates to a view. */
export function go(to: Route, { replace = false } = {}): void {
  const path = pathOf(to);
  if (path !== location.pathname + location.search) {
    // A page with a shared thread stays one.
    const end = location.hash.startsWith(SHARED) ? location.hash : "";
    moveTo(path + end, replace);
  }
  route.value = to;
}

export function pathOf(to: Route): string {
  switch (to.view) {
    case "home":
      return to.agent ? `/?agent=${encodeURIComponent(to.agent)}` : "/";
    case "thread": {
      const item = to.item ? `?item=${encodeURIComponent(to.item)}` : "";
      const find = to.item && to.find ? `&find=${encodeURIComponent(to.find)}` : "";
      return `/threads/${encodeURIComponent(to.threadId)}${item}${find}`;
    }
    case "policy":
      return to.threadId ? `/threads/${encodeURIComponent(to.threadId)}/policy` : "/policy";
    default:
      return `/${to.view}`;
  }
}

export function parse(address: string): Route {
  const { pathname, searchParams } = new URL(address, "http://page");
  const [segment, second, third] = pathname.split("/").filter(Boolean).map(decode);
  const first = VIEWS.find((view) => view === segment);
  if (first === "threads" && second) {
    return third === "policy"
      ? { view: "policy", threadId: second }
      : { view: "thread", threadId: second, item: searchParams.get("item") ?? undefined, find: searchParams.get("find") ?? undefined };
  }
  if (first !== undefined && first !== "threads") {
    return { view: first };
  }
  return { view: "home", agent: searchParams.get("agent") ?? undefined };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
