/** How the address of a page with a shared thread ends, followed by the link's id, which is not secret. */
export const SHARED = "#shared=";
