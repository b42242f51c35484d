/** A column that a list or a page of details names as shown is really there: another value changes the page. */
import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import type { Listed as KeyListed } from "../../src/http/pages/dashboard/settings/api-keys.tsx";
import type { Detailed as ApplicationDetailed } from "../../src/http/pages/dashboard/applications/detail.tsx";
import type { Listed as ApplicationListed } from "../../src/http/pages/dashboard/applications/list.tsx";
import type { Detailed as CommissionDetailed } from "../../src/http/pages/dashboard/commissions/detail.tsx";
import type { Detailed as ClaimDetailed, Listed as ClaimListed } from "../../src/http/pages/dashboard/claims.tsx";
import type { Listed as CommissionListed } from "../../src/http/pages/dashboard/commissions/columns.tsx";
import type { Listed as CustomerListed } from "../../src/http/pages/dashboard/customers.tsx";
import type { Detailed as EndpointDetailed } from "../../src/http/pages/dashboard/webhooks/detail.tsx";
import type { Listed as FlowListed } from "../../src/http/pages/dashboard/flows/table.tsx";
import type { Listed as CodeListed } from "../../src/http/pages/dashboard/partners/codes.tsx";
import type { Detailed as PartnerDetailed } from "../../src/http/pages/dashboard/partners/detail.tsx";
import type { Listed as PartnerListed } from "../../src/http/pages/dashboard/partners/columns.tsx";
import type { Listed as LeadListed } from "../../src/http/pages/dashboard/payments/leads.tsx";
import type { Listed as PaymentListed } from "../../src/http/pages/dashboard/payments/list.tsx";
import type { Detailed as PayoutDetailed } from "../../src/http/pages/dashboard/payouts/detail.tsx";
import type { Listed as PayoutListed } from "../../src/http/pages/dashboard/payouts/list.tsx";
import type { Listed as MemberListed } from "../../src/http/pages/dashboard/settings/team.tsx";
import type { Listed as EndpointListed } from "../../src/http/pages/dashboard/webhooks/list.tsx";
import type { OwnClaim } from "../../src/http/pages/portal/claims.tsx";
import type { Listed as OwnCommission } from "../../src/http/pages/portal/commissions.tsx";
import type { Detailed as OwnStatement } from "../../src/http/pages/portal/payout-detail.tsx";
import type { Listed as OwnPayout } from "../../src/http/pages/portal/payouts.tsx";
import type { OwnCode } from "../../src/http/pages/portal/assets.tsx";
import type { OwnProgram, Self } from "../../src/http/pages/portal/self.ts";
import { PARTNER_TEXTS, type PartnerText } from "../../src/resources/partner.ts";
import { setSecrets } from "../support/program.ts";
import { makeStocked, type Stocked } from "../support/stocked.ts";
import { signInOwner, signInPartner, textOf, type Visitor } from "../support/visitor.ts";

type Stored = string | number | null;

/**
 * Another value of a column, and the text of the page if it differs from the value; `where` holds the other values that
 * a row needs in order to show it. A column that cannot be changed is shown with its present value; `decides`: the
 * column is not shown, but changes other output.
 */
type Marked = { to: Stored; reads?: string; where?: Record<string, Stored> } | "as it is" | "decides";
type Marks<Shown> = Record<keyof Shown, Marked>;

const TIME = "2021-03-04T05:06:07.000Z";
const at = { to: TIME, reads: "4 Mar 2021" };
const amount = { to: 987_654, reads: "9,876.54" };

/** The marks of columns that pages show alike. */
const COMMON = {
  ...{ id: "as it is", partner_id: "as it is", created_at: at, updated_at: at, approved_at: at, paid_at: at },
  ...{ decided_at: at, due_at: at, expires_at: at, last_used_at: at, period_start: at, period_end: at },
  ...{ amount_cents: amount, txn_amount_cents: amount, currency: { to: "SEK" }, commission_pct: { to: 33.125 } },
  ...{ email: { to: "marked@shown.example" }, customer_email: { to: "marked@shown.example" } },
  ...{ first_name: { to: "Marked first" }, last_name: { to: "Marked last" }, slug: { to: "marked-slug" } },
  ...{ note: { to: "Marked note" }, rejected_reason: { to: "Marked reason" }, ref: { to: "marked-reference" } },
  ...{ provider_transaction_id: { to: "marked-order" }, customer_id: { to: "marked-customer" } },
  ...{ subscription_id: { to: "marked-subscription" }, provider_a_account_id: { to: "acct_marked" } },
  ...{ code: { to: "MARKED20" }, description: { to: "Marked description" } },
  ...{ url: { to: "https://marked.example/hook" }, payout_email: { to: "marked-wallet@shown.example" } },
  ...{ bank_account: { to: "DE** marked" }, crypto_address: { to: "marked: bc****" } },
  provider: { to: "provider_b", reads: "Paddle" },
  payout_method: { to: "crypto", reads: "Crypto" },
  outcome: { to: "partner_deactivated", reads: "deactivated" },
} as const satisfies Record<string, Marked>;

