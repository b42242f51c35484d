/** A partner's own change of the payout destination waits for an e-mailed link (OUT-25). */
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { eventsOf } from "../support/commissions.ts";
import { openMailbox } from "../support/mailbox.ts";
import { changeLinkIn, changeOwnDetails, confirmLink, visitorWithMail } from "../support/own-change.ts";
import { API_KEY_A, playOutside } from "../support/payouts.ts";
import { BASE_URL, makePartner, makeProgram } from "../support/program.ts";
import { openVendor } from "../support/provider-a-api.ts";
import { makeVisitor, signInPartner, textOf } from "../support/visitor.ts";
import { callWith } from "../support/watched-database.ts";

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const OLD = { payout_method: "wallet", payout_email: "walter@old.example" };
const NEW = { payout_method: "wallet", payout_email: "zoe@new.example" };
const CRYPTO = { payout_method: "crypto", network: "bitcoin", address: "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4" };

async function world(details: Record<string, unknown> = OLD) {
  const program = await makeProgram({ provider_a_api_key: API_KEY_A, live_only: false });
  const partner = await makePartner(program, details);
  const mailbox = openMailbox();
  const portal = await signInPartner(partner.email, visitorWithMail(mailbox));
  await portal.get("/portal/details");
  const ask = async (fields: Record<string, string> = NEW, path = "/portal/details") => {
    const asked = await portal.post(path, fields);
    expect(asked.headers.get("location")).toBe("/portal/details?done=confirm");
    await mailbox.deliver(program.id);
    return changeLinkIn(mailbox.mails, partner.email);
  };
  const stored = async () => (await program.api<Record<string, unknown>>("GET", `/api/v1/partners/${partner.id}`)).body;
  const use = (token: string) => confirmLink(visitorWithMail(mailbox), token);
  return { program, partner, mailbox, portal, ask, stored, use, at: `/api/v1/partners/${partner.id}` };
}

async function pendingRow({ id }: { id: string }): Promise<object | null> {
  return env.DB.prepare("select * from pending_destinations where partner_id = ?").bind(id).first();
}

