/** Something that can be found: a guide or a part of one, an operation, an event, an error or another code. */
export interface Entry {
  title: string;
  href: string;
  /** The kind, for people. */
  kind: string;
  /** How its text begins, for people; Markdown. */
  about: string;
  /** The stems of its title and of its text, with a space before and after each. */
  head: string;
  words: string;
}

/** The file `docs/search.json`. */
export interface SearchIndex {
  /** Phrases with the same meaning here, as stems, for the stems of a phrase. */
  synonyms: Record<string, string[]>;
  entries: Entry[];
}

/** Too common to distinguish entries. */
const COMMON = new Set(
  "a after an and are as at be by can do does for from has have how i if in is it its many me much my of on or so that the their them then there these they this to was we what when where which who why will with you your".split(
    " ",
  ),
);
const MOST = 30;
/** The rest of a longer query is ignored. */
export const LONGEST_QUERY = 200;
const MOST_WORDS = 8;
/** Characters: a longer text has almost any word. */
const LONG = 2_000;

/** A word without accents, case and the endings -s, -es, -ed, -ing, -e; the two spellings of y become one. */
function stemOf(word: string): string {
  if (word.length < 4 || /[\d_.]/.test(word)) return word;
  return word
    .replace(/ie[sd]$/, "y")
    .replace(/(?<![su])s$/, "")
    .replace(/(?:ing|ed)$/, (ending, at: number, all: string) => (/[aeiouy]/.test(all.slice(0, at)) ? "" : ending))
    .replace(/([^aeiouls])\1$/, "$1")
    .replace(/(?<=..)e$/, "")
    .replace(/y$/, "i");
}

/** Compounds in two words or with a hyphen: back up, log-in, e-mail, web hook. */
const SPLIT =
  /\b(e(?=.mail)|back|cash|charge|check|claw|end|log|opt|pay|roll|set|sign|web)[ -](mail|back|hook|in|off|out|point|up)/gi;
const joinCompounds = (text: string) => text.replaceAll(SPLIT, "$1$2");

/** The stems of a text in its order. A name such as `payout.paid` or `listPartners` is a stem and has the stems of its parts. */
export function stemsOf(text: string): string[] {
  const plain = joinCompounds(text.normalize("NFD").replaceAll(/\p{M}/gu, ""));
  const names = plain.match(/\w+(?:\.\w+)*/g) ?? [];
  const words = names.flatMap((name) => {
    const parts = name.replaceAll(/(?<=[a-z])(?=[A-Z])/g, " ").split(/[ ._]+/);
    return parts.length > 1 ? [name, ...parts] : parts;
  });
  return words.map((word) => stemOf(word.toLowerCase())).filter((word) => word !== "" && !COMMON.has(word));
}

/** The words of a query: a name counts as one. */
function askedOf(query: string): string[] {
  const names = joinCompounds(query).match(/[^\s/-]+/g) ?? [];
  const words = names.map((name) => stemsOf(name)[0] ?? "").filter(Boolean);
  return words.slice(0, MOST_WORDS);
}

/** One way to meet a word of the query: all of these stems. */
interface Way {
  stems: string[];
  weight: number;
}

function waysOf(asked: readonly string[], synonyms: SearchIndex["synonyms"]): Way[][] {
  const ways = asked.map((word): Way[] => [{ stems: [word], weight: 1 }]);
  const all = Object.entries(synonyms).map(([key, meanings]) => ({ key: key.split(" "), meanings }));
  for (const { key, meanings } of all) {
    const at = asked.findIndex((_, i) => key.every((word, k) => asked[i + k] === word));
    if (at === -1) continue;
    const same = meanings.map((meaning) => ({ stems: meaning.split(" "), weight: 0.6 }));
    for (const way of ways.slice(at, at + key.length)) way.push(...same);
  }
  return ways;
}

/** How well an entry has a stem: in its title before its text, as a whole before as a beginning. */
function matchOf({ head, words, href }: Entry, stem: string): number {
  const title = href.includes("#") ? 9 : 12;
  const begins = stem.length > 2 ? ` ${stem}` : ` ${stem} `;
  if (head.includes(` ${stem} `)) return title;
  if (head.includes(begins)) return title / 2;
  // Guides and reference come before the changelog.
  const text = words.length > LONG || href.includes("/changelog") ? 1 : 2;
  if (words.includes(` ${stem} `)) return text;
  return words.includes(begins) ? text / 2 : 0;
}

/** Best first: those with more of the query's words, then those with the whole phrase, then by the place of the words. */
export function search({ entries, synonyms }: SearchIndex, query: string): Entry[] {
  const asked = askedOf(query.slice(0, LONGEST_QUERY));
  const ways = waysOf(asked, synonyms);
  const phrase = ` ${asked.join(" ")} `;
  const wholeOf = ({ head, words }: Entry) => {
    if (head.includes(phrase)) return head === phrase ? 60 : 30;
    return asked.length > 1 && words.includes(phrase) ? 6 : 0;
  };
  const scored = entries.map((entry) => {
    const scores = ways.map((way) =>
      Math.max(...way.map(({ stems, weight }) => weight * Math.min(...stems.map((stem) => matchOf(entry, stem))))),
    );
    const met = scores.filter((score) => score > 0).length;
    return { entry, met, score: scores.reduce((sum, score) => sum + score, met > 0 ? wholeOf(entry) : 0) };
  });
  return scored
    .filter(({ met }) => met > 0)
    .toSorted((a, b) => b.met - a.met || b.score - a.score)
    .slice(0, MOST)
    .map(({ entry }) => entry);
}