const alike = <Column extends keyof typeof COMMON>(...columns: Column[]) =>
  Object.fromEntries(columns.map((column): [Column, Marked] => [column, COMMON[column]])) as Record<Column, Marked>;

const KEY_LISTED: Marks<KeyListed> = {
  ...alike("id", "created_at", "expires_at", "last_used_at"),
  name: { to: "Marked key" },
  scopes: { to: '["read","payouts"]', reads: "read, payouts" },
  last4: { to: "mark" },
};
const APPLICATION_LISTED: Marks<ApplicationListed> = {
  ...alike("id", "email", "note", "created_at", "decided_at"),
  status: { to: "declined" },
  name: { to: "Marked Name" },
  website: { to: "https://marked.example/" },
  partner_id: { to: "par_marked" },
};
const APPLICATION_DETAILED: Marks<ApplicationDetailed> = {
  ...APPLICATION_LISTED,
  answers: { to: '[{"question":"Marked question","answer":"x"}]', reads: "Marked question" },
  terms_version: { to: 4_321, reads: "Version 4321", where: { consented_at: TIME } },
  consented_at: at,
  // Decides the partner of its link.
  partner_id: "decides",
};
const MEMBER_LISTED: Marks<MemberListed> = {
  ...alike("id", "email", "created_at"),
  role: { to: "finance", reads: 'value="finance" selected' },
};
const PARTNER_LISTED: Marks<PartnerListed> = {
  ...alike("id", "email", "first_name", "last_name", "slug", "commission_pct", "payout_method"),
  ...alike("created_at", "updated_at"),
  status: { to: "deactivated" },
  // Other tables have them: `partner-list.test.ts` checks the figures.
  ...{ group: "decides", clicks: "decides", sales: "decides", revenue: "decides", earned: "decides" },
  last_sale: "decides",
};
const PARTNER_DETAILED: Marks<PartnerDetailed> = {
  ...(Object.fromEntries(PARTNER_TEXTS.map((column) => [column, { to: `Marked ${column}` }])) as Marks<
    Pick<PartnerDetailed, PartnerText>
  >),
  ...alike("id", "email", "slug", "commission_pct", "created_at"),
  ...alike("payout_method", "payout_email", "provider_a_account_id", "bank_account", "crypto_address"),
  tax_data_id: { to: null, reads: "None" },
  metadata: { to: '{"marked":"metadata"}' },
};
const SELF: Marks<Self> = {
  ...alike("slug", "commission_pct", "provider_a_account_id", "bank_account", "crypto_address"),
  id: "decides",
  tax_data_id: { to: null, reads: "Add your tax data" },
  // Another address ends the session.
  email: "as it is",
  first_name: { to: "Marked first", reads: 'value="Marked first"' },
  last_name: { to: "Marked last", reads: 'value="Marked last"' },
  payout_method: { to: "crypto", reads: 'value="crypto" selected' },
  payout_email: { to: "marked-wallet@shown.example", reads: 'value="marked-wallet@shown.example"' },
  // Shown while it is in the future.
  payouts_held_until: "decides",
};
const OWN_PROGRAM: Marks<OwnProgram> = {
  name: { to: "Marked program" },
  domain: { to: "marked.example" },
  default_commission_pct: { to: 33.125 },
  time_zone: { to: "Asia/Kathmandu" },
  // Before the first payout.
  payout_term: "decides",
  // Identifies a row as a program, which decides the currency of sums.
  min_payout_cents: "decides",
  ...{ min_payouts: "decides", payout_currency: "decides" },
  // Whether transfers are offered.
  connections: "decides",
  require_tax_data: "decides",
  partner_links: "decides",
  ...{ id: "decides", currency: "decides", sale_amounts: "decides", assets: "decides", auto_approve_days: "decides" },
};
const CODE_LISTED: Marks<CodeListed> = {
  ...alike("id", "code", "provider", "created_at"),
  provider_code_id: { to: "promo_marked" },
};
const OWN_CODE: Marks<OwnCode> = alike("code");
const FLOW_LISTED: Marks<FlowListed> = {
  id: "as it is",
  name: { to: "Marked flow" },
  event: { to: "lead_created", reads: "each lead", where: { conditions: "[]" } },
  action_type: { to: "flat", reads: "USD" },
  action_value: { to: 41.5, reads: 'value="41.5"' },
  conditions: { to: '[{"field":"partner_slug","op":"eq","value":"marked-condition"}]', reads: "marked-condition" },
  active: { to: 0, reads: "Switch on" },
  base: "decides",
  hold_days: { to: 41, reads: "41 days" },
  starts_at: { ...at, reads: "made from", where: { ends_at: null } },
  ends_at: { ...at, reads: "made until", where: { starts_at: null } },
  currency: { to: "CHF", reads: "CHF" },
};
const ENDPOINT_LISTED: Marks<EndpointListed> = {
  ...alike("id", "url", "description", "created_at"),
  events: { to: '["payout.paid","partner.created"]', reads: "2 types" },
  active: { to: 0, reads: "disabled" },
  failing_since: at,
  disabled_at: { to: TIME, reads: "disabled by us", where: { active: 0 } },
  // Another table has it: `pages-rows.test.ts` checks it.
  last_success: "decides",
};
const ENDPOINT_DETAILED: Marks<EndpointDetailed> = {
  ...alike("url", "description"),
  events: { to: '["payout.paid"]', reads: "payout.paid" },
  active: { to: 0, reads: "Switch on" },
  failing_since: at,
  failure_count: { to: 17, reads: "17", where: { failing_since: TIME } },
  disabled_at: { to: TIME, reads: "disabled by us", where: { active: 0 } },
  last_success: "decides",
};
const PAYMENT_LISTED: Marks<PaymentListed> = {
  ...alike("id", "provider", "outcome", "partner_id", "currency", "txn_amount_cents", "created_at"),
  ...alike("provider_transaction_id", "ref", "customer_email", "customer_id", "subscription_id"),
  event: { to: "lead_created", reads: "lead" },
  adjusted_cents: amount,
};
const LEAD_LISTED: Marks<LeadListed> = {
  ...alike("id", "outcome", "partner_id", "ref", "customer_email", "customer_id", "created_at"),
  provider_transaction_id: { to: "marked-sign-up" },
  // Shown on other rows: `pages-leads.test.ts` checks it.
  first_sale: "decides",
};
const CUSTOMER_LISTED: Marks<CustomerListed> = {
  ...alike("provider", "customer_id"),
  // Shown on all payments of the customer: `pages-customers.test.ts` checks them.
  ...{ id: "decides", email: "decides", partner_id: "decides", first_seen: "decides", last_seen: "decides" },
  ...{ payments: "decides", revenue: "decides" },
};
const COMMISSION_LISTED: Marks<CommissionListed> = {
  // Decides the name of the row, as in claims and payouts.
  partner_id: "decides",
  ...alike("id", "amount_cents", "txn_amount_cents", "currency", "created_at", "approved_at", "paid_at"),
  ...alike("provider_transaction_id", "subscription_id", "customer_email", "note", "rejected_reason"),
  // Whether it can be chosen.
  payout_id: "decides",
  kind: { to: "clawback" },
  status: { to: "rejected" },
  flagged: { to: 1, reads: "flagged" },
  review_reason: { to: "disputed", reads: "disputes", where: { flagged: 1 } },
  provider: { ...COMMON.provider, where: { kind: "sale" } },
  hold_until: at,
};
const COMMISSION_DETAILED: Marks<CommissionDetailed> = {
  ...alike("id", "rejected_reason", "provider", "subscription_id", "created_at", "approved_at", "paid_at"),
  kind: { to: "clawback", reads: "Clawback" },
  status: { to: "rejected" },
  flagged: { to: 1, reads: "flag" },
  hold_until: at,
};
/** The columns that every list of payouts shows. */
const PAYOUT = {
  ...alike("id", "amount_cents", "currency", "due_at", "created_at"),
  status: { to: "canceled" },
  method: COMMON.payout_method,
  recipient: { to: "m****k@marked.example" },
  commission_count: { to: 4_321, reads: "4,321 commissions" },
  // Another table has it.
  held_until: "decides",
  source_amounts: {
    ...{ to: '[{"currency":"CHF","amount_cents":9876543,"rate":"2","rate_at":null,"converted_cents":1}]' },
    reads: "98,765.43",
  },
} as const;
const PAYOUT_LISTED: Marks<PayoutListed> = {
  ...PAYOUT,
  partner_id: "decides",
  ...alike("period_start", "period_end", "paid_at"),
  reference: { to: "Marked reference" },
};
const { status, method, recipient } = PAYOUT;
const PAYOUT_DETAILED: Marks<PayoutDetailed> = {
  ...{ status, method, recipient, reference: { to: "Marked reference" } },
  ...alike("id", "period_start", "period_end", "due_at", "created_at", "paid_at"),
};
const OWN_COMMISSION: Marks<OwnCommission> = {
  ...alike("amount_cents", "currency", "created_at"),
  payout_id: "decides",
  kind: { to: "clawback", reads: "Correction of a sale you were already paid for" },
  status: { to: "rejected" },
  flagged: { to: 1, reads: "under review", where: { status: "pending" } },
  review_reason: {
    ...{ to: "disputed", reads: "under review" },
    where: { status: "approved", payout_id: null, flagged: 1 },
  },
  rejected_reason: { to: "Marked reason", where: { status: "rejected" } },
  txn_amount_cents: { ...amount, where: { kind: "sale" } },
  base_cents: { ...amount, where: { kind: "sale" } },
  rate: { to: '{"source":"partner","action_type":"percentage","action_value":33.125}', reads: "33.125" },
  note: { to: "Marked note", where: { kind: "manual" } },
  // Shown as a day, together with a setting.
  hold_until: "decides",
};
const OWN_PAYOUT: Marks<OwnPayout> = { ...PAYOUT, paid_at: at };
const OWN_STATEMENT: Marks<OwnStatement> = {
  ...PAYOUT,
  ...alike("period_start", "period_end", "paid_at"),
  commission_count: { to: 4_321, reads: "4,321" },
  reference: { to: "marked-reference" },
};

