/**
 * The guide's tables of the effects of the providers' events are those of the parsers, and contain every type of the
 * vendors.
 */
import { describe, expect, it } from "vitest";
import typesOfA from "../../node_modules/stripe/esm/resources/WebhookEndpoints.d.ts?raw";
import thinTypesOfA from "../../node_modules/stripe/esm/resources/V2/Core/Events.d.ts?raw";
import typesOfB from "../../node_modules/@paddle/paddle-node-sdk/dist/types/notifications/helpers/types.d.ts?raw";
import guide from "../../src/docs/provider-events.md?raw";
import type { Vendor } from "../../src/providers/provider.ts";
import { VENDORS, type ListedVendor } from "../../src/providers/registry.ts";

/** Types that provider B's pages or the code of others name, and its library of version 3.10 does not. */
const NEWER_B = [
  ...["created", "completed", "abandoned"].flatMap((what) => [`flow_session.${what}`, `funnel_session.${what}`]),
  ...["invoice.canceled", "invoice.issued", "invoice.overdue", "invoice.paid"],
  ...["product_collection.created", "product_collection.updated"],
];

/** Every type of event that the vendors' own libraries name, and newer ones that are known; thin ones beside the others. */
const VENDOR_TYPES: Record<ListedVendor, string[]> = {
  provider_a: [...typesIn(typesOfA, /'([a-z_]+(?:\.[a-z_]+)+)'/g), ...typesIn(thinTypesOfA, /type: '(v\d[a-z_.]+)'/g)],
  provider_b: [...typesIn(typesOfB, /'([a-z_]+(?:\.[a-z_]+)+)'/g), ...NEWER_B],
};

function typesIn(text: string, pattern: RegExp): string[] {
  return [...new Set([...text.matchAll(pattern)].map(([, type]) => type!))].toSorted();
}

/** How a type begins; thin ones of API v1 are named as the others are, after their version. */
function familyOf(type: string): string {
  return type.replace(/^v1\./, "").split(".")[0]!;
}

interface Row {
  type: string;
  /** Null if the type is used. */
  ignored: string | null;
}

const OTHERS = "others";

/** The cells of a vendor's table. */
function cellsOf({ text }: Vendor): string[][] {
  const [table] = guide.split("\n\n").filter((part) => new RegExp(`^\\| ${text} +\\|`).test(part));
  const rows = (table ?? "").split("\n").slice(2);
  return rows.map((row) =>
    row
      .split("|")
      .slice(1)
      .map((cell) => cell.trim()),
  );
}

/** The families of types that it has as a whole. */
function othersOf(provider: Vendor): string[] {
  const cells = cellsOf(provider).filter(([use]) => use === OTHERS);
  return cells.flatMap(([, families = ""]) => [...families.matchAll(/`([^`]+)`/g)].map(([, family]) => family!));
}

/** Its other rows, one for each type. */
function rowsOf(provider: Vendor): Row[] {
  const rows = cellsOf(provider).filter(([use]) => use !== OTHERS);
  return rows.flatMap(([use = "", types = "", why = ""]) => {
    const ignored = use === "used" ? null : (/^`([a-z_]+)`: ./.exec(why)?.[1] ?? `no reason: ${why}`);
    return [...types.matchAll(/`([^`]+)`/g)].map(([, type]) => ({ type: type!, ignored }));
  });
}

/** The parser's result for an event that has its type only: a used type is never acknowledged this way. */
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

    it("has every type that is known of the vendor, alone or with its family, and each that an owner is to select", () => {
      const listed = new Set(rows.map(({ type }) => type));
      const others = othersOf(provider);
      const types = VENDOR_TYPES[name as ListedVendor];
      expect(types.length).toBeGreaterThan(50);
      // A thin one beside another is as that is.
      const isListed = (type: string) => listed.has(type) || listed.has(type.replace(/^v1\./, ""));
      expect(types.filter((type) => isListed(type) === others.includes(familyOf(type)))).toEqual([]);
      expect(others.filter((family) => !types.some((type) => familyOf(type) === family))).toEqual([]);
      const unlisted = types.filter((type) => !isListed(type));
      expect(unlisted.filter((type) => parsed(provider, type) !== "unhandled_type")).toEqual([]);
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
