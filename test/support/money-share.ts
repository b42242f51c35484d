/** The rounding of the played vendors and of the model. */

/** `a × b ÷ c`, half up. */
export function share(a: number, b: number, c: number): number {
  const [whole, rest] = [(BigInt(a) * BigInt(b)) / BigInt(c), (BigInt(a) * BigInt(b)) % BigInt(c)];
  return Number(whole + (rest * 2n >= BigInt(c) ? 1n : 0n));
}
