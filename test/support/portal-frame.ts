import { hc } from "hono/client";
import type { AffiliateApi } from "../../src/client/index.d.ts";

export async function portalFrame(url: string, key: string, partner_id: string) {
  const { api } = hc<AffiliateApi>(url, { headers: { Authorization: `Bearer ${key}` } });
  const answer = await api.v1.partners[":id"]["portal-links"].$post({ param: { id: partner_id } });
  if (!answer.ok) throw new Error((await answer.json()).error.message);
  const link = await answer.json();
  return `<iframe src="${link.url}" title="Your referrals" width="100%" height="900"></iframe>`;
}
