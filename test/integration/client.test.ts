import { exports } from "cloudflare:workers";
import { hc } from "hono/client";
import { describe, expect, expectTypeOf, it, vi } from "vitest";
import types from "../../src/client/index.d.ts?raw";
import type { AffiliateApi, ApiError, Partner } from "../../src/client/index.d.ts";
import { API } from "../../src/http/routes.ts";
import guide from "../../src/docs/integrate.md?raw";
import { giveCode } from "../support/codes.ts";
import { makePartner, makeProgram, BASE_URL } from "../support/program.ts";
import { welcome } from "../support/readme-client.ts";
import example from "../support/readme-client.ts?raw";
import { portalFrame } from "../support/portal-frame.ts";
import frameExample from "../support/portal-frame.ts?raw";
import { reportOrder } from "../support/track-client.ts";
import trackExample from "../support/track-client.ts?raw";
import { reportSignUp } from "../support/track-lead.ts";
import signUpExample from "../support/track-lead.ts?raw";

/** The code block of a guide, which imports the downloaded types. */
const asShown = (code: string) => `\`\`\`ts\n${code.replace("../../src/client/index.d.ts", "./client.d.ts")}\`\`\``;

/** The client of an owner's server, with the Worker in place of the network. */
function clientOf({ api_key }: { api_key: string }) {
  return hc<AffiliateApi>(BASE_URL, {
    headers: { Authorization: `Bearer ${api_key}` },
    fetch: (input: RequestInfo | URL, init?: RequestInit) => exports.default.fetch(new Request(input, init)),
  }).api.v1;
}

