import { hc } from "hono/client";
import type { AffiliateApi } from "../../src/client/index.d.ts";

export async function reportOrder(url: string, key: string, order: { id: string; net_cents: number; ref?: string }) {
  const { api } = hc<AffiliateApi>(url, { headers: { Authorization: `Bearer ${key}` } });
  const answer = await api.v1.track.sale.$post({
    json: {
      external_id: order.id,
      amount_cents: order.net_cents,
      currency: "USD",
      net_of_tax: true,
      ...(order.ref ? { ref: order.ref } : {}),
    },
  });
  if (answer.ok) return (await answer.json()).outcome;
  const { error } = await answer.json();
  const fields = error.details?.map(({ path, message }) => `${path}: ${message}`) ?? [];
  throw new Error([error.message, ...fields].join(" "));
}
