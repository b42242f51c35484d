/** Payout details as they may be shown to whoever does not pay by them: `w****@example.com`. */
export function maskAddress(address: string): string {
  const at = address.lastIndexOf("@");
  const [first = ""] = address;
  return at < 1 ? "****" : `${first}****${address.slice(at)}`;
}

const ACCOUNT_PREFIX = /^[a-z]+_/;
const SHOWN_CHARACTERS = 4;

/** A vendor's account id with its last four characters: `acct_****a2bC`. */
export function maskAccount(id: string): string {
  const prefix = ACCOUNT_PREFIX.exec(id)?.[0] ?? "";
  const rest = id.slice(prefix.length);
  return `${prefix}****${rest.length > 2 * SHOWN_CHARACTERS ? rest.slice(-SHOWN_CHARACTERS) : ""}`;
}
