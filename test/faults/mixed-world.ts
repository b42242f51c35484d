/** The program that lives under the mixed load: its partners, rules, endpoints and connected accounts. */
import { call } from "../bench/cases.ts";
import { ADMIN_TOKEN } from "../bench/raw-service.ts";
import { byVendor, type ListedVendor } from "../../src/providers/registry.ts";
import { openVendor, type VendorApi } from "../support/provider-a-api.ts";
import type { Answer, Call, World } from "./outside-world.ts";

export const SECRETS = byVendor((name) => `whsec_faults_secret_of_${name}`);
const VENDOR_KEY = "sk_live_faults_key_of_the_vendor";

export const SOUND = "https://sound.example/hook";
export const FAILING = "https://failing.example/hook";

export interface MixedPartner {
  id: string;
  slug: string;
  /** Null: the program's. */
  commission_pct: number | null;
}

export interface MixedWorld {
  program_id: string;
  api_key: string;
  /** The partner that the clicks name. */
  ref: string;
  partners: MixedPartner[];
  endpoints: { id: string; url: string; secret: string }[];
  vendor: VendorApi;
}

const DEFAULT_PCT = 20;
const BIG = { above_cents: 50_000, pct: 12.5 };
const FLAT = { slug: "flat", cents: 700 };

/** Endpoints first, so that they get every event. */
export async function makeMixedWorld(url: string, outside: World): Promise<MixedWorld> {
  const vendor = openVendor({ keys: [VENDOR_KEY] });
  outside.answer = (request) => answer(vendor, request);
  const { program, api_key } = await call<{ program: { id: string }; api_key: string }>(
    url,
    "POST",
    "/admin/programs",
    ADMIN_TOKEN,
    { name: "Faults", owner_email: "owner@faults.example", domain: "shop.example" },
  );
  const api = <T>(method: string, path: string, body: unknown) => call<T>(url, method, `/api/v1${path}`, api_key, body);
  await api("PATCH", "/programs/me", {
    ...Object.fromEntries(Object.entries(SECRETS).map(([name, secret]) => [`${name}_webhook_secret`, secret])),
    provider_a_api_key: VENDOR_KEY,
    default_commission_pct: DEFAULT_PCT,
  });
  const endpoints: MixedWorld["endpoints"] = [];
  for (const target of [SOUND, FAILING]) endpoints.push(await api("POST", "/webhooks", { url: target, events: ["*"] }));
  await api("POST", "/flows", {
    name: "Big",
    action_type: "percentage",
    action_value: BIG.pct,
    priority: 20,
    conditions: [{ field: "txn_amount_cents", op: "gt", value: BIG.above_cents }],
  });
  await api("POST", "/flows", {
    name: "Flat",
    action_type: "flat",
    action_value: FLAT.cents,
    priority: 10,
    conditions: [
      { field: "provider", op: "eq", value: "provider_b" },
      { field: "partner_slug", op: "eq", value: FLAT.slug },
    ],
  });
  const partners: MixedPartner[] = [];
  for (const [slug, commission_pct] of [
    ["jane", null],
    [FLAT.slug, null],
    ["third", 33.3333],
    ["tiny", 0.0001],
  ] as const) {
    const email = `${slug}@partners.example`;
    const { id } = await api<{ id: string }>("POST", "/partners", {
      email,
      slug,
      commission_pct,
      payout_method: "provider_a",
    });
    await api("PATCH", `/partners/${id}`, { status: "active" });
    const account = await api<{ provider_a_account_id: string }>("POST", `/partners/${id}/provider-a-account`, {});
    vendor.accounts.get(account.provider_a_account_id)!.state = "active";
    await api("POST", `/partners/${id}/release-hold`, {});
    partners.push({ id, slug, commission_pct });
  }
  return { program_id: program.id, api_key, ref: "jane", partners, endpoints, vendor };
}

async function answer(vendor: VendorApi, { method, url, headers, body }: Call): Promise<Answer> {
  if (url.href === SOUND) return { status: 204 };
  if (url.href === FAILING) return { status: 500 };
  vendor.now = Date.now();
  const reply = await vendor.fetch(url, { method, headers, ...(method === "GET" ? {} : { body }) });
  return { status: reply.status, headers: reply.headers, body: await reply.text() };
}

/** The total that a payment must have earned after any history (LAW-2), computed unlike the service. */
export function earned(
  partner: MixedPartner,
  provider: ListedVendor,
  base_cents: number,
  refunded_cents: number,
): number {
  const isBig = base_cents > BIG.above_cents;
  if (!isBig && provider === "provider_b" && partner.slug === FLAT.slug) return FLAT.cents;
  const pct = isBig ? BIG.pct : (partner.commission_pct ?? DEFAULT_PCT);
  // Ten-thousandths of a percent of a cent; half a cent is rounded up.
  const millionths = BigInt(base_cents - refunded_cents) * BigInt(Math.round(pct * 10_000));
  return Number((2n * millionths + 1_000_000n) / 2_000_000n);
}
