/** Compares two texts by their UTF-8 bytes, as SQLite does; `<` compares UTF-16, which puts emoji before `％`. */
export function compareUtf8(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const difference = placeOf(a.charCodeAt(i)) - placeOf(b.charCodeAt(i));
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

/** Surrogates belong to characters beyond U+FFFF, which come last in UTF-8. */
function placeOf(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
}
