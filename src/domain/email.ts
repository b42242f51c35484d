/** The form under which addresses are compared, as SQLite lowers them: ASCII letters only. */
export function emailKey(address: string): string {
  return address.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
}
