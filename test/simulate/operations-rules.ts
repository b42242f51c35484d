/** Operations on rules: groups and flows. */
import type { ConditionField } from "../../src/domain/condition.ts";
import type { Chance } from "../../src/dev/chance.ts";
import type { Condition, Flow } from "./model-flows.ts";
import { changeRules, putPartner } from "./model-rules.ts";
import { nextKey, patch, post, type Maker, type Operation, type Scene } from "./operation.ts";
import { time } from "./played-globals.ts";
import { PRODUCTS } from "./sold.ts";
import type { World } from "./world.ts";
import type { State } from "./model-state.ts";

const DAY = 86_400_000;

/** The slugs of the groups that exist. */
export function groupsOf({ groups }: State): string[] {
  return Object.keys(groups).filter((slug) => !groups[slug]!.deleted);
}

/** The service's id of a group, or one that does not exist. */
export function groupId({ database, program }: World, slug: string): string {
  const [row] = database.look<{ id: string }>(
    "select id from groups where program_id = ? and slug = ?",
    program.id,
    slug,
  );
  return row?.id ?? "grp_0";
}

/** The texts that conditions of active flows compare with a field. */
export function comparedIn({ flows }: State, field: ConditionField): string[] {
  const own = flows.filter(({ active }) => active).flatMap(({ conditions }) => conditions);
  return own.filter((one) => one.field === field).flatMap(({ value }) => value as string | string[]);
}

/** A partner's move to another group. */
export function moveOf({ world, state, ids }: Scene, slug: string, chance: Chance): Operation {
  const group = chance.of(groupsOf(state));
  return {
    text: `${slug} moves to ${group}`,
    ...patch(world, `/partners/${ids[slug]}`, { group_id: groupId(world, group) }),
    effects: [
      (state, now) => {
        if (state.groups[group]!.deleted) return false;
        putPartner(state, slug, { group }, now);
        return true;
      },
    ],
    sales: [],
  };
}

/** The partner often has sales. */
const movePartner: Maker = (scene, chance) => moveOf(scene, chance.of(["ann", "ann", "bob", "cara"]), chance);

const changeGroup: Maker = ({ world, state }, chance) => {
  const slug = chance.of(groupsOf(state));
  const change = chance.of([
    { pct: chance.happens(0.3) ? null : chance.whole(0, 60) },
    { hold: chance.happens(0.3) ? null : chance.whole(0, 20) },
  ]);
  const input = "pct" in change ? { commission_pct: change.pct } : { hold_days: change.hold };
  return {
    text: `the group ${slug} changes: ${JSON.stringify(change)}`,
    ...patch(world, `/groups/${groupId(world, slug)}`, input),
    effects: [
      (state, now) => {
        if (state.groups[slug]!.deleted) return false;
        changeRules(state, now, { group: [slug, change] });
        return true;
      },
    ],
    sales: [],
  };
};

const MOST_GROUPS = 4;

const addGroup: Maker = ({ world, state }, chance) => {
  if (groupsOf(state).length >= MOST_GROUPS) return null;
  const slug = `group-${nextKey()}`;
  const pct = chance.happens(0.5) ? null : chance.whole(0, 60);
  const hold = chance.happens(0.5) ? null : chance.whole(0, 20);
  return {
    text: `a group ${slug}: ${pct} %, ${hold} days`,
    ...post(world, "/groups", { name: slug, slug, commission_pct: pct, hold_days: hold }),
    effects: [(state) => void (state.groups = { ...state.groups, [slug]: { pct, hold } })],
    sales: [],
  };
};

const replaceDefault: Maker = ({ world, state }, chance) => {
  const slug = chance.of(groupsOf(state));
  return {
    text: `${slug} becomes the default group`,
    ...patch(world, `/groups/${groupId(world, slug)}`, { is_default: true }),
    effects: [
      (state) => {
        if (state.groups[slug]!.deleted) return false;
        state.default_group = slug;
        return true;
      },
    ],
    sales: [],
  };
};

/** "DELETE of a group with partners is 409; so is DELETE of the default group." */
const removeGroup: Maker = ({ world, state }, chance) => {
  const empty = groupsOf(state).filter((slug) => Object.values(state.partners).every(({ group }) => group !== slug));
  const slug = chance.of(empty.length > 0 && chance.happens(0.8) ? empty : groupsOf(state));
  const id = groupId(world, slug);
  return {
    text: `the group ${slug} is deleted`,
    run: () => world.call("DELETE", `/api/v1/groups/${id}`),
    effects: [
      (state) => {
        const own = state.groups[slug]!;
        const isFull = Object.values(state.partners).some(({ group }) => group === slug);
        if (own.deleted || isFull || state.default_group === slug) return false;
        state.groups = { ...state.groups, [slug]: { ...own, deleted: true } };
        return true;
      },
    ],
    sales: [],
  };
};

const IS = ["eq", "eq", "neq"] as const;
const ORDER = ["eq", "neq", "gt", "gte", "lt", "lte"] as const;

/** One value with `eq` or `neq`, or some with `in` or `not_in`. */
function among(field: ConditionField, values: readonly string[], chance: Chance): Condition {
  if (chance.happens(0.5)) return { field, op: chance.of(IS), value: chance.of(values) };
  const some = values.filter(() => chance.happens(0.5));
  return { field, op: chance.of(["in", "not_in"] as const), value: some.length > 0 ? some : [...values] };
}

