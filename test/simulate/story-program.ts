/** The program of a story: its partners, and its owner's changes in 18 months, as API calls and in the model. */
import type { Chance } from "../../src/dev/chance.ts";
import type { ModelCode, ModelFlow, ModelGroup, ModelPartner, ModelProgram } from "../support/money-model.ts";
import { VENDOR_NAMES, type ListedProvider, type ListedVendor } from "../../src/providers/registry.ts";
import { CODED } from "../support/vendors/index.ts";

const DAY = 86_400;

export const PARTNERS: readonly ModelPartner[] = [
  { slug: "ann", status: "active", commission_pct: null },
  { slug: "Bob", status: "active", commission_pct: 33.3333 },
  { slug: "cara", status: "active", commission_pct: 12.5 },
  { slug: "emil", status: "active", commission_pct: null },
  { slug: "fay_2", status: "active", commission_pct: 0.25 },
  { slug: "gus-x", status: "active", commission_pct: 100 },
  { slug: "ivy", status: "invited", commission_pct: null },
  { slug: "dan", status: "deactivated", commission_pct: 50 },
];
export const GROUPS: readonly ModelGroup[] = [
  { slug: "creators", commission_pct: 40 },
  { slug: "agencies", commission_pct: null },
];
export const DEFAULT_PCT = 20;

export const emailOf = (slug: string) => `${slug.toLowerCase()}@partners.example`;

/** The owner's changes at midnight, between all payments. */
export type Change =
  | { do: "default rate"; pct: number }
  | { do: "rate"; slug: string; pct: number | null }
  | { do: "group's rate"; group: string; pct: number | null }
  | { do: "move"; slug: string; group: string }
  | { do: "flow"; name: string; flow: ModelFlow }
  | { do: "end of flow"; name: string }
  | ({ do: "code"; by_id: boolean; provider: ListedVendor } & Omit<ModelCode, "since">);

/**
 * The owner knows the ids of a vendor's first two codes, and the names of the others. The last ones soon get a partner.
 */
export const CODES = ["ANN10", "Bob-Half", "SUMMER", "welcome", "LATE5"] as const;

export interface Changed {
  /** Seconds. */
  at: number;
  change: Change;
}

/** Changes of the rules on some nights of the days from `from` on, in their order. */
export function changesOf(chance: Chance, from: number, days: number): Changed[] {
  const nights = Array.from({ length: Math.ceil(days / 25) }, () => chance.whole(1, days));
  const flows: string[] = [];
  const rules = [...new Set(nights)]
    .toSorted((a, b) => a - b)
    .map((night) => ({ at: from + night * DAY, change: changeOf(chance, flows, from + night * DAY) }));
  return [...rules, ...codesGiven(chance, from, days)].toSorted((a, b) => a.at - b.at);
}

/** Codes are given to partners, some only long after they were first used, and some go to another later. */
function codesGiven(chance: Chance, from: number, days: number): Changed[] {
  return CODED.flatMap(([provider]) =>
    CODES.flatMap((code, i) => {
      const nights = [i < 3 ? 0 : chance.whole(1, days), ...(chance.happens(0.4) ? [chance.whole(1, days)] : [])];
      const first = chance.whole(0, PARTNERS.length - 1);
      return nights
        .toSorted((a, b) => a - b)
        .map((night, nth): Changed => {
          // A minute for each, so that no two are at one time.
          const at = from + night * DAY + (nth * CODES.length + i) * 60;
          return { at, change: { do: "code", provider, code, slug: slugAt(first + nth), by_id: i < 2 } };
        });
    }),
  );
}

const slugAt = (place: number) => PARTNERS[place % PARTNERS.length]!.slug;

function changeOf(chance: Chance, flows: string[], at: number): Change {
  const roll = chance.next();
  if (roll < 0.15) return { do: "default rate", pct: chance.of([10, 15, 20, 25, 33.3333]) };
  const pct = chance.of([null, 5, 17.5, 33.3333, 50]);
  if (roll < 0.25) return { do: "group's rate", group: chance.of(GROUPS).slug, pct };
  if (roll < 0.4) {
    const group = chance.of(["default", ...GROUPS.map(({ slug }) => slug)]);
    return { do: "move", slug: chance.of(PARTNERS).slug, group };
  }
  if (roll < 0.55) return { do: "rate", slug: chance.of(PARTNERS).slug, pct };
  if (roll < 0.75 || flows.length === 0) {
    const name = `flow ${flows.length}`;
    flows.push(name);
    const action_type = chance.of(["percentage", "flat"] as const);
    const provider = chance.of<ListedProvider | null>([...VENDOR_NAMES, "api", null]);
    const above = chance.of([0, 400, 20_000, 100_000]);
    const group = chance.of([null, null, "default", ...GROUPS.map(({ slug }) => slug)]);
    const from = chance.happens(0.3) ? at + chance.whole(1, 40) * DAY : null;
    const until = chance.happens(0.3) ? (from ?? at) + chance.whole(5, 90) * DAY : null;
    const priority = chance.whole(0, 2);
    const limits = { above, provider, group, from, until };
    return { do: "flow", name, flow: { action_type, action_value: chance.whole(0, 100), priority, ...limits } };
  }
  return { do: "end of flow", name: chance.of(flows) };
}

/** The program as it is at a second; of codes all that will ever be. */
export function programAt(changes: readonly Changed[], settings: Settings, at: number): ModelProgram {
  const partners = PARTNERS.map((partner) => ({ ...partner }));
  const groups = GROUPS.map((group) => ({ ...group }));
  const flows = new Map<string, ModelFlow>();
  let default_pct = DEFAULT_PCT;
  for (const { change } of changes.filter((one) => one.at <= at)) {
    if (change.do === "default rate") default_pct = change.pct;
    else if (change.do === "rate") partners.find(({ slug }) => slug === change.slug)!.commission_pct = change.pct;
    else if (change.do === "group's rate")
      groups.find(({ slug }) => slug === change.group)!.commission_pct = change.pct;
    else if (change.do === "move") partners.find(({ slug }) => slug === change.slug)!.group = change.group;
    else if (change.do === "flow") flows.set(change.name, change.flow);
    else if (change.do === "end of flow") flows.delete(change.name);
  }
  const codes = changes.flatMap(({ at: since, change }) => (change.do === "code" ? [{ ...change, since }] : []));
  return { partners, groups, flows: [...flows.values()], codes, default_pct, ...settings };
}

export type Settings = Required<Pick<ModelProgram, "attribution" | "code_precedence">>;
