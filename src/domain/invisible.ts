/** Characters without a glyph of their own: joiners, direction marks, soft hyphens, byte order marks, controls. */
const INVISIBLE = /(?![\t\n\v\f\r])[\p{Default_Ignorable_Code_Point}\p{Cc}]/gu;

/** Characters without meaning at a text's end. Joiners and variation selectors have one: Malayalam names, emoji. */
const EDGE = /[\s\p{Cc}\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]/u;

/** Removes invisible characters from an identifier, which people copy unseen. Line breaks and tabs stay. */
export function withoutInvisible(text: string): string {
  return text.replaceAll(INVISIBLE, "");
}

/** Whether `trimText` removes this code unit. */
export function isEdge(code: number): boolean {
  return code <= 0x20 || (code > 0x7e && EDGE.test(String.fromCharCode(code)));
}

/** Trims blanks and meaningless invisible characters at both ends. Linear in the text's length. */
export function trimText(text: string): string {
  let [from, to] = [0, text.length];
  while (from < to && isEdge(text.charCodeAt(from))) from++;
  while (to > from && isEdge(text.charCodeAt(to - 1))) to--;
  return text.slice(from, to);
}
