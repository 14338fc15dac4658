/** Handlers of a page's requests. */

import type { Route } from "playwright-core";

/**
 * Makes a handler that aborts a request which it cannot answer, such as one under way when the page or its daemon ends. In the middle of
 * a test, the page then shows that the request has failed.
 */
export const answering =
  (answer: (route: Route) => Promise<void>) =>
  (route: Route): Promise<void> =>
    answer(route)
      .catch(() => route.abort())
      // The page is gone.
      .catch(() => {});
