/** Operations beside the money's own: endpoints, customers. */
import { customerOf, erase } from "./model-erasure.ts";
import { settle, type State } from "./model.ts";
import { nextKey, patch, post, type Maker } from "./operation.ts";
import { HOOK_URL } from "./world.ts";

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
  // Most is at stake where a rule asks for the address.
  const asked = state.flows.flatMap((flow) => (flow.active && flow.email !== null ? [flow.email] : []));
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

/** A customer is bound to a partner once: not where a vendor named one, nor to an address of the partner's own. */
function bind(state: State, customer: string, slug: string, now: number): void {
  const own = Object.entries(state.purchases).filter(([, one]) => customerOf(one) === `provider_a ${customer}`);
  const isHeld = state.remembered.some(
    (one) => one.provider === "provider_a" && one.customer === customer && one.at <= now,
  );
  const isSelf = own.some(([, { said }]) => said.some(({ email }) => email === state.partners[slug]!.email));
  if (isHeld || isSelf) return;
  const id = `the import of ${customer}`;
  state.remembered.push({ id, provider: "provider_a", at: now, slug, customer, subscription: null, imported: true });
  for (const [key] of own) settle(state, key, now);
}

const importCustomer: Maker = ({ world, vendors, ids }, chance) => {
  const customers = vendors.sold.flatMap(({ provider, customer }) => (provider === "provider_a" ? [customer] : []));
  const recent = vendors.recent(chance);
  const customer =
    recent?.provider === "provider_a" && chance.happens(0.5)
      ? recent.customer
      : chance.happens(0.7) && customers.length > 0
        ? chance.of(customers)
        : vendors.nextCustomer;
  const slug = chance.of(Object.keys(ids));
  return {
    text: `${customer} is imported as a customer of ${slug}`,
    ...post(world, "/imports?kind=customers", `customer_id,partner_code\n${customer},${slug}\n`),
    effects: [(state, now) => bind(state, customer, slug, now)],
    sales: vendors.sold.flatMap((sold) => (sold.customer === customer ? [sold.key] : [])),
  };
};

export const BESIDE_MAKERS: readonly [Maker, number][] = [
  [changeEndpoint, 3],
  [eraseCustomer, 3],
  [importCustomer, 4],
];