describe("the typed client", () => {
  it("knows every route of the API and its methods, and no other", () => {
    const typed = [...types.matchAll(/^ {2}"(\/api\/v1\/.*?)": \{\n(.*?)^ {2}\};/gms)].flatMap(([, path, body = ""]) =>
      [...body.matchAll(/^ {4}\$([a-z]+): /gm)].map(([, method = ""]) => `${method.toUpperCase()} ${path}`),
    );
    const served = API.map(({ at }) => at);
    expect(typed.toSorted()).toEqual(served.toSorted());
  });

  it("creates, changes, reads and lists", async () => {
    const program = await makeProgram();
    const v1 = clientOf(program);
    const made = await v1.partners.$post({
      json: { email: "t@partners.example", slug: "typed", metadata: { a: [1] } },
    });
    expect(made.status).toBe(201);
    if (!made.ok) throw new Error("refused");
    const partner = await made.json();
    expectTypeOf(partner).toEqualTypeOf<Partner>();
    expectTypeOf(partner.status).toEqualTypeOf<"invited" | "active" | "deactivated">();
    expectTypeOf(partner.payout_method).toEqualTypeOf<"wallet" | "provider_a" | "bank_transfer" | "crypto" | null>();
    expect([partner.status, partner.metadata]).toEqual(["invited", { a: [1] }]);
    const { id } = partner;
    const patched = await v1.partners[":id"].$patch({ param: { id }, json: { status: "active" } });
    expect(patched.ok && (await patched.json()).status).toBe("active");
    const got = await v1.partners[":id"].$get({ param: { id } });
    expect(got.ok && (await got.json()).stats.total_commissions).toBe(0);
    const listed = await v1.partners.$get({ query: { per_page: "1", status: "active", search: "typed" } });
    expect(listed.ok && (await listed.json()).data.map((one) => one.id)).toEqual([id]);
  });

  it("takes actions without and with a body, and a file", async () => {
    const program = await makeProgram();
    const v1 = clientOf(program);
    const partner = await makePartner(program);
    const bonus = await v1.commissions.$post({ json: { partner_id: partner.id, amount_cents: 500, note: "bonus" } });
    if (!bonus.ok) throw new Error("refused");
    const { id } = await bonus.json();
    const bulk = await v1.commissions.bulk.$post({ json: { ids: [id], status: "approved" } });
    const [result] = bulk.ok ? (await bulk.json()).data : [];
    expect(result?.ok && result.status).toBe("approved");
    const planned = await v1.payouts.generate.$post({ json: { dry_run: true } });
    expect(planned.ok && (await planned.json()).totals).toMatchObject([{ amount_cents: 500 }]);
    const generated = await v1.payouts.generate.$post({});
    const [payout] = generated.ok ? (await generated.json()).payouts : [];
    if (!payout || !("id" in payout)) throw new Error("no payout was made");
    const paid = await v1.payouts[":id"]["mark-paid"].$post({ param: { id: payout.id }, json: { reference: "1" } });
    expect(paid.ok && (await paid.json()).status).toBe("paid");
    const file = await v1.payouts["export.csv"].$get({ query: {} });
    expect(await file.text()).toContain(payout.id);
  });

  it("has amounts as numbers, to count with", async () => {
    const program = await makeProgram();
    const v1 = clientOf(program);
    const { id, slug } = await makePartner(program);
    const { id: code_id } = await giveCode(program, id, { code: "NOTHING", provider: "provider_a" });
    await v1.track.sale.$post({
      json: { external_id: "o1", amount_cents: 5_000, currency: "USD", net_of_tax: true, ref: slug },
    });
    const flow = { action_type: "percentage", action_value: 50 } as const;
    const [partner, balance, planned, codes, simulated] = await Promise.all([
      v1.partners[":id"].$get({ param: { id } }),
      v1.partners[":id"].balance.$get({ param: { id } }),
      v1.payouts.generate.$post({ json: { dry_run: true } }),
      v1.codes.summary.$get({ query: {} }),
      v1.flows.simulate.$post({ json: { flow, last: 1 } }),
    ]);
    if (!partner.ok || !balance.ok || !planned.ok || !codes.ok || !simulated.ok) throw new Error("refused");
    const { stats } = await partner.json();
    expect(stats.pending_cents + stats.total_earned_cents - stats.paid_cents).toBe(2_000);
    const { data } = await balance.json();
    expect(data.reduce((sum, one) => sum + one.pending_cents - one.payable_cents + one.forgiven_cents, 0)).toBe(1_000);
    const { totals, skipped } = await planned.json();
    const left = skipped.reduce((sum, one) => sum + one.amount_cents, 0);
    expect(totals.reduce((sum, one) => sum + one.amount_cents - one.skipped_cents, left)).toBe(0);
    const brought = (await codes.json()).data.filter((one) => one.code_id === code_id);
    expect(brought.reduce((sum, one) => sum + one.revenue_cents - one.earned_cents, 0)).toBe(0);
    const { payments, sums } = await simulated.json();
    const gained = payments.map((one) => one.new_amount_cents - one.old_amount_cents - one.adjusted_cents);
    expect([gained, sums.map((one) => one.new_amount_cents - one.old_amount_cents)]).toEqual([[1_500], [1_500]]);
  });

  it("distinguishes refusals from answers, each with its own type", async () => {
    const v1 = clientOf(await makeProgram());
    const refused = await v1.flows[":id"].$get({ param: { id: "flw_none" } });
    if (refused.ok) throw new Error("found");
    const body = await refused.json();
    expectTypeOf(body).toEqualTypeOf<ApiError>();
    expect([refused.status, body.error.code]).toEqual([404, "not_found"]);
    const unauthorized = await clientOf({ api_key: "sk_wrong" }).events.$get({ query: {} });
    expect(unauthorized.status).toBe(401);
  });

  it("does as the guide's example does", async () => {
    const program = await makeProgram();
    expect(guide).toContain(asShown(example));
    vi.stubGlobal("fetch", (input: RequestInfo | URL, init?: RequestInit) =>
      exports.default.fetch(new Request(input, init)),
    );
    const ours = [BASE_URL, program.api_key, "readme@partners.example"] as const;
    expect(await welcome(...ours, "readme")).toEqual([]);
    await expect(welcome(...ours, "other")).rejects.toThrow(/^already_exists: /);
    vi.unstubAllGlobals();
    const { body } = await program.api<{ data: { status: string }[] }>("GET", "/api/v1/partners");
    expect(body.data.map(({ status }) => status)).toEqual(["active"]);
  });

  it("puts the portal into a page as the guide's example does, and its command asks for a link (EMBED-1)", async () => {
    const program = await makeProgram();
    const { id } = await makePartner(program);
    expect(guide).toContain(asShown(frameExample));
    vi.stubGlobal("fetch", (input: RequestInfo | URL, init?: RequestInit) =>
      exports.default.fetch(new Request(input, init)),
    );
    const ours = [BASE_URL, program.api_key] as const;
    expect(await portalFrame(...ours, id)).toMatch(
      /^<iframe src="https:\/\/service\.example\/embed\?token=[\w-]{43}" /,
    );
    await expect(portalFrame(...ours, "par_none")).rejects.toThrow("No such partner.");
    const [, method = "", path = "", header = ""] =
      /curl -X (\w+) "\$BASE_URL(\S+portal-links)" -H "(.*)"/.exec(guide) ?? [];
    const [name = "", value = ""] = header.replace("$API_KEY", program.api_key).split(": ");
    const reply = await fetch(`${BASE_URL}${path.replace("$PARTNER_ID", id)}`, { method, headers: { [name]: value } });
    expect(reply.status).toBe(201);
    vi.unstubAllGlobals();
  });

  it("reports orders as the guide's example does (FACT-1, FACT-2)", async () => {
    const program = await makeProgram();
    const { slug } = await makePartner(program);
    expect(guide).toContain(asShown(trackExample));
    vi.stubGlobal("fetch", (input: RequestInfo | URL, init?: RequestInit) =>
      exports.default.fetch(new Request(input, init)),
    );
    const ours = [BASE_URL, program.api_key] as const;
    const order = { id: "order-1", net_cents: 5_000, ref: slug };
    expect(await reportOrder(...ours, order)).toBe("commission");
    expect(await reportOrder(...ours, order)).toBe("commission");
    const changed = reportOrder(...ours, { ...order, net_cents: 6_000 });
    await expect(changed).rejects.toThrow("amount_cents: This was 5000, and is 6000 now.");
    vi.unstubAllGlobals();
  });

  it("reports sign-ups as the guide's example does, for a flow of leads (FACT-7)", async () => {
    const program = await makeProgram();
    const { slug } = await makePartner(program);
    expect(guide).toContain(asShown(signUpExample));
    vi.stubGlobal("fetch", (input: RequestInfo | URL, init?: RequestInit) =>
      exports.default.fetch(new Request(input, init)),
    );
    const ours = [BASE_URL, program.api_key] as const;
    const flow = { name: "Sign-ups", event: "lead_created", action_type: "flat", action_value: 500 } as const;
    expect((await clientOf(program).flows.$post({ json: flow })).status).toBe(201);
    const account = { id: "u1", email: "kim@customer.example", ref: slug };
    expect(await reportSignUp(...ours, account)).toBe("commission");
    await expect(reportSignUp(...ours, { ...account, ref: "other" })).rejects.toThrow("already reported");
    vi.unstubAllGlobals();
  });
});
