/** Operations beside the money's own: endpoints, customers, secrets. */
import { VENDOR_NAMES } from "../../src/providers/registry.ts";
import { applyRules } from "./model-apply.ts";
import { customerOf, erase } from "./model-erasure.ts";
import { occurredAt } from "./model-facts.ts";
import { generateMonth } from "./model-payouts.ts";
import { keyOf } from "./model-key.ts";
import type { RuleChange } from "./model-rules.ts";
import { approveDue, settle } from "./model.ts";
import { nextKey, patch, post, type Maker } from "./operation.ts";
import { comparedIn } from "./operations-rules.ts";
import { time } from "./played-globals.ts";
import type { Sold } from "./sold.ts";
import { HOOK_URL } from "./world.ts";
import { copyOf, type State } from "./model-state.ts";

const changeEndpoint: Maker = ({ world }, chance) => {
  const [row] = world.database.look<{ active: number }>("select active from webhook_endpoints");
  const change = chance.happens(0.3) ? { url: `${HOOK_URL}?${nextKey()}` } : { active: row!.active === 0 };
  return {
    text: `the endpoint changes: ${JSON.stringify(change)}`,
    ...patch(world, `/webhooks/${world.endpoint_id}`, change),
    effects: [() => {}],
    sales: [],
    switches: true,
  };
};

const eraseCustomer: Maker = ({ world, vendors, state }, chance) => {
  const known = vendors.sold.flatMap(({ email }) => (email === null ? [] : [email]));
  if (known.length === 0) return null;
  // Rules about the address are the riskiest.
  const asked = comparedIn(state, "customer_email").filter((email) => known.includes(email));
  const email =
    asked.length > 0 && chance.happens(0.6) ? chance.of(asked) : (vendors.recent(chance)?.email ?? chance.of(known));
  return {
    text: `${email} is erased`,
    ...post(world, "/customers/erase", { email }),
    // Broken off, it is not finished by anybody else.
    insists: true,
    effects: [(state, now) => erase(state, email, now)],
    sales: vendors.sold.flatMap((sold) => (sold.email === email ? [sold.key] : [])),
  };
};

/** A customer is bound once: not if a vendor named a partner, nor to an address of the partner's own. */
function bind(state: State, known: Pick<Sold, "provider" | "customer">, slug: string, now: number): void {
  const { provider, customer } = known;
  const own = Object.entries(state.purchases).filter(([, one]) => customerOf(one) === customerOf(known));
  const isHeld = state.remembered.some(
    (one) => one.provider === provider && one.customer === customer && one.at <= now,
  );
  const isSelf = own.some(([, { said }]) => said.some(({ email }) => email === state.partners[slug]!.email));
  if (isHeld || isSelf) return;
  const id = `the import of ${customer}`;
  const bound = { id, provider, at: now, slug, customer, subscription: null, imported: true };
  state.remembered = [...state.remembered, bound];
  for (const [key] of own) settle(state, key, now);
}

const importCustomer: Maker = ({ world, vendors, ids }, chance) => {
  const recent = vendors.recent(chance);
  const known =
    recent && chance.happens(0.5)
      ? recent
      : vendors.sold.length > 0 && chance.happens(0.7)
        ? chance.of(vendors.sold)
        : vendors.nextCustomer(chance);
  const { provider, customer } = known;
  const slug = chance.of(Object.keys(ids));
  return {
    text: `${customer} of ${provider} is imported as a customer of ${slug}`,
    ...post(world, "/imports?kind=customers", `customer_id,partner_code\n${customer},${slug}\n`),
    effects: [(state, now) => bind(state, known, slug, now)],
    sales: vendors.sold.flatMap((sold) => (sold.customer === customer ? [sold.key] : [])),
  };
};

/** So few payments are since then that the request settles all of them. */
const APPLIED = 25;

/** Whether the minute's cron would approve or generate. */
function isOverdue(state: State): boolean {
  return [approveDue, generateMonth].some((job) => {
    const after = copyOf(state);
    job(after, time.now, { without: [], before: null });
    return keyOf(after) !== keyOf(state);
  });
}

const applyRule: Maker = ({ world, state, ids, isBeside }, chance) => {
  const times = Object.entries(state.purchases).flatMap(([key, one]) => (state.sales[key] ? [occurredAt(one)] : []));
  if (times.length === 0) return null;
  // The request leaves some of the many payments since an old one to a job.
  const goesOn = times.length > 2 * APPLIED && !isBeside && chance.happens(0.5) && !isOverdue(state);
  const sorted = times.toSorted((a, b) => b - a);
  const recent = goesOn ? sorted.slice(-APPLIED) : sorted.slice(0, APPLIED);
  const from = Math.min(chance.of(recent) + chance.of([-1_000, 0, 0, 1, 1_000]), time.now);
  const apply_from = new Date(from).toISOString();
  const pct = chance.whole(0, 60);
  const flow = state.flows.length > 0 && chance.happens(0.5) ? chance.of(state.flows) : null;
  const slug = chance.happens(0.6) ? chance.of(Object.keys(ids)) : null;
  const [path, body, change]: [string, object, RuleChange] = flow?.id
    ? [`/flows/${flow.id}`, { active: !flow.active }, { flow: { ...flow, active: !flow.active } }]
    : slug !== null
      ? [`/partners/${ids[slug]}`, { commission_pct: pct }, { partner: [slug, pct] }]
      : ["/programs/me", { default_commission_pct: pct }, { pct }];
  return {
    text: `${path} changes from ${apply_from} on: ${JSON.stringify(body)}`,
    ...patch(world, path, { ...body, apply_from }),
    goesOn,
    effects: [
      (state, now) => {
        const before = change.flow && state.flows.find(({ id }) => id === change.flow!.id);
        const changed = before ? { flow: { ...before, active: change.flow!.active } } : change;
        applyRules(state, now, changed, from);
      },
    ],
    // Sorted by settling.
    sales: Object.keys(state.purchases)
      .filter((key) => state.sales[key] && occurredAt(state.purchases[key]!) >= from)
      .toSorted((one, other) => occurredAt(state.purchases[one]!) - occurredAt(state.purchases[other]!)),
  };
};

const HOUR = 3_600_000;

/**
 * The programs of an account get another secret of a vendor's, one after the other; the vendor signs with the one before for
 * some of the day for which it stays valid (PROG-5).
 */
const changeSecret: Maker = ({ world, isBeside }, chance) => {
  const provider = chance.of(VENDOR_NAMES);
  if (isBeside || world.isChanging(provider)) return null;
  const secret = `whsec_of_the_simulated_${provider}_${nextKey()}`;
  const longer = chance.whole(0, 20) * HOUR;
  const settings = { [`${provider}_webhook_secret`]: secret };
  const run = async () => {
    for (const { api_key } of [world.program, world.neighbor]) {
      const reply = await world.call("PATCH", "/api/v1/programs/me", settings, api_key);
      if (reply.status >= 300) return reply;
    }
    world.giveSecret(provider, secret, longer);
    return { status: 200, body: {} };
  };
  return {
    text: `another secret of ${provider}, which signs with the one before for ${longer / HOUR} hours`,
    ...{ run, again: run, insists: true, effects: [() => {}], sales: [] },
  };
};

export const BESIDE_MAKERS: readonly [Maker, number][] = [
  [applyRule, 4],
  [changeEndpoint, 3],
  [eraseCustomer, 3],
  [importCustomer, 4],
  [changeSecret, 2],
];
