/**
 * The first segments of the page's addresses, besides `/`. The daemon's own list is in `crates/web`; a test compares them.
 */
export const VIEWS = ["threads", "agents", "policy", "usage", "archive"] as const;
