/** Events of the payment providers: real ones, with things changed in them, rightly signed and not. */
import fc from "fast-check";
import { byVendor, claimsPrograms, VENDOR_NAMES, type ListedVendor } from "../../src/providers/registry.ts";
import { ODDITIES } from "../support/odd-shapes.ts";
import { TEST_VENDORS, thinSamples } from "../support/vendors/index.ts";
import { contentType, hostileBody, hostileHeader, hostileJson, hostileName, hostileQuery } from "./hostile.ts";
import { changed, piecesOf, textOf, type Change, type JsonText } from "./json-text.ts";
import { place } from "./place.ts";
import { withHeader, type Draft } from "./requests.ts";

export interface SignedDraft extends Draft {
  /** The owner of the secret that signs the exact bytes, or null. */
  signs: ListedVendor | null;
}

const THIN = byVendor((name) => thinSamples(TEST_VENDORS[name]));

const change: fc.Arbitrary<Change> = fc.record({
  kind: fc.constantFrom<Change["kind"][]>(
    ...(["replace", "replace", "replace", "remove", "double", "add", "wrap", "odd", "odd", "odd"] as const),
  ),
  at: fc.nat(5_000),
  value: hostileJson,
  name: hostileName,
  oddity: fc.constantFrom(...ODDITIES),
});

export const inboundRequest: fc.Arbitrary<SignedDraft> = fc
  .record({
    provider: fc.constantFrom(...VENDOR_NAMES),
    event: fc.nat(1_000),
    isThin: fc.nat(5).map((n) => n === 0),
    nonce: fc.nat(),
    changes: fc.array(change, { maxLength: 3 }),
    hostile: fc.option(hostileBody, { freq: 6 }),
    program: fc.oneof(
      { weight: 8, arbitrary: fc.constant(place("own", "program")) },
      { weight: 1, arbitrary: fc.constant(place("other", "program")) },
      { weight: 1, arbitrary: fc.constantFrom("", "prog_none", "%00", "%ff") },
    ),
    isSigned: fc.integer({ min: 0, max: 5 }).map((n) => n > 0),
    header: fc.option(hostileHeader, { freq: 8 }),
    type: fc.option(contentType, { freq: 8 }),
    query: fc.option(hostileQuery, { freq: 8 }),
  })
  .map(({ provider, event, isThin, nonce, changes, hostile, program, isSigned, header, type, query }) => {
    const events = isThin && THIN[provider].length > 0 ? THIN[provider] : TEST_VENDORS[provider].samples;
    const pieces = piecesOf(events[event % events.length]);
    // Each event is a new one, of one of a few payments.
    const text = textOf(changes.reduce<JsonText>((at, one) => changed(at, one), pieces))
      .replace(/"evt_\w+"/, `"evt_${nonce}"`)
      .replaceAll("_fuzz", `_fuzz${nonce % 7}`);
    const headers: [string, string][] = [["content-type", type ?? "application/json"]];
    return {
      method: "POST",
      path: `/webhooks/${provider}?program_id=${program}${query === null ? "" : `&${query}`}`,
      headers: header === null ? headers : withHeader(headers, header),
      body: hostile ?? text,
      // The other program's secret is unknown here; some bodies name their program themselves.
      refused: !claimsPrograms(provider) && program.startsWith("{{other"),
      signs: isSigned ? provider : null,
    };
  });
