/// <reference types="vite/types/importMeta.d.ts" />
import { it } from "vitest";

/**
 * Captured vendor events kept beside some checkouts of this repository (`../shared/fixtures`), by file name: an empty
 * record in a clone without them. Tests may compare with them, as `itOfCaptured`, and must not need them.
 */
export const fixtures: Record<string, string> = Object.fromEntries(
  Object.entries(
    import.meta.glob<string>("../../../shared/fixtures/*.json", { query: "?raw", import: "default", eager: true }),
  ).map(([path, text]) => [path.split("/").at(-1)!, text]),
);

/** A test of the captured events: skipped, and shown as skipped, in a clone without them. */
export const itOfCaptured = it.skipIf(Object.keys(fixtures).length === 0);

/** The fixtures of one vendor that are events, parsed. */
export function fixtureEvents(vendor: "a" | "b"): [string, Record<string, unknown>][] {
  return Object.entries(fixtures)
    .filter(([name]) => name.startsWith(`${vendor}.`))
    .map(([name, text]) => [name, JSON.parse(text) as Record<string, unknown>] as [string, Record<string, unknown>])
    .filter(([, event]) => "data" in event);
}
