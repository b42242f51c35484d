/**
 * A program's rows are in one database, its shard: 0 is the binding `DB`, n the binding `DB_n`. The caller's text (a
 * program id, an API key, the token of a link or a session) contains the shard, so that finding the database needs no
 * lookup. Texts of other forms, and those made before there were several databases, mean shard 0.
 */
export const MAX_SHARD = 31;

export function bindingName(shard: number): string {
  return shard === 0 ? "DB" : `DB_${shard}`;
}

/** The alphabet of ids: Crockford's base 32 in lower case. */
const DIGITS = "0123456789abcdefghjkmnpqrstvwxyz";
const PROGRAM_PREFIX = "prog_";
const PROGRAM_ID_LENGTH = 31;

const PROGRAM_ID = new RegExp(`^${PROGRAM_PREFIX}[${DIGITS}]{${PROGRAM_ID_LENGTH - PROGRAM_PREFIX.length}}$`);

/** Whether a text has the form of a program id; the program need not exist. */
export function isProgramId(text: string): boolean {
  return PROGRAM_ID.test(text);
}

/** A program id's shard: its first time character, which is `0` anyway until 3084. Neither need exist. */
export function shardOfProgram(program_id: string): number {
  if (program_id.length !== PROGRAM_ID_LENGTH || !program_id.startsWith(PROGRAM_PREFIX)) return 0;
  return Math.max(0, DIGITS.indexOf(program_id.charAt(PROGRAM_PREFIX.length)));
}

export function programIdOn(shard: number, program_id: string): string {
  return `${PROGRAM_PREFIX}${digitOf(shard)}${program_id.slice(PROGRAM_PREFIX.length + 1)}`;
}

/** A sort key for program ids of several shards, oldest first: all but the shard's digit. */
export function ageOfProgramId(program_id: string): string {
  return program_id.slice(PROGRAM_PREFIX.length + 1);
}

/** 256 random bits as text, after the shard's digit and `_` unless the shard is 0. */
export const TOKEN_PATTERN = /^(?:([1-9a-hjkmnp-tv-z])_)?[A-Za-z0-9_-]{43}$/;

/** The shard of a link's or session's token. */
export function shardOfToken(token: string): number {
  const digit = TOKEN_PATTERN.exec(token)?.[1];
  return digit === undefined ? 0 : DIGITS.indexOf(digit);
}

/** A token made from `random` that contains its shard. */
export function tokenOn(shard: number, random: string): string {
  return shard === 0 ? random : `${digitOf(shard)}_${random}`;
}

const KEY_PREFIX = "sk_";

/** A further key has 44 characters, so that its text shows which table contains its hash. */
const FURTHER_KEY = /^sk_(?:([1-9a-hjkmnp-tv-z])_)?[A-Za-z0-9_-]{44}$/;

/** Whether a text has the form of a key in addition to the program's first. */
export function isFurtherKey(api_key: string): boolean {
  return FURTHER_KEY.test(api_key);
}

export function shardOfKey(api_key: string): number {
  const digit = FURTHER_KEY.exec(api_key)?.[1];
  if (digit !== undefined) return DIGITS.indexOf(digit);
  return api_key.startsWith(KEY_PREFIX) ? shardOfToken(api_key.slice(KEY_PREFIX.length)) : 0;
}

/** An API key from `random` with its shard: 43 characters for a program's first, 44 for a further one. */
export function keyOn(shard: number, random: string): string {
  return `${KEY_PREFIX}${tokenOn(shard, random)}`;
}

/** The shard in a click object's name: `weur:3` is on shard 0, `weur:3@1` on shard 1. */
export function shardOfClickObject(name: string): number {
  const at = name.lastIndexOf("@");
  return at < 0 ? 0 : Number(name.slice(at + 1));
}

export function clickObjectOn(shard: number, name: string): string {
  return shard === 0 ? name : `${name}@${shard}`;
}

function digitOf(shard: number): string {
  const digit = DIGITS[shard];
  if (digit === undefined) throw new RangeError(`a shard is 0 to ${MAX_SHARD}`);
  return digit;
}
