/** Browsers name others in addition to themselves: the first of this list that occurs is the right one. */
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

/** Characters that are searched; browsers send fewer. */
const MOST_CHARACTERS = 512;

/**
 * The browser and system of a User-Agent: "Firefox on Windows", in our own words only, as senders choose the header.
 * Null if unrecognized.
 */
export function deviceOf(user_agent: string): string | null {
  const text = user_agent.slice(0, MOST_CHARACTERS);
  const named = (list: readonly (readonly [string, string])[]) => list.find(([mark]) => text.includes(mark))?.[1];
  return [named(BROWSERS), named(SYSTEMS)].filter((name) => name !== undefined).join(" on ") || null;
}
