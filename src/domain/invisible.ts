/** Characters without a glyph of their own: joiners, direction marks, soft hyphens, byte order marks, controls. */
const INVISIBLE = /(?![\t\n\v\f\r])[\p{Default_Ignorable_Code_Point}\p{Cc}]/gu;

/**
 * Those that mean nothing at the end of a text. Joiners and variation selectors do: names in Malayalam end with one, and so
 * do emoji.
 */
const EDGE = /[\s\p{Cc}\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]/u;

/** An identifier without invisible characters, which people copy with it and cannot see. Line breaks and tabs stay. */
export function withoutInvisible(text: string): string {
  return text.replaceAll(INVISIBLE, "");
}

/** Whether `trimText` removes a character of this code unit. */
export function isEdge(code: number): boolean {
  return code <= 0x20 || (code > 0x7e && EDGE.test(String.fromCharCode(code)));
}

/** The text without blanks and meaningless invisible characters at both ends; what is between stays. Linear in its length. */
export function trimText(text: string): string {
  let [from, to] = [0, text.length];
  while (from < to && isEdge(text.charCodeAt(from))) from++;
  while (to > from && isEdge(text.charCodeAt(to - 1))) to--;
  return text.slice(from, to);
}