/** The columns of the sale that every page of a claim shows. */
const CLAIMED = {
  ...alike("note", "created_at"),
  status: { to: "granted", reads: "approved" },
  order_id: { to: "marked-order" },
  day: { to: "2021-03-04", reads: "4 Mar 2021", where: { order_id: null, email_domain: "d.example" } },
  email_domain: { to: "marked.example", where: { order_id: null, day: "2021-03-04" } },
} as const;
const OWN_CLAIM: Marks<OwnClaim> = { ...CLAIMED, answer: "decides" };
const CLAIM_LISTED: Marks<ClaimListed> = {
  ...CLAIMED,
  ...alike("id", "decided_at"),
  partner_id: "decides",
  payment_id: { to: "pmt_marked" },
};
const CLAIM_DETAILED: Marks<ClaimDetailed> = {
  ...CLAIM_LISTED,
  partner_id: "as it is",
  payment_id: { to: "pmt_marked", reads: "Open the payment" },
};

const PAGES: [address: string, table: string, marks: Record<string, Marked>, kind?: string][] = [
  // Before the partner is deactivated below, which ends the session.
  ["/portal/details /portal", "partners", SELF],
  ["/portal /portal/details", "programs", OWN_PROGRAM],
  ["/portal/assets", "partner_codes", OWN_CODE],
  ["/portal/commissions", "commissions", OWN_COMMISSION],
  ["/portal/payouts", "payouts", OWN_PAYOUT],
  ["/portal/payouts/:payouts", "payouts", OWN_STATEMENT],
  ["/portal/claims", "claims", OWN_CLAIM],
  ["/dashboard/partners?columns=partner,slug,status,payout_method,rate,updated_at,added", "partners", PARTNER_LISTED],
  ["/dashboard/partners/:partners", "partners", PARTNER_DETAILED],
  [
    "/dashboard/partners/applications?columns=person,website,status,partner_id,note,decided_at,applied",
    "applications",
    APPLICATION_LISTED,
  ],
  ["/dashboard/partners/applications/:applications", "applications", APPLICATION_DETAILED],
  ["/dashboard/partners/:partners/codes", "partner_codes", CODE_LISTED],
  ["/dashboard/flows", "flows", FLOW_LISTED],
  ["/dashboard/settings/keys", "api_keys", KEY_LISTED],
  ["/dashboard/settings/team", "program_members", MEMBER_LISTED],
  ["/dashboard/webhooks", "webhook_endpoints", ENDPOINT_LISTED],
  ["/dashboard/webhooks/:webhooks", "webhook_endpoints", ENDPOINT_DETAILED],
  [
    "/dashboard/payments?columns=customer,net,partner,provider_transaction_id,customer_id,subscription_id,ref,outcome,refunded,created_at",
    "payments",
    PAYMENT_LISTED,
  ],
  [
    "/dashboard/payments/leads?columns=customer,customer_id,provider_transaction_id,partner,ref,outcome,first_sale,created_at",
    "payments",
    LEAD_LISTED,
    "leads",
  ],
  ["/dashboard/customers?columns=customer,customer_id", "payments", CUSTOMER_LISTED],
  [
    "/dashboard/commissions?columns=partner,amount,status,hold_until,approved_at,paid_at,rejected_reason,provider_transaction_id,customer_email,subscription_id,note,payment,created_at",
    "commissions",
    COMMISSION_LISTED,
  ],
  ["/dashboard/commissions/:commissions", "commissions", COMMISSION_DETAILED],
  ["/dashboard/claims?columns=partner,sale,payment_id,note,decided_at,status,created_at", "claims", CLAIM_LISTED],
  ["/dashboard/claims/:claims", "claims", CLAIM_DETAILED],
  [
    "/dashboard/payouts?columns=partner,amount,method,status,period_start,period_end,paid_at,reference,due,created_at",
    "payouts",
    PAYOUT_LISTED,
  ],
  ["/dashboard/payouts/:payouts", "payouts", PAYOUT_DETAILED],
];

