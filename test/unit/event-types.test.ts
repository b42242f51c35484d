/** The guide's tables of what each event of the providers does are those of the parsers, and lack no type of the vendors. */
import { describe, expect, it } from "vitest";
import typesOfA from "../../node_modules/stripe/esm/resources/WebhookEndpoints.d.ts?raw";
import typesOfB from "../../node_modules/@paddle/paddle-node-sdk/dist/types/notifications/helpers/types.d.ts?raw";
import guide from "../../src/docs/integrate.md?raw";
import type { Vendor } from "../../src/providers/provider.ts";
import { VENDORS, type ListedVendor } from "../../src/providers/registry.ts";

/** What the vendors' own libraries name of events about payments. */
const VENDOR_TYPES: Record<ListedVendor, string[]> = {
  provider_a: typesIn(
    typesOfA,
    "checkout|invoice|invoice_payment|charge|payment_intent|refund|credit_note|customer|promotion_code|coupon",
  ),
  provider_b: typesIn(typesOfB, "transaction|adjustment|subscription|customer|discount"),
};

function typesIn(text: string, families: string): string[] {
  const found = text.matchAll(new RegExp(`'((?:${families})\\.[a-z_.]+)'`, "g"));
  return [...new Set([...found].map(([, type]) => type!))].toSorted();
}

interface Row {
  type: string;
  /** Null for what is used. */
  ignored: string | null;
}

/** The rows of a vendor's table, one for each type. */
function rowsOf({ text }: Vendor): Row[] {
  const [table] = guide.split("\n\n").filter((part) => new RegExp(`^\\| ${text} +\\|`).test(part));
  const rows = (table ?? "").split("\n").slice(2);
  return rows.flatMap((row) => {
    const [, use = "", types = "", why = ""] = row.split("|").map((cell) => cell.trim());
    const ignored = use === "used" ? null : (/^`([a-z_]+)`: ./.exec(why)?.[1] ?? `no reason: ${why}`);
    return [...types.matchAll(/`([^`]+)`/g)].map(([, type]) => ({ type: type!, ignored }));
  });
}

/** How the parser takes an event of a type of which nothing else is there: one that is used is never acknowledged so. */
function parsed(provider: Vendor, type: string): string | null {
  const at = "2026-11-01T10:00:00Z";
  const result = provider.parse({
    id: "evt_1",
    event_id: "evt_1",
    type,
    event_type: type,
    created: at,
    occurred_at: at,
  });
  return result.ok ? result.event.ignored : null;
}

describe.each(VENDORS.map((provider) => [provider.name, provider] as const))(
  "the table of events of %s",
  (name, provider) => {
    const rows = rowsOf(provider);

    it("says of each what the parser does (IN-9)", () => {
      expect(rows.map(({ type }) => ({ type, ignored: parsed(provider, type) }))).toEqual(rows);
      expect(new Set(rows.map(({ type }) => type)).size).toBe(rows.length);
    });

    it("has every type about payments that the vendor's own library names, and each that an owner is to select", () => {
      const listed = rows.map(({ type }) => type);
      const types = VENDOR_TYPES[name as ListedVendor];
      expect(types.length).toBeGreaterThan(25);
      expect(types.filter((type) => !listed.includes(type))).toEqual([]);
      const { needed, better } = provider.wanted_events;
      const used = rows.filter(({ ignored }) => ignored === null).map(({ type }) => type);
      expect([...needed, ...better].map(({ type }) => type).filter((type) => !used.includes(type))).toEqual([]);
    });

    it("has every type that the parser reads or ignores by name", () => {
      const listed = new Set(rows.map(({ type }) => type));
      const named = Object.entries(SOURCES).flatMap(([path, text]) =>
        path.includes(`/${name.replace("_", "-")}/`) ? [...text.matchAll(/"([a-z_]+(?:\.[a-z_]+)+)"/g)] : [],
      );
      const types = [...new Set(named.map(([, type]) => type!))].filter(
        (type) => parsed(provider, type) !== "unhandled_type",
      );
      expect(types.filter((type) => !listed.has(type))).toEqual([]);
    });
  },
);

const SOURCES = import.meta.glob<string>("../../src/providers/*/events.ts", {
  ...{ query: "?raw", import: "default", eager: true },
});
