/** A browser names others beside itself: the first of these that it names is the one. */
const BROWSERS = [
  ["Edg", "Edge"],
  ["OPR/", "Opera"],
  ["SamsungBrowser/", "Samsung Internet"],
  ["Firefox/", "Firefox"],
  ["FxiOS/", "Firefox"],
  ["Chrome/", "Chrome"],
  ["CriOS/", "Chrome"],
  ["Safari/", "Safari"],
] as const;

const SYSTEMS = [
  ["iPhone", "iPhone"],
  ["iPad", "iPad"],
  ["Android", "Android"],
  ["Windows", "Windows"],
  ["CrOS", "ChromeOS"],
  ["Mac OS X", "macOS"],
  ["Linux", "Linux"],
] as const;

/** What is looked at; browsers' own are shorter. */
const MOST_CHARACTERS = 512;

/**
 * What somebody signs in with, from the User-Agent: "Firefox on Windows". Only in words of this list, whatever the header
 * says, for it is the sender's text. Null where it names neither a browser nor a system of it.
 */
export function deviceOf(user_agent: string): string | null {
  const text = user_agent.slice(0, MOST_CHARACTERS);
  const named = (list: readonly (readonly [string, string])[]) => list.find(([mark]) => text.includes(mark))?.[1];
  return [named(BROWSERS), named(SYSTEMS)].filter((name) => name !== undefined).join(" on ") || null;
}
