/** Absences of the user. The daemon knows them by its own clock, which no test moves. */

import type { Page } from "playwright-core";

/**
 * Makes the next page that is opened in `page` one of a user who was away from `since` until now, whatever the daemon says. Time in
 * the page goes on from now.
 */
export async function cameBack(page: Page, since: number): Promise<void> {
  const until = Date.now();
  await page.addInitScript(
    ([absence, name]) => {
      if (!sessionStorage.getItem(name!)) {
        sessionStorage.setItem(name!, "used");
        const { get } = Object.getOwnPropertyDescriptor(MessageEvent.prototype, "data")!;
        let answer: unknown;
        Object.defineProperty(MessageEvent.prototype, "data", {
          configurable: true,
          get(this: MessageEvent): unknown {
            const data: unknown = get!.call(this);
            if (typeof data !== "string" || !data.includes('"away":null') || (answer ?? this) !== this) {
              return data;
            }
            answer = this;
            return data.replace('"away":null', `"away":${absence}`);
          },
        });
      }
    },
    [JSON.stringify({ since, until }), `e2e.away.${since}.${until}`],
  );
}
