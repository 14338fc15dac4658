/** Returns what a promise resolves to; rejects with `late` after a time, in milliseconds. The operation itself goes on. */
export async function within<T>(promise: Promise<T>, time: number, late: Error): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const end = new Promise<never>((_, reject) => (timer = setTimeout(() => reject(late), time)));
  try {
    return await Promise.race([promise, end]);
  } finally {
    clearTimeout(timer);
  }
}
