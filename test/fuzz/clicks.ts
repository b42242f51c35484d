/** Requests of browsers and pretenders to the tracking routes. */
import fc from "fast-check";
import {
  contentType,
  hostileBody,
  hostileHeader,
  hostileJson,
  hostileName,
  hostileQuery,
  hostileSegment,
} from "./hostile.ts";
import { ODDITIES } from "../support/odd-shapes.ts";
import { changed, piecesOf, textOf, type JsonText } from "./json-text.ts";
import { place } from "./place.ts";
import { withHeader, type Draft } from "./requests.ts";

const CLICK = {
  program_id: place("own", "program"),
  ref: place("own", "slug"),
  landing: "/pricing",
  referrer: "https://blog.example/a",
  id: "abcdefghijklmnop",
};

const click: fc.Arbitrary<Draft> = fc
  .record({
    changes: fc.array(
      fc.record({
        kind: fc.constantFrom(
          "replace" as const,
          "replace" as const,
          "remove" as const,
          "double" as const,
          "add" as const,
          "odd" as const,
        ),
        at: fc.nat(100),
        value: hostileJson,
        name: hostileName,
        oddity: fc.constantFrom(...ODDITIES),
      }),
      { maxLength: 2 },
    ),
    hostile: fc.option(hostileBody, { freq: 5 }),
    type: fc.option(contentType, { freq: 5 }),
    header: fc.option(hostileHeader, { freq: 3 }),
  })
  .map(({ changes, hostile, type, header }) => {
    const text = textOf(changes.reduce<JsonText>((at, one) => changed(at, one), piecesOf(CLICK)));
    const headers: [string, string][] = [["content-type", type ?? "text/plain"]];
    return {
      method: "POST",
      path: "/click",
      headers: header === null ? headers : withHeader(headers, header),
      body: hostile ?? text,
      refused: false,
    };
  });

const link: fc.Arbitrary<Draft> = fc
  .record({
    program: fc.oneof(fc.constant(place("own", "program")), hostileSegment),
    slug: fc.oneof(fc.constant(place("own", "slug")), hostileSegment),
    to: fc.option(hostileSegment),
    query: fc.option(hostileQuery),
    header: fc.option(hostileHeader),
  })
  .map(({ program, slug, to, query, header }) => ({
    method: "GET",
    path: `/r/${program}/${slug}?${[to === null ? "" : `to=${to}`, query ?? ""].join("&")}`,
    headers: header === null ? [] : [header],
    body: null,
    refused: false,
  }));

export const trackingRequest: fc.Arbitrary<Draft> = fc.oneof(click, link);
