/** Days of a program's time zone (PROG-11). */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { dayIn, normalTimeZone, startOfDayIn, startOfLaterDayIn } from "../../src/domain/time-zone.ts";

const HOUR = 3_600_000;
const at = (text: string) => Date.parse(text);
const iso = (ms: number) => new Date(ms).toISOString();

describe("a time zone (PROG-11)", () => {
  it("is one of the tz database, as that writes it", () => {
    expect(["europe/berlin", "utc", "America/New_York"].map(normalTimeZone)).toEqual([
      "Europe/Berlin",
      "UTC",
      "America/New_York",
    ]);
    for (const none of ["", "Berlin", "+01:00", "Europe/Nowhere", "UTC\0", "Europe/Berlin ", "x".repeat(64)]) {
      expect(normalTimeZone(none), none).toBeNull();
    }
  });

  it.each([
    ["Europe/Berlin", "2026-03-29T12:00:00Z", "2026-03-28T23:00:00.000Z", 23],
    ["Europe/Berlin", "2026-10-25T12:00:00Z", "2026-10-24T22:00:00.000Z", 25],
    ["America/New_York", "2026-11-01T12:00:00Z", "2026-11-01T04:00:00.000Z", 25],
    ["Asia/Kathmandu", "2026-06-01T00:00:00Z", "2026-05-31T18:15:00.000Z", 24],
    ["Pacific/Kiritimati", "2026-06-01T00:00:00Z", "2026-05-31T10:00:00.000Z", 24],
    // Midnight is left out: the day begins at one.
    ["America/Santiago", "2026-09-06T12:00:00Z", "2026-09-06T04:00:00.000Z", 23],
    ["UTC", "2026-06-01T00:00:00Z", "2026-06-01T00:00:00.000Z", 24],
  ])("%s: the day of %s begins at %s and has %d hours", (zone, now, begins, hours) => {
    const start = startOfDayIn(zone, at(now));
    expect([iso(start), (startOfLaterDayIn(zone, at(now), 1) - start) / HOUR]).toEqual([begins, hours]);
  });

  it("has days without gaps between them, in every zone", () => {
    const zone = fc.constantFrom("UTC", "Europe/Lisbon", "Asia/Gaza", "America/Havana", "Australia/Lord_Howe");
    const when = fc.integer({ min: at("2024-01-01"), max: at("2030-01-01") });
    fc.assert(
      fc.property(zone, when, (name, now) => {
        const [start, end] = [startOfDayIn(name, now), startOfLaterDayIn(name, now, 1)];
        expect(start <= now && now < end).toBe(true);
        expect(dayIn(name, start)).toBe(dayIn(name, end - 1));
        expect(dayIn(name, start - 1) < dayIn(name, start)).toBe(true);
      }),
    );
  });
});
