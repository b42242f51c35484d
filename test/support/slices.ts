/** Does sliced work at once, and counts its slices. */
export function allSlices<T>(work: Generator<void, T, void>): { result: T; slices: number } {
  for (let slices = 1; ; slices++) {
    const step = work.next();
    if (step.done) return { result: step.value, slices };
  }
}
