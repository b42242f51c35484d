/** A program in the middle of its month, for pages that people or tools check. */
import { chargeRefunded, sessionCompleted } from "../support/provider-a.ts";
import { addressesIn } from "../support/looked-at.ts";
import { SECRET_A, type OwnedProgram, type PagesWorld } from "./pages-world.ts";

interface WithId {
  id: string;
}

interface Commission extends WithId {
  flagged: boolean;
}

interface Partner extends WithId {
  slug: string;
  email: string;
}

export interface SeededProgram {
  program: OwnedProgram;
  partner_email: string;
  /** Every page of the dashboard and of the portal, by its route or a name. */
  pages: { owner: Record<string, string>; partner: Record<string, string> };
}

const PARTNERS = [
  ["Ada", "Lovelace"],
  ["Grace", "Hopper"],
  ["Katherine", "Johnson"],
  // Longer than any column is wide, with no space to break at.
  ["Wolfeschlegelsteinhausenbergerdorff", "Hohenzollern-Sigmaringen-Wittelsbach"],
] as const;

/**
 * Sales in currencies beside the program's own: three more, one without smaller units, one of three and the largest
 * amount.
 */
const SALES = [
  ["eur", 11_900],
  ["bhd", 999_999_999_990],
  ["jpy", 1_250_000],
] as const;

/** The longest code without a space that keeps its column narrow. */
const LONG_CODE = "BLACKFRIDAY".repeat(5);

export async function seedProgram(world: PagesWorld, owner_email: string): Promise<SeededProgram> {
  const program = await world.createProgram({ name: "Northwind Coffee", owner_email, domain: "northwind.example" });
  const { api } = program;
  await api("PATCH", "/programs/me", { provider_a_webhook_secret: SECRET_A, min_payout_cents: 2_000 });
  const { active, invited, deactivated } = await addPartners(program);
  const large = { field: "txn_amount_cents", op: "gt", value: 20_000 };
  const group = await api("POST", "/groups", { name: "Creators with a name of some length", slug: "creators" });
  const flow = await api("POST", "/flows", {
    ...{ name: "Large orders", action_type: "percentage", action_value: 30, priority: 10, conditions: [large] },
  });
  const endpoint = await api("POST", "/webhooks", { url: "https://receiver.example.com/hooks", events: ["*"] });
  const key = await api<WithId>("POST", "/api-keys", { name: "Reporting", scopes: ["read"], expires_at: "2099-01-01" });
  await api("POST", "/api-keys", { name: "Payouts of the finance team", scopes: ["read", "write", "payouts", "keys"] });
  // An address gets few links in an hour, over all programs.
  const member = await api("POST", "/members", { email: `finance.${owner_email}`, role: "finance" });
  await sell(program, active);
  await settle(program);
  for (const code of ["ADA20", LONG_CODE]) {
    await api("POST", `/partners/${active[0]?.id}/codes`, { code, provider: "provider_a" });
    await program.sendA(sessionCompleted({ amount: 5_000, object: { discounts: [couponOf(`X${code}`)] } }));
    await program.sendA(sessionCompleted({ amount: 5_000, object: { discounts: [couponOf(code)] } }));
  }
  const { data: commissions } = await api<{ data: Commission[] }>("GET", "/commissions?per_page=100");
  const { data: payouts } = await api<{ data: (WithId & { partner_id: string })[] }>("GET", "/payouts");
  const { data: payments } = await api<{ data: (WithId & { outcome: string })[] }>("GET", "/payments");
  const file = at("payouts/exports", await makeBankFile(program));
  const owner = {
    ...addressesIn("/dashboard"),
    ...PLACES,
    "page for applications": `/join/${program.id}`,
    ...partnerPlaces(at("partners", active[0]), "partner"),
    ...partnerPlaces(at("partners", active.at(-1)), "partner with a long name"),
    "invited partner": at("partners", invited),
    "deactivated partner": at("partners", deactivated),
    ...commissionPlaces(commissions, active[0]),
    payment: at(
      "payments",
      payments.find(({ outcome }) => outcome === "unknown_ref"),
    ),
    customer: at("customers", payments[0]),
    "erase customer": `${at("customers", payments[0])}/erase`,
    ...payoutPlaces(at("payouts", payouts[0])),
    claim: at("claims", await claimSale(world, active[0])),
    application: at("partners/applications", await apply(world, program)),
    "file of payouts": file,
    "cancel a file of payouts": `${file}/cancel`,
    "result file": `${file}/results`,
    "remove a member": `${at("settings/team", member)}/remove`,
    flow: at("flows", flow),
    "delete flow": `${at("flows", flow)}/delete`,
    group: at("partners/groups", group),
    "delete group": `${at("partners/groups", group)}/delete`,
    "delete key": `${at("settings/keys", key)}/delete`,
    endpoint: at("webhooks", endpoint),
    "edit endpoint": `${at("webhooks", endpoint)}/edit`,
    "rotate secret": `${at("webhooks", endpoint)}/rotate-secret`,
    "send what it missed": `${at("webhooks", endpoint)}/recover`,
    "delete endpoint": `${at("webhooks", endpoint)}/delete`,
  };
  const own = payouts.find(({ partner_id }) => partner_id === active[0]?.id);
  const statement = `/portal/payouts/${own?.id ?? ""}`;
  return {
    program,
    partner_email: active[0]?.email ?? "",
    pages: { owner, partner: { ...addressesIn("/portal"), statement } },
  };
}

