/** A page reports the change that was made, in any state of the changed row (PAGE-7, PAGE-8). */
import { beforeEach, describe, expect, it } from "vitest";
import { ledgerOf, sendA } from "../support/ledger.ts";
import { makeCommissions } from "../support/payouts.ts";
import { changeOwnDetails } from "../support/own-change.ts";
import { makePartner, makeProgram, type TestProgram } from "../support/program.ts";
import { sessionCompleted } from "../support/provider-a.ts";
import { signInOwner, signInPartner, textOf, type Fields, type Visitor } from "../support/visitor.ts";

let program: TestProgram;
let owner: Visitor;

beforeEach(async () => {
  program = await makeProgram();
  owner = await signInOwner(program);
});

/** The notice of the page to which a form redirects. */
async function saidAfter(visitor: Visitor, page: string, fields: Fields, to: string = page): Promise<string> {
  await visitor.get(page);
  const { status, headers } = await visitor.post(to, fields);
  if (status !== 303) throw new Error(`${status} ${textOf(visitor.html)}`);
  return textOf((await visitor.get(headers.get("location")!.replace(/#.*/, ""))).body);
}

describe("a secret that is saved", () => {
  const save = (name: string, secret: string) =>
    saidAfter(owner, "/dashboard/settings", { name, secret }, "/dashboard/settings/secrets");
  const STAYS = "The previous one stays valid for 24 hours.";

  it("leaves a predecessor only where a signing secret is replaced (PROG-5)", async () => {
    program = await makeProgram({ provider_a_webhook_secret: null });
    owner = await signInOwner(program);
    const said: [string, boolean][] = [];
    for (const [name, secret] of [
      ["provider_a_webhook_secret", "whsec_first"],
      ["provider_a_webhook_secret", "whsec_second"],
      ["provider_a_webhook_secret", "whsec_second"],
      ["provider_a_api_key", "rk_live_first"],
      ["provider_a_api_key", "rk_live_second"],
    ] as const) {
      const text = await save(name, secret);
      expect(text).toContain("Secret saved.");
      said.push([secret, text.includes(STAYS)]);
    }
    expect(said).toEqual([
      ["whsec_first", false],
      ["whsec_second", true],
      ["whsec_second", false],
      ["rk_live_first", false],
      ["rk_live_second", false],
    ]);
  });
});

describe("a code that is given to a partner", () => {
  const CODE = { code: "JANE20", provider: "provider_a" };
  const NOBODYS = "/dashboard/payments/codes";
  const WAYS: [string, give: (id: string) => Promise<string>][] = [
    ["on the partner's page", (id) => saidAfter(owner, `/dashboard/partners/${id}/codes`, CODE)],
    ["where codes are nobody's", () => saidAfter(owner, NOBODYS, { ...CODE, slug: "jane" }, `${NOBODYS}/give`)],
  ];

  describe.each(WAYS)("%s", (_way, give) => {
    it.each([
      ["active", "commission", "Waiting payments with it earn their commissions within minutes."],
      ["invited", "partner_not_active", "earn their commissions once the partner is active."],
      ["deactivated", "partner_deactivated", "waiting payments earn only if the partner was active at the time."],
    ] as const)("earns what waited for it where they are active alone: %s (PART-4)", async (status, outcome, said) => {
      const { id } = await makePartner(program, { slug: "jane" }, status);
      const discounts = [{ promotion_code: { id: "promo_1", code: "JANE20" }, coupon: null }];
      await sendA(program, sessionCompleted({ ref: null, object: { discounts } }));
      expect(await give(id)).toContain(said);
      const { payments } = await ledgerOf(program);
      expect(payments.map((row) => [row.outcome, row.partner_id])).toEqual([[outcome, id]]);
    });
  });
});

describe("a flow that is saved", () => {
  const FLOW = { name: "Later", event: "transaction_completed", action_type: "flat", action_value: "5", priority: "0" };

  it.each([
    [{ ...FLOW, active: "on" }, "Applies to new payments only."],
    [{ ...FLOW, active: "" }, "It is switched off."],
    [{ ...FLOW, active: "on", event: "lead_created" }, "Applies to new leads only."],
  ])("decides what it is for, and nothing where it is switched off (FLOW-2, FLOW-12)", async (fields, said) => {
    expect(await saidAfter(owner, "/dashboard/flows/new", fields)).toContain(`The flow was added. ${said}`);
    const [, at = ""] = /action="(\/dashboard\/flows\/flw_\w+)"/.exec(owner.html) ?? [];
    expect(await saidAfter(owner, at, fields)).toContain(`Saved. ${said}`);
  });
});

describe("a payment that is recalculated", () => {
  const ASKED = "Recalculated with the rules at the time of the payment";

  it("is said to have changed only where it has (PAY-15)", async () => {
    const { id, slug } = await makePartner(program, {}, "deactivated");
    await sendA(program, sessionCompleted({ ref: slug }));
    const { payments } = await ledgerOf(program);
    const at = `/dashboard/payments/${payments[0]!.id}`;
    const recalculate = () => saidAfter(owner, at, {}, `${at}/reprocess`);
    expect(await recalculate()).toContain(`${ASKED}: nothing changed.`);
    await program.api("PATCH", `/api/v1/partners/${id}`, { status: "active" });
    expect(await recalculate()).toContain(`${ASKED}. The result is below.`);
    expect((await ledgerOf(program)).commissions).toHaveLength(1);
    expect(await recalculate()).toContain(`${ASKED}: nothing changed.`);
  });
});

describe("payout details that a partner saves", () => {
  const THERE = "New payouts go there.";
  const SET_UP = "Set up your account at Stripe to receive payouts there.";
  const NOT_OFFERED = "Test program does not offer payouts through Stripe yet. Choose another way.";

  it.each([
    ["wallet", null, THERE, null],
    ["crypto", null, THERE, null],
    ["", null, "How would you like to be paid?", "How would you like to be paid?"],
    ["provider_a", "rk_live_1", SET_UP, SET_UP],
    ["provider_a", null, NOT_OFFERED, NOT_OFFERED],
  ])("lead somewhere where there is such an account: %s (OUT-5)", async (payout_method, key, said, overview) => {
    program = await makeProgram({ provider_a_api_key: key });
    const { id, email } = await makePartner(program);
    await makeCommissions(program, id, [{}]);
    const payout_email = payout_method === "wallet" ? "jane@wallet.example" : "";
    const crypto = { network: "bitcoin", address: "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq" };
    const fields = { payout_method, payout_email, ...crypto };
    let visitor = await signInPartner(email);
    if (payout_method === "") expect(await saidAfter(visitor, "/portal/details", fields)).toContain(`Saved. ${said}`);
    else {
      const { confirmed, portal } = await changeOwnDetails(program, email, fields);
      expect(textOf(confirmed.body)).toContain(said);
      visitor = portal;
    }
    const first = textOf((await visitor.get("/portal")).body);
    if (overview === null) expect(first).not.toContain("Add your payout details");
    else expect(first).toContain(`${overview} Add your payout details`);
    const made = await program.api<{ payouts: object[] }>("POST", "/api/v1/payouts/generate");
    const masked: Record<string, string> = { wallet: "j****e@wallet.example", crypto: "bitcoin: bc****dq" };
    const recipient = masked[payout_method] ?? null;
    expect(made.body.payouts).toMatchObject([{ method: payout_method || null, recipient }]);
  });

  it("offer what the program can pay by, and what was chosen before (PAGE-8)", async () => {
    const offered = async (key: string | null, payout_method: string | null) => {
      const { email } = await makePartner(await makeProgram({ provider_a_api_key: key }), { payout_method });
      const { body } = await (await signInPartner(email)).get("/portal/details");
      return body.includes('<option value="provider_a"');
    };
    expect(await offered(null, null)).toBe(false);
    expect(await offered(null, "provider_a")).toBe(true);
    expect(await offered("rk_live_1", null)).toBe(true);
  });

  it("are missed on the first page where the owner chose a wallet without an address", async () => {
    const { email } = await makePartner(program, { payout_method: "wallet" });
    const { body } = await (await signInPartner(email)).get("/portal");
    expect(textOf(body)).toContain("A payout by PayPal needs the e-mail address of your account there.");
  });
});