/** A condition on each field, all played: one more does not compile without. */
const CONDITIONS: Record<ConditionField, (scene: Scene, chance: Chance) => Condition | null> = {
  txn_amount_cents: (_, chance) => ({ field: "txn_amount_cents", op: "gt", value: chance.whole(1, 20_000) }),
  customer_email: ({ vendors }, chance) => {
    const email = vendors.recent(chance)?.email ?? null;
    return email === null ? null : { field: "customer_email", op: chance.of(IS), value: email.toUpperCase() };
  },
  partner_slug: (_, chance) => among("partner_slug", ["ann", "bob", "bob-2"], chance),
  provider: (_, chance) => ({ field: "provider", op: "contains", value: chance.of(["_A", "_B", "provider"]) }),
  partner_group: ({ state }, chance) => among("partner_group", Object.keys(state.groups), chance),
  currency: (_, chance) => among("currency", ["USD", "eur", "JPY"], chance),
  product_id: (_, chance) =>
    among(
      "product_id",
      PRODUCTS.map((name) => `PRO_${name}`),
      chance,
    ),
  payment_number: (_, chance) => {
    const op = chance.of(ORDER);
    // Payments count from 1: a flow for less than 1 is refused (FLOW-13).
    return { field: "payment_number", op, value: chance.whole(op === "lt" ? 2 : 1, 4) };
  },
  months_since_first_payment: (_, chance) => {
    return { field: "months_since_first_payment", op: chance.of(["gte", "lt"] as const), value: chance.whole(1, 3) };
  },
  new_customer: (_, chance) => ({ field: "new_customer", op: "eq", value: chance.happens(0.5) }),
  ref_source: (_, chance) => among("ref_source", ["link", "remembered", "import"], chance),
};
/** The riskiest are the most frequent. */
const FIELDS: readonly ConditionField[] = [
  ...(Object.keys(CONDITIONS) as ConditionField[]),
  ...(["partner_slug", "txn_amount_cents", "payment_number", "payment_number", "new_customer", "product_id"] as const),
];

function newFlow(scene: Scene, chance: Chance): Flow {
  const type = chance.of(["percentage", "percentage", "flat"] as const);
  const fields = new Set(Array.from({ length: chance.whole(0, 3) }, () => chance.of(FIELDS)));
  const hasAmount = type === "flat" || fields.has("txn_amount_cents");
  // Conditions on the currency may contradict the flow's.
  if (hasAmount) fields.delete("currency");
  const conditions = [...fields].flatMap((field) => CONDITIONS[field](scene, chance) ?? []);
  const currency = chance.happens(0.4) && !fields.has("currency") ? chance.of(["EUR", "JPY"]) : null;
  const starts = chance.happens(0.2) ? time.now + chance.whole(-20, 10) * DAY : null;
  const ends = chance.happens(0.2) ? Math.max(starts ?? 0, time.now) + chance.whole(1, 20) * DAY : null;
  return {
    ...{ name: `flow ${nextKey()}`, type, value: chance.whole(0, 100), priority: chance.whole(0, 3), active: true },
    ...{ conditions, starts, ends, hold: chance.happens(0.3) ? chance.whole(0, 20) : null },
    currency: currency ?? (hasAmount ? "USD" : null),
    ...(fields.has("product_id") && chance.happens(0.8) ? { counts: conditions } : {}),
  };
}

const changeFlows: Maker = (scene, chance) => {
  const { world, state } = scene;
  const old = state.flows.length > 0 && chance.happens(0.4) ? chance.of(state.flows) : null;
  if (old?.id) {
    const change = chance.of([
      { active: !old.active },
      { priority: chance.whole(0, 3) },
      { hold: chance.happens(0.3) ? null : chance.whole(0, 20) },
    ]);
    return {
      text: `${old.name} changes: ${JSON.stringify(change)}`,
      ...patch(world, `/flows/${old.id}`, "hold" in change ? { hold_days: change.hold } : change),
      effects: [
        (state, now) => {
          const before = state.flows.find(({ id }) => id === old.id);
          if (before) changeRules(state, now, { flow: { ...before, ...change } });
        },
      ],
      sales: [],
    };
  }
  if (state.flows.length > 7) return null;
  const flow = newFlow(scene, chance);
  const { name, type, value, priority, conditions, currency, starts, ends, hold, counts } = flow;
  const stamp = (at: number | null) => (at === null ? null : new Date(at).toISOString());
  return {
    text: `a flow: ${JSON.stringify(flow)}`,
    ...post(world, "/flows", {
      ...{ name, action_type: type, action_value: value, priority, conditions, hold_days: hold },
      ...{ currency, starts_at: stamp(starts), ends_at: stamp(ends), base: counts ? "matching_items" : "payment" },
    }),
    effects: [(state, now) => changeRules(state, now, { flow })],
    sales: [],
  };
};

export const RULE_MAKERS: readonly [Maker, number][] = [
  [changeGroup, 4],
  [movePartner, 6],
  [addGroup, 1],
  [replaceDefault, 1],
  [removeGroup, 1],
  [changeFlows, 8],
];
