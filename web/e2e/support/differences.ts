/** Compares data, and names each place at which they differ. */

/** Returns one line for each difference; empty members and the order of members mean nothing. */
export function differences(one: unknown, other: unknown, path = ""): string[] {
  if (Array.isArray(one) && Array.isArray(other)) {
    const length = Math.max(one.length, other.length);
    return Array.from({ length }, (_, at) => differences(one[at], other[at], `${path}[${at}]`)).flat();
  }
  if (isObject(one) && isObject(other)) {
    const keys = new Set([...Object.keys(one), ...Object.keys(other)]);
    return [...keys].flatMap((key) => differences(one[key], other[key], `${path}.${key}`));
  }
  return filled(one) === filled(other) ? [] : [`${path}: ${short(one)} and ${short(other)}`];
}

/** Members that are empty or false are often left out. */
function filled(value: unknown): unknown {
  return value === null || value === "" || value === false || (Array.isArray(value) && value.length === 0) ? undefined : value;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function short(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}
