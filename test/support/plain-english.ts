/** Comments of a source text, and the turns of phrase that make a reader read one twice. */

export interface Comment {
  /** The first line of the comment, from 1. */
  line: number;
  /** The comment in one line, without its marks and without quoted code. */
  text: string;
}

/**
 * Every comment of a TypeScript text. Lines of `//` that follow each other are one comment. Approximate: a comment begins a
 * line or follows code and a space, so an address in a string is not a comment.
 */
export function commentsOf(source: string): Comment[] {
  const comments: Comment[] = [];
  const lines = source.split("\n");
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i]!;
    const block = /(?:^|[\s{(])\/\*(.*)$/.exec(line);
    const begun = i;
    const parts: string[] = [];
    if (block) {
      let rest = block[1]!;
      while (!rest.includes("*/") && i + 1 < lines.length) {
        parts.push(rest);
        rest = lines[++i]!;
      }
      parts.push(rest.slice(0, Math.max(0, rest.indexOf("*/"))));
    } else if (/^\s*\/\//.test(line)) {
      parts.push(line);
      while (/^\s*\/\//.test(lines[i + 1] ?? "")) parts.push(lines[++i]!);
    } else {
      const trailing = /[;,{})\]] \/\/ (.*)$/.exec(line);
      if (trailing) parts.push(trailing[1]!);
    }
    const text = parts.map((part) => part.replace(/^\s*(?:\/\/|\*+)?\s*/, "").trim()).join(" ");
    if (parts.length > 0) comments.push({ line: begun + 1, text: text.replaceAll(/`[^`]*`/g, "``").trim() });
  }
  return comments;
}

/** One pattern for each class of language that `language.md`'s rules forbid; a comment counts once in each. */
export const STUMBLES = {
  /** "Of a banner the picture": a comment is a sentence or a noun. */
  fragment: /^(?:what|who|whoever|whatever|where|of|by|for|to|with|in)\b/i,
  /** "what is left of a run": write the noun, "the remaining budget". */
  clause: /\b(?:what|whatever|whoever|whichever)\b|(?:^|\b(?:of|to|by|with|from|only|and|or|says?|as) )who\b/i,
  /** "where" for "if" or "when". Approximate: right after a place, and before "to". */
  where:
    /(?<!\b(?:pages?|places?|files?|folders?|address|addresses|lists?|columns?|tables?|points?|countr(?:y|ies)|regions?|lines?|sites?|position|from|to|know|decides?) )\bwhere\b(?! to\b)/i,
  /** "replaces nothing", "nobody asks": negate the verb. */
  negation: /\b(?:nobody|nothing|none|nowhere|nobody's)\b/i,
  /** Programs do not hear, say or ask: they receive, report and request. */
  participle:
    /\b(?:is|are|was|were|be|been|being|has|have|had) (?:\w+ )?(?:said|asked|taken in|taken up|given up|given back|brought|heard|looked at|looked for|spoken)\b|\b(?:says?|said|asks? (?:of|for|about)|hears?|heard|knows? of|speaks?|remembers?|gives? up|takes? in)\b/i,
} satisfies Record<string, RegExp>;

export type Stumble = keyof typeof STUMBLES;

/** The classes that a comment's text falls into. */
export function stumblesIn(text: string): Stumble[] {
  return (Object.keys(STUMBLES) as Stumble[]).filter((name) => STUMBLES[name].test(text));
}
