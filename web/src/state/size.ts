/** The memory of data, estimated. Pure. */

/** What an object and each of its members take in current engines, and each UTF-16 unit of a text, in bytes. */
const OBJECT = 32;
const MEMBER = 8;
const UNIT = 2;

/**
 * Estimates the bytes of a value without cycles. Counts on only until `limit` is exceeded, so that it takes a bounded time. What is in it
 * twice counts twice.
 */
export function sizeOf(value: unknown, limit: number): number {
  let size = 0;
  const left: unknown[] = [value];
  while (left.length > 0 && size <= limit) {
    const one = left.pop();
    if (typeof one === "string") {
      size += OBJECT + UNIT * one.length;
    } else if (typeof one === "object" && one !== null) {
      const members = Object.values(one);
      size += OBJECT + MEMBER * members.length;
      for (const member of members) {
        if (typeof member === "string" || typeof member === "object") {
          left.push(member);
        }
      }
    }
  }
  return size;
}
