/** The name of the page and its service worker in the log, recorded with the user's decisions. */
export const CLIENT_INFO = { name: "acpd-web", title: "acpd in the browser", version: "0.1.0" };
