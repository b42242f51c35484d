const HIDDEN = "****";

/** Shorter local parts show at most their first character. */
const SHOWS_LAST_FROM = 4;

/**
 * Masks an e-mail address for people who do not pay by it: `w****a@example.com`. Shows the first and last character
 * before the `@` if there are four or more, the first if there are two or three, otherwise no character.
 */
export function maskAddress(address: string): string {
  const at = address.lastIndexOf("@");
  if (at < 1) return HIDDEN;
  const characters = Array.from(address.slice(0, at));
  const first = characters.length > 1 ? characters[0] : "";
  const last = characters.length >= SHOWS_LAST_FROM ? characters.at(-1) : "";
  return `${first}${HIDDEN}${last}${address.slice(at)}`;
}

const ACCOUNT_PREFIX = /^[a-z]+_/;
const SHOWN_CHARACTERS = 4;

/** Masks a vendor's account id except its last four characters: `acct_****a2bC`. */
export function maskAccount(id: string): string {
  const prefix = ACCOUNT_PREFIX.exec(id)?.[0] ?? "";
  const rest = id.slice(prefix.length);
  return `${prefix}${HIDDEN}${rest.length > 2 * SHOWN_CHARACTERS ? rest.slice(-SHOWN_CHARACTERS) : ""}`;
}

/** Masks a text except its first and last two characters, its last two if it has less than eight: `0x****3f`. */
export function maskText(text: string): string {
  const characters = Array.from(text);
  if (characters.length < 4) return HIDDEN;
  const first = characters.length < 8 ? "" : characters.slice(0, 2).join("");
  return first + HIDDEN + characters.slice(-2).join("");
}

/** Masks an IBAN except its country and its last four characters: `DE** **** **** **** **30 00`. */
export function maskIban(iban: string): string {
  const hidden = iban.slice(0, 2) + "*".repeat(Math.max(iban.length - 6, 0)) + iban.slice(-4);
  return hidden.replaceAll(/.{4}(?=.)/g, "$& ");
}

/** Masks values shown side by side; different ones with one mask are marked: `w****a@example.com (a different one)`. */
export function maskDistinctly<Value, Shown>(mask: (value: Value) => Shown): (value: Value) => Shown | string {
  const shown = new Map<Value, Shown | string>();
  return (value) => {
    const known = shown.get(value);
    if (known !== undefined) return known;
    const masked = mask(value);
    const taken = new Set(shown.values());
    let text: Shown | string = masked;
    for (let n = 2; taken.has(text); n++) text = `${String(masked)} (a different one${n > 2 ? `, ${n}` : ""})`;
    shown.set(value, text);
    return text;
  };
}
