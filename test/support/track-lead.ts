import { hc } from "hono/client";
import type { AffiliateApi } from "../../src/client/index.d.ts";

export async function reportSignUp(url: string, key: string, account: { id: string; email: string; ref: string }) {
  const { api } = hc<AffiliateApi>(url, { headers: { Authorization: `Bearer ${key}` } });
  const answer = await api.v1.track.lead.$post({
    json: {
      external_id: `signup-${account.id}`,
      ref: account.ref,
      customer: { id: account.id, email: account.email },
    },
  });
  if (answer.ok) return (await answer.json()).outcome;
  throw new Error((await answer.json()).error.message);
}
