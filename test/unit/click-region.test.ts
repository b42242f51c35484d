import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { clickObject, countryOf, firstOf, hintOf, isFirst, OBJECTS_PER_REGION } from "../../src/clicks/region.ts";

describe("which object takes a click (architecture: objects are named by region and shard, not by program)", () => {
  it.each([
    ["NA", "-122.4", "wnam"],
    ["NA", "-73.9", "enam"],
    ["SA", "-46.6", "sam"],
    ["EU", "-0.1", "weur"],
    ["EU", "13.4", "weur"],
    ["EU", "24.9", "eeur"],
    ["AS", "55.3", "me"],
    ["OC", "151.2", "oc"],
    ["AF", "28.0", "afr"],
    ["AN", "0", "enam"],
    ["T1", undefined, "enam"],
  ])("continent %s at longitude %s is %s", (continent, longitude, region) => {
    expect(clickObject({ continent, longitude, colo: "AAA" }).hint).toBe(region);
  });

  it("splits Asia by latitude, and knows a region without a longitude", () => {
    expect(clickObject({ continent: "AS", longitude: "139.7", latitude: "35.7" }).hint).toBe("apac-ne");
    expect(clickObject({ continent: "AS", longitude: "103.8", latitude: "1.3" }).hint).toBe("apac-se");
    expect(clickObject({ continent: "EU" }).hint).toBe("weur");
    expect(clickObject(undefined).name).toBe("enam:0");
  });

  it("gives visitors of one data center one object of their region, and spreads data centers over its shards", () => {
    const names = ["FRA", "AMS", "LHR", "CDG", "MAD", "ZRH", "DUB", "BRU", "OSL", "ARN", "CPH", "MUC"].map((colo) => {
      const first = clickObject({ continent: "EU", longitude: "8.6", colo });
      expect(clickObject({ continent: "EU", longitude: "2.3", colo })).toEqual(first);
      return first.name;
    });
    expect(new Set(names).size).toBe(OBJECTS_PER_REGION);
  });

  it("comes from a finite set whatever is sent, and its name contains its hint", () => {
    const anything = fc.oneof(fc.anything(), fc.string(), fc.double().map(String));
    const location = fc.record(
      {
        continent: fc.oneof(anything, fc.constantFrom("NA", "EU", "AS")),
        longitude: anything,
        latitude: anything,
        colo: anything,
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(location, (where) => {
        const { name, first, hint } = clickObject(where);
        expect(name).toMatch(/^(wnam|enam|sam|weur|eeur|apac-ne|apac-se|oc|afr|me):[0-3]$/);
        expect(hintOf(name)).toBe(hint);
        expect(firstOf(name)).toBe(name === first ? null : first);
        expect([isFirst(first), isFirst(name)]).toEqual([true, name === first]);
      }),
    );
  });
});

describe("the country of a click (TRACK-21)", () => {
  it.each([
    ["DE", "DE"],
    ["XX", null],
    ["T1", null],
    ["de", null],
    ["DEU", null],
    ["D\n", null],
    [" DE", null],
    ["DE\n", null],
    ["", null],
    [undefined, null],
    [null, null],
    [7, null],
    [["DE"], null],
    [{ toString: () => "DE" }, null],
  ])("is of %j: %j", (country, kept) => {
    expect(countryOf({ country })).toBe(kept);
  });

  it("is unknown where nothing is known of the visitor", () => {
    expect([countryOf(undefined), countryOf({})]).toEqual([null, null]);
  });
});
