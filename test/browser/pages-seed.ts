/** A program in the middle of its month, for pages that are looked at. */
import { chargeRefunded, sessionCompleted } from "../support/provider-a.ts";
import { SECRET_A, type OwnedProgram, type PagesWorld } from "./pages-world.ts";

interface WithId {
  id: string;
}

interface Commission extends WithId {
  payment_id: string;
}

export interface SeededProgram {
  program: OwnedProgram;
  partner_email: string;
  /** Every page of the dashboard and of the portal that has an address of its own, by name. */
  pages: { owner: Record<string, string>; partner: Record<string, string> };
}

const PARTNERS = [
  ["Ada", "Lovelace"],
  ["Grace", "Hopper"],
  ["Katherine", "Johnson"],
] as const;

export async function seedProgram(world: PagesWorld, owner_email: string): Promise<SeededProgram> {
  const program = await world.createProgram({ name: "Northwind Coffee", owner_email, domain: "northwind.example" });
  const { api, sendA } = program;
  await api("PATCH", "/programs/me", { provider_a_webhook_secret: SECRET_A, min_payout_cents: 2_000 });
  const partners = await Promise.all(
    PARTNERS.map(([first_name, last_name]) => {
      const slug = `${first_name.toLowerCase()}-${program.id.slice(-6)}`;
      const email = `${slug}@partners.example`;
      return api<WithId & { slug: string; email: string }>("POST", "/partners", { email, slug, first_name, last_name });
    }),
  );
  for (const { id } of partners)
    await api("PATCH", `/partners/${id}`, { status: "active", payout_method: "provider_a" });
  const [ada, grace] = partners;
  if (!ada || !grace) throw new Error("no partners");
  const large = { field: "txn_amount_cents", op: "gt", value: 20_000 };
  const flow = await api("POST", "/flows", {
    ...{ name: "Large orders", action_type: "percentage", action_value: 30, priority: 10, conditions: [large] },
  });
  const endpoint = await api("POST", "/webhooks", { url: "https://receiver.example.com/hooks", events: ["*"] });
  const now = Math.floor(Date.now() / 1000);
  for (let day = 11; day >= 0; day--) {
    const { slug } = partners[day % partners.length] ?? ada;
    const created = now - day * 86_400;
    await sendA(
      sessionCompleted({ ref: slug, amount: 4_000 + day * 2_300, tax: 700, created, payment_intent: `pi_${day}` }),
    );
  }
  await sendA(chargeRefunded({ payment_intent: "pi_2", amount: 8_600, refunded: 1_700 }));
  await sendA(sessionCompleted({ ref: "nobody", amount: 3_000 }));
  await sendA(sessionCompleted({ ref: grace.slug, amount: 9_000, email: grace.email }));
  const { data: commissions } = await api<{ data: Commission[] }>("GET", "/commissions?per_page=100");
  const ids = commissions.slice(5).map(({ id }) => id);
  await api("POST", "/commissions/bulk", { ids, status: "approved" });
  await api("POST", "/payouts/generate", {});
  await api("POST", "/commissions/bulk", { ids: commissions.slice(2, 4).map(({ id }) => id), status: "approved" });
  const [payout] = (await api<{ data: WithId[] }>("GET", "/payouts")).data;
  const payments = (await api<{ data: (WithId & { outcome: string })[] }>("GET", "/payments")).data;
  const unknown = payments.find(({ outcome }) => outcome === "unknown_ref");
  const [commission] = commissions;
  const at = (place: string, thing: WithId | undefined, rest = "") => `/dashboard/${place}/${thing?.id ?? ""}${rest}`;
  return {
    program,
    partner_email: ada.email,
    pages: {
      owner: {
        overview: "/dashboard",
        partners: "/dashboard/partners",
        "no partner matches": "/dashboard/partners?search=nobody",
        "add partner": "/dashboard/partners/new",
        "import partners": "/dashboard/partners/import",
        partner: at("partners", ada),
        "edit partner": at("partners", ada, "/edit"),
        "deactivate partner": at("partners", ada, "/deactivate"),
        commissions: "/dashboard/commissions",
        commission: at("commissions", commission),
        "add commission": "/dashboard/commissions/new",
        payments: "/dashboard/payments",
        payment: at("payments", unknown),
        payouts: "/dashboard/payouts",
        "prepare payouts": "/dashboard/payouts/new",
        payout: at("payouts", payout),
        "pay payout": at("payouts", payout, "/pay"),
        "mark payout paid": at("payouts", payout, "/mark-paid"),
        flows: "/dashboard/flows",
        flow: at("flows", flow),
        events: "/dashboard/events",
        webhooks: "/dashboard/webhooks",
        endpoint: at("webhooks", endpoint),
        "add endpoint": "/dashboard/webhooks/new",
        integration: "/dashboard/integration",
        settings: "/dashboard/settings",
        "new API key": "/dashboard/settings/api-key",
        "choose an account": "/switch",
        "not found": "/dashboard/nowhere",
      },
      partner: {
        overview: "/portal",
        commissions: "/portal/commissions",
        payouts: "/portal/payouts",
        details: "/portal/details",
      },
    },
  };
}