function payoutPlaces(payout: string): Record<string, string> {
  return {
    payout,
    "pay payout": `${payout}/pay`,
    "statement of a payout": `${payout}/statement`,
    "mark payout paid": `${payout}/mark-paid`,
    "return payout": `${payout}/returned`,
    "cancel payout": `${payout}/cancel`,
    "transfer was made": `${payout}/was-made`,
    "transfer was not made": `${payout}/was-not-made`,
  };
}

/** A discount by a coupon whose id is the code. */
function couponOf(coupon: string) {
  return { promotion_code: null, coupon };
}

/** Several programs are in one world. */
function newId(prefix: string): string {
  return `${prefix}_0${crypto.randomUUID().replaceAll("-", "").slice(0, 25)}`;
}

/** A sale that a partner misses, as entered in the portal. */
async function claimSale(world: PagesWorld, partner: Partner | undefined): Promise<WithId> {
  const id = newId("clm");
  await world.sql(
    `insert into claims (id, program_id, partner_id, status, order_id, created_at) select '${id}', program_id, id, 'open',
      (select provider_transaction_id from payments p where p.program_id = partners.program_id and outcome = 'unknown_ref'),
      created_at from partners where id = '${partner?.id ?? ""}'`,
  );
  return { id };
}

/** An applicant with a long name and a verified address. */
export async function apply(world: PagesWorld, { id: program_id, api }: OwnedProgram): Promise<WithId> {
  await api("PATCH", "/programs/me", {
    ...{ applications: "review", terms: "Bid on no names of ours. ".repeat(40).trim() },
    questions: ["Who reads you?", "How did you hear of us? (optional)"],
    assets: [
      { name: "Wide banner", kind: "banner", content: "https://cdn.northwind.example/banners/wide-1200x300.png" },
      {
        name: "For a newsletter",
        kind: "text",
        content: "We have used it for a year and would not go back.\n\n{link}",
      },
      { name: "Prices", kind: "link", content: "https://northwind.example/pricing" },
    ],
  });
  const id = newId("app");
  const name = PARTNERS[3].join(" ");
  const answers = JSON.stringify([{ question: "Who reads you?", answer: `${"bakers".repeat(30)}, and others.` }]);
  await world.sql(
    `insert into applications (id, program_id, status, email, name, website, answers, terms_version, consented_at, token_hash,
      created_at, updated_at) select '${id}', id, 'pending', 'w@applicants.example', '${name}', 'https://w.example/',
      '${answers}', 1, created_at, '${id}', created_at, created_at from programs where id = '${program_id}'`,
  );
  return { id };
}

async function addPartners({ id, api }: OwnedProgram) {
  const add = (first_name: string, last_name: string) => {
    const slug = `${first_name.toLowerCase()}-${id.slice(-6)}`;
    const email = `${slug}@partners.example`;
    return api<Partner>("POST", "/partners", { email, slug, first_name, last_name });
  };
  const active = await Promise.all(PARTNERS.map(([first_name, last_name]) => add(first_name, last_name)));
  for (const partner of active) {
    await api("PATCH", `/partners/${partner.id}`, { status: "active", payout_method: "provider_a" });
    await api("POST", `/partners/${partner.id}/release-hold`, {});
  }
  const [invited, deactivated] = await Promise.all([add("Alan", "Turing"), add("Emmy", "Noether")]);
  await api("PATCH", `/partners/${deactivated.id}`, { status: "deactivated" });
  return { active, invited, deactivated };
}

/**
 * Twelve days of sales in four currencies, two refunds, a sale without a partner and one to the partner who recommends
 * it.
 */
async function sell({ sendA }: OwnedProgram, partners: readonly Partner[]): Promise<void> {
  const now = Math.floor(Date.now() / 1000);
  const refOf = (i: number) => partners.at(i)?.slug ?? null;
  for (let day = 11; day >= 0; day--) {
    const created = now - day * 86_400;
    const sale = { ref: refOf(day % partners.length), amount: 4_000 + day * 2_300, tax: 700, created };
    await sendA(sessionCompleted({ ...sale, payment_intent: `pi_${day}` }));
  }
  for (const [i, [currency, amount]] of SALES.entries()) {
    await sendA(sessionCompleted({ ref: refOf(0), amount, currency, created: now - (i + 7) * 86_400 }));
    await sendA(sessionCompleted({ ref: refOf(-1), amount, currency, created: now - (i + 1) * 43_200 }));
  }
  await sendA(chargeRefunded({ payment_intent: "pi_2", amount: 8_600, refunded: 1_700 }));
  await sendA(chargeRefunded({ payment_intent: "pi_1", amount: 6_300, refunded: 5_000 }));
  await sendA(sessionCompleted({ ref: "nobody", amount: 3_000 }));
  await sendA(sessionCompleted({ ref: refOf(1), amount: 9_000, email: partners[1]?.email ?? null }));
}