describe("a partner's own change of payout details (OUT-25)", () => {
  it.each([
    ["a change", OLD, NEW, "E-mail at PayPal: w****r@old.example → z****@new.example"],
    ["the first details", { payout_method: null }, NEW, "E-mail at PayPal: none → z****@new.example"],
    ["the removal", OLD, { payout_method: "", payout_email: "" }, "Payout method: PayPal → "],
    ["another method", OLD, CRYPTO, "Payout method: PayPal → Crypto"],
  ] as const)("takes effect with the link: %s", async (_, before, fields, line) => {
    const { portal, ask, stored, use, program, partner, mailbox } = await world(before);
    const was = await stored();
    const token = await ask(fields);
    expect(await stored()).toEqual(was);
    const mail = mailbox.mails.find(({ text }) => text.includes(token))!;
    expect([mail.to, mail.subject]).toEqual([partner.email, "Confirm your payout details at Test program"]);
    expect(mail.text).toContain(line);
    expect(mail.text + mail.html).not.toMatch(/walter@|zoe@/);
    const waiting = textOf((await portal.get("/portal/details")).body);
    expect(waiting).toContain("Awaiting your confirmation");
    expect(waiting).toContain(line);

    // A mail scanner opens the link with GET.
    const visitor = visitorWithMail(mailbox);
    const page = await visitor.get(`/confirm-payout-details?token=${token}`);
    expect([page.status, textOf(page.body).includes(partner.email), textOf(page.body).includes(line)]).toEqual([
      ...[200, true, true],
    ]);
    expect(await stored()).toEqual(was);
    expect((await use(token)).body).toContain("Payout details changed");
    const now = await stored();
    expect(now["payout_method"]).toBe(fields.payout_method || null);
    expect(now["payouts_held_until"]).not.toBeNull();
    const [event] = await eventsOf(program, "partner.updated");
    expect(event).toMatchObject({ actor: { type: "partner", id: partner.id } });
    expect(textOf((await portal.get("/portal/details")).body)).not.toContain("Awaiting your confirmation");
  });

  it("keeps the name, which counts at once", async () => {
    const { ask, stored } = await world();
    await ask({ ...NEW, first_name: "Zoe", last_name: "Quandt" });
    expect(await stored()).toMatchObject({ ...OLD, first_name: "Zoe", last_name: "Quandt", payouts_held_until: null });
  });

  it("happens once: a link that is opened twice has no second effect, and neither at once", async () => {
    const { ask, use, program, partner, stored } = await world();
    const token = await ask();
    const replies = await Promise.all([use(token), use(token), use(token)]);
    expect(replies.map(({ status }) => status).toSorted()).toEqual([200, 410, 410]);
    expect((await use(token)).status).toBe(410);
    const events = await eventsOf(program, "partner.updated");
    expect(events.filter((event) => JSON.stringify(event).includes("z****@new.example"))).toHaveLength(1);
    expect(await stored()).toMatchObject(NEW);
    expect(await pendingRow(partner)).toBeNull();
  });

  it.each<[string, (made: Awaited<ReturnType<typeof world>>, token: string) => unknown]>([
    ["15 minutes", () => vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 15 * 60_000 + 1_000 })],
    ["a newer request", ({ ask }) => ask({ ...NEW, payout_email: "other@new.example" })],
    ["its discarding", ({ portal }) => portal.post("/portal/details/discard")],
    [
      "an owner's change of the details",
      ({ program, at }) => program.api("PATCH", at, { payout_email: "owner@set.example" }),
    ],
    ["an owner's change of the address", ({ program, at }) => program.api("PATCH", at, { email: "x@moved.example" })],
    ["the partner's deactivation", ({ program, at }) => program.api("DELETE", at)],
  ])("has no effect after %s", async (_, act) => {
    const made = await world();
    const token = await made.ask();
    await act(made, token);
    const was = await made.stored();
    const used = await made.use(token);
    expect([used.status, textOf(used.body)]).toEqual([410, expect.stringContaining("This link no longer works")]);
    vi.useRealTimers();
    expect(await made.stored()).toEqual(was);
  });

  it("loses against an owner's change at the same moment, or comes before it: never both in part", async () => {
    for (let round = 0; round < 5; round++) {
      const { program, at, ask, use, stored } = await world();
      const token = await ask(CRYPTO);
      const [used, changed] = await Promise.all([
        use(token),
        program.api("PATCH", at, { payout_email: "owner@set.example" }),
      ]);
      expect(changed.status).toBe(200);
      const now = await stored();
      expect(now).toMatchObject({ payout_email: "owner@set.example" });
      expect(now["payout_method"]).toBe(used.status === 200 ? "crypto" : "wallet");
    }
  });

  it("survives other changes of the partner", async () => {
    const { program, at, ask, use, stored } = await world();
    const token = await ask();
    await program.api("PATCH", at, { first_name: "Zoe", commission_pct: 12 });
    expect((await use(token)).status).toBe(200);
    expect(await stored()).toMatchObject({ ...NEW, first_name: "Zoe", commission_pct: 12 });
  });

  it("is refused without e-mail, and the page says so; the owner can change the details", async () => {
    const { program, partner, at, stored } = await world();
    const bindings = { ENVIRONMENT: "production" as const, PUBLIC_URL: BASE_URL };
    const portal = await signInPartner(
      partner.email,
      makeVisitor((path, init) => callWith<string>(bindings, path, init)),
    );
    const { body } = await portal.get("/portal/details");
    expect(textOf(body)).toContain("This service sends no e-mail");
    expect(body).not.toContain('name="payout_email"');
    expect((await portal.post("/portal/details", NEW)).status).toBe(503);
    expect((await portal.post("/portal/details/provider-a-account", { country: "DE" })).status).toBe(503);
    expect((await portal.post("/portal/details", { first_name: "Zoe", last_name: "" })).status).toBe(303);
    expect(await stored()).toMatchObject({ ...OLD, first_name: "Zoe" });
    expect((await program.api("PATCH", at, NEW)).status).toBe(200);
  });

  it("is stored sealed, without its token", async () => {
    const { ask, partner } = await world();
    const token = await ask();
    const row = await pendingRow(partner);
    expect(row).not.toBeNull();
    expect(JSON.stringify(row)).not.toMatch(/zoe|walter/);
    expect(JSON.stringify(row)).not.toContain(token);
  });
});

describe("a partner's own link to the account at the vendor (OUT-25, OUT-15)", () => {
  const AT = "/portal/details/provider-a-account";

  it("is made once the e-mailed link is used, for the reader of that link", async () => {
    const vendor = openVendor({ keys: [API_KEY_A] });
    playOutside(vendor);
    const { program, partner, mailbox, stored } = await world();
    const { confirmed } = await changeOwnDetails(program, partner.email, { country: "DE" }, { mailbox, path: AT });
    expect(textOf(confirmed.body)).toContain("Continue at Stripe");
    expect([vendor.accounts.size, vendor.links.length]).toEqual([1, 1]);
    const now = await stored();
    expect(now["provider_a_account_id"]).toBe([...vendor.accounts.keys()][0]);
    expect(now["payouts_held_until"]).not.toBeNull();
    expect(await eventsOf(program, "account_link.created")).toMatchObject([{ actor: { type: "partner" } }]);
  });

  it("can be tried again if the vendor does not answer, and then works once", async () => {
    const vendor = openVendor({ keys: [API_KEY_A] });
    playOutside(vendor);
    const { ask, use, stored } = await world();
    const token = await ask({ country: "DE" }, AT);
    vendor.faults.push(null, "gateway", "gateway", "gateway", "gateway");
    expect((await use(token)).status).toBe(503);
    expect((await stored())["payouts_held_until"]).not.toBeNull();
    vendor.faults.length = 0;
    expect((await use(token)).status).toBe(200);
    expect((await use(token)).status).toBe(410);
    expect(vendor.accounts.size).toBe(1);
  });
});