/** The word for a table's rows in addresses, if it is not the table's name. */
const KINDS: Record<string, string> = {
  webhook_endpoints: "webhooks",
  partner_codes: "codes",
  api_keys: "keys",
  program_members: "team",
};

let stocked: Stocked;
let visitors: Record<"dashboard" | "portal", Visitor>;

beforeAll(async () => {
  stocked = await makeStocked();
  await setSecrets(stocked.program.id, { provider_a_api_key: "sk_test_shown" });
  visitors = { dashboard: await signInOwner(stocked.program), portal: await signInPartner(stocked.partner.email) };
});

/** Disables the triggers: this suite tests the pages, not the ledger. */
async function set(table: string, id: string, values: Record<string, Stored>): Promise<void> {
  const columns = Object.keys(values);
  await env.DB.prepare(`update ${table} set ${columns.map((name) => `${name} = ?`).join(", ")} where id = ?`)
    .bind(...Object.values(values), id)
    .run();
}

async function bodyOf(addresses: string): Promise<string> {
  const visitor = visitors[addresses.startsWith("/portal") ? "portal" : "dashboard"];
  const bodies = [];
  for (const address of addresses.split(" ")) {
    const { status, body } = await visitor.get(address.replace(/:(\w+)/, (_, kind: string) => stocked.ids[kind]!));
    expect(status).toBe(200);
    bodies.push(body);
  }
  return bodies.join("");
}

