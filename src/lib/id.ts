/** Prefixes of all ids; the part after it is 26 characters: 10 of time (ms), 16 random (80 bits). */
export const ID_PREFIXES = {
  program: "prog",
  member: "mem",
  flow: "flw",
  group: "grp",
  partner: "par",
  application: "app",
  code: "cod",
  commission: "com",
  payment: "pmt",
  payout: "pay",
  export: "exp",
  claim: "clm",
  entry: "ent",
  decision: "dcn",
  event: "evt",
  endpoint: "whe",
  delivery: "dlv",
  passkey: "pky",
  mail: "mail",
  tax_data: "tax",
  api_key: "key",
  request: "req",
} as const;

export type IdKind = keyof typeof ID_PREFIXES;

/** The form of every id. */
export const ID_PATTERN = /^[a-z]+_[0-9a-z]{26}$/;

/** Crockford's base 32 in lower case: sorts by code point as it sorts by value. */
export const ID_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";
const TIME_CHARACTERS = 10;
const RANDOM_CHARACTERS = 16;

/** A new id of a kind, made at `now` (ms): ids of one kind sort by their millisecond. */
export function newId(kind: IdKind, now: number): string {
  if (used === pool.length) {
    crypto.getRandomValues(pool);
    used = 0;
  }
  let random = "";
  for (const end = used + RANDOM_CHARACTERS / 2; used < end; used++) random += PAIRS[pool[used]! & 1023]!;
  return `${ID_PREFIXES[kind]}_${encodeTime(now)}${random}`;
}

/** Every pair of characters. */
const PAIRS = Array.from(ID_ALPHABET, (first) => Array.from(ID_ALPHABET, (second) => first + second)).flat();

/** Random numbers for next ids, each used once: getting them from the platform costs more than the id. */
const pool = new Uint16Array(128 * RANDOM_CHARACTERS);
let used = pool.length;

/** The smallest id of a kind that can have been made at `now`; a bound for time filters on the key. */
export function firstIdAt(kind: IdKind, now: number): string {
  return `${ID_PREFIXES[kind]}_${encodeTime(now)}${ID_ALPHABET[0]!.repeat(RANDOM_CHARACTERS)}`;
}

/** The instant (ms) of an id. Letters that ids do not use count as the next id after it. */
export function instantOf(id: string): number {
  const time = id.slice(id.indexOf("_") + 1).slice(0, TIME_CHARACTERS);
  let ms = 0;
  let beyond = false;
  for (let i = 0; i < TIME_CHARACTERS; i++) {
    const character = time[i] ?? "0";
    const digit: number = beyond ? 0 : ID_ALPHABET.split("").findIndex((letter) => letter >= character);
    beyond ||= ID_ALPHABET[digit] !== character;
    ms = ms * 32 + digit;
  }
  return ms;
}

function encodeTime(now: number): string {
  if (now === encoded.now) return encoded.text;
  let rest = Math.min(Math.max(Math.trunc(now), 0), 2 ** 48 - 1);
  let text = "";
  for (let i = 0; i < TIME_CHARACTERS; i++) {
    text = ID_ALPHABET[rest % 32]! + text;
    rest = Math.floor(rest / 32);
  }
  encoded = { now, text };
  return text;
}

/** The time part of the last id: many are made in one millisecond. */
let encoded = { now: Number.NaN, text: "" };