/** The older commissions are in payouts; of the newer ones two are approved, and the others wait. */
async function settle({ api }: OwnedProgram): Promise<void> {
  const { data } = await api<{ data: Commission[] }>("GET", "/commissions?per_page=100&flagged=false");
  const approve = (rows: Commission[]) =>
    api("POST", "/commissions/bulk", { ids: rows.map(({ id }) => id), status: "approved" });
  await approve(data.slice(7));
  await api("POST", "/payouts/generate", {});
  await approve(data.slice(2, 4));
}

/** A file of one payout by bank transfer. */
async function makeBankFile({ api, id }: OwnedProgram): Promise<WithId> {
  const email = `bank.${id}@partners.example`;
  const slug = `bruno-${id.slice(-5)}`;
  const partner = await api<WithId>("POST", "/partners", { email, slug, first_name: "Bruno" });
  await api("PATCH", `/partners/${partner.id}`, { status: "active" });
  await api("PUT", `/partners/${partner.id}/payout-details`, {
    ...{ method: "bank_transfer", account_holder: "Bruno Bank", country: "DE", currency: "EUR" },
    iban: "DE89370400440532013000",
  });
  await api("POST", `/partners/${partner.id}/release-hold`, {});
  const { id: commission } = await api<WithId>("POST", "/commissions", {
    ...{ partner_id: partner.id, amount_cents: 12_500, note: "A bonus" },
  });
  await api("POST", "/commissions/bulk", { ids: [commission], status: "approved" });
  await api("POST", "/payouts/generate", {});
  return api<WithId>("POST", "/payouts/exports", { format: "bank", currency: "USD" });
}

/** The address of the page of one thing. */
function at(place: string, thing: WithId | undefined): string {
  if (!thing) throw new Error(`the seed has nothing for a page of ${place}`);
  return `/dashboard/${place}/${thing.id}`;
}

function partnerPlaces(href: string, name: string): Record<string, string> {
  return {
    [name]: href,
    [`codes of ${name}`]: `${href}/codes`,
    [`edit ${name}`]: `${href}/edit`,
    [`payout details of ${name}`]: `${href}/payout-details`,
    [`tax data of ${name}`]: `${href}/tax-data`,
    [`deactivate ${name}`]: `${href}/deactivate`,
    [`forget the account of ${name}`]: `${href}/forget-account`,
  };
}

function commissionPlaces(commissions: readonly Commission[], partner: WithId | undefined): Record<string, string> {
  const list = "/dashboard/commissions";
  const one = (flagged: boolean) =>
    at(
      "commissions",
      commissions.find((row) => row.flagged === flagged),
    );
  return {
    commission: one(false),
    "flagged commission": one(true),
    "flagged commissions": `${list}?status=pending&flagged=true`,
    "no commission matches": `${list}?from=2001-01-01&to=2001-01-02`,
    "a partner's commissions": `${list}?partner_id=${partner?.id}`,
    "approve all that match": `${list}/matching?move=approve&status=pending&partner_id=${partner?.id}`,
    "approve all": `${list}/matching?move=approve`,
    "approve all flagged": `${list}/matching?move=approve&flagged=true`,
    "reject all": `${list}/matching?move=reject&status=pending`,
    "nothing to approve": `${list}/matching?move=approve&status=paid`,
    "nobody to add a commission for": `${list}/new?search=nobody`,
    "add commission": `${list}/new?partner_id=${partner?.id}`,
  };
}

/** Public pages, and pages of the dashboard in another state than without a query. */
const PLACES = {
  guide: "/docs/payouts",
  "guide with code": "/docs/integrate",
  documentation: "/docs",
  "reference of a section": "/docs/api/webhooks",
  "reference of errors": "/docs/api/errors",
  "reference of events": "/docs/api/outbound",
  "found in the documentation": "/docs/search?q=payout",
  "overview of 90 days": "/dashboard?days=90",
  "overview of a year": "/dashboard?days=365",
  "overview of two days": "/dashboard?from=2026-01-01&to=2026-01-02",
  "no partner matches": "/dashboard/partners?search=nobody",
  "no application matches": "/dashboard/partners/applications?status=declined",
  "no lead matches": "/dashboard/payments/leads?from=2001-01-01&to=2001-01-02",
  "nothing is found": "/dashboard/search?search=nothing-of-the-kind",
  "mark all payouts as paid": "/dashboard/payouts/matching?move=mark_paid&status=pending",
  "no payout to pay": "/dashboard/payouts/matching?move=pay",
  "no click matches": "/dashboard/events/clicks?from=2001-01-01&to=2001-01-02",
  "remove a secret": "/dashboard/settings/secrets/provider_a_webhook_secret/remove",
  "choose an account": "/switch",
  "not found": "/dashboard/nowhere",
};