/** The pages as they are without any mark: each is rendered once, for rows are put back as they were. */
const unmarked = new Map<string, Promise<string>>();

function unmarkedBody(address: string): Promise<string> {
  const body = unmarked.get(address) ?? bodyOf(address);
  unmarked.set(address, body);
  return body;
}

function countOf(html: string, text: string): number {
  return (text.startsWith("value=") ? html : textOf(html)).split(text).length - 1;
}

describe.each(PAGES)(
  "%s shows (PAGE-7, PAGE-8): each column that is named as shown,",
  (address, table, marks, kind) => {
    const columns = Object.entries(marks).flatMap(([column, mark]) =>
      mark === "decides" ? [] : [[column, mark] as const],
    );

    it.each(columns)("%s", async (column, mark) => {
      const id = table === "programs" ? stocked.program.id : (stocked.ids[kind ?? KINDS[table] ?? table] ?? "");
      const { to = null, reads = String(to), where = {} } = mark === "as it is" ? {} : mark;
      const changed = [column, ...Object.keys(where)].join(", ");
      const before = await env.DB.prepare(`select ${changed} from ${table} where id = ?`)
        .bind(id)
        .first<Record<string, Stored>>();
      if (mark === "as it is") {
        expect(await unmarkedBody(address)).toContain(before?.[column]);
        return;
      }
      try {
        const isOther = Object.keys(where).length > 0;
        if (isOther) await set(table, id, where);
        const without = countOf(await (isOther ? bodyOf(address) : unmarkedBody(address)), reads);
        await set(table, id, { [column]: to });
        expect(countOf(await bodyOf(address), reads)).toBeGreaterThan(without);
      } finally {
        await set(table, id, before ?? {});
      }
    });
  },
);
