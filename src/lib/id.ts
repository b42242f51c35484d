/** Every prefix in one place; the part after it is 26 characters: 10 of time (ms), 16 random (80 bits). */
export const ID_PREFIXES = {
  program: "prog",
  flow: "flw",
  partner: "par",
  commission: "com",
  payment: "pmt",
  payout: "pay",
  event: "evt",
  endpoint: "whe",
  delivery: "dlv",
  request: "req",
} as const;

export type IdKind = keyof typeof ID_PREFIXES;

/** Crockford's base 32 in lower case: sorts by code point as it sorts by value. */
const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";
const TIME_CHARACTERS = 10;
const RANDOM_CHARACTERS = 16;

/** A new id of a kind, minted at `now` (ms since the epoch): ids of one kind sort by the millisecond they were made in. */
export function newId(kind: IdKind, now: number): string {
  let random = "";
  for (const byte of crypto.getRandomValues(new Uint8Array(RANDOM_CHARACTERS))) random += ALPHABET[byte & 31];
  return `${ID_PREFIXES[kind]}_${encodeTime(now)}${random}`;
}

/** The smallest id of a kind that can have been minted at `now`; a bound for time filters on the key. */
export function firstIdAt(kind: IdKind, now: number): string {
  return `${ID_PREFIXES[kind]}_${encodeTime(now)}${ALPHABET[0]!.repeat(RANDOM_CHARACTERS)}`;
}

function encodeTime(now: number): string {
  let rest = Math.min(Math.max(Math.trunc(now), 0), 2 ** 48 - 1);
  let text = "";
  for (let i = 0; i < TIME_CHARACTERS; i++) {
    text = ALPHABET[rest % 32]! + text;
    rest = Math.floor(rest / 32);
  }
  return text;
}
