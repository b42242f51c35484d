import { isbot } from "isbot";

/**
 * Whether a User-Agent names a known bot: a crawler, link previewer or monitor (the maintained list of `isbot`).
 *
 * HTTP libraries and automated browsers are run on purpose, for example by an owner's server that reports a click, so
 * they are not known bots. A missing User-Agent is not a bot either.
 */
export function isKnownBot(header: string | null): boolean {
  const userAgent = header?.slice(0, READ_LENGTH) ?? "";
  if (userAgent === "") return false;
  const known = verdicts.get(userAgent);
  if (known !== undefined) return known;
  const verdict = !TOOL_PATTERN.test(userAgent) && isbot(userAgent.replace("HeadlessChrome/", "Chrome/"));
  if (verdicts.size >= KEPT_VERDICTS) verdicts.clear();
  if (userAgent.length <= KEPT_LENGTH) verdicts.set(userAgent, verdict);
  return verdict;
}

const TOOL_PATTERN =
  /^(?:node|undici|axios|got|deno|bun|curl|wget|python|aiohttp|httpx|go-http-client|okhttp|java|apache-httpclient|ruby|faraday|php|guzzlehttp|symfony|postmanruntime|insomnia|httpie|reqwest|hyper)\b/i;

/** Matching the list costs several µs a name and visitors share few names, so results are cached, within a bound. */
const verdicts = new Map<string, boolean>();
const KEPT_VERDICTS = 2_000;
const KEPT_LENGTH = 512;
/** Several times the length that browsers send; a bot names itself earlier in the text. */
const READ_LENGTH = 1_024;
