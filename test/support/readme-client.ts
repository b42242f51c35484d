import { hc } from "hono/client";
import type { AffiliateApi } from "../../src/client/index.d.ts";

export async function welcome(url: string, key: string, email: string, slug: string) {
  const { api } = hc<AffiliateApi>(url, { headers: { Authorization: `Bearer ${key}` } });

  const made = await api.v1.partners.$post({ json: { email, slug, commission_pct: 25 } });
  if (!made.ok) {
    const { error } = await made.json();
    throw new Error(`${error.code}: ${error.message}`);
  }
  const { id } = await made.json();
  await api.v1.partners[":id"].$patch({ param: { id }, json: { status: "active" } });

  const earned = await api.v1.commissions.$get({ query: { partner_id: id, status: "approved" } });
  if (!earned.ok) throw new Error(`the API answered ${earned.status}`);
  const { data } = await earned.json();
  return data.map(({ amount_cents, currency }) => `${amount_cents} ${currency}`);
}
