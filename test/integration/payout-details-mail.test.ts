/** OUT-9: a change of payout details is mailed to the old address, the new one and the owner. */
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { Bindings } from "../../src/env.ts";
import { openMailbox } from "../support/mailbox.ts";
import { changeOwnDetails } from "../support/own-change.ts";
import { API_KEY_A, playOutside } from "../support/payouts.ts";
import { BASE_URL, makePartner, makeProgram, type TestProgram } from "../support/program.ts";
import { openVendor } from "../support/provider-a-api.ts";
import { makeVisitor, signInOwner, signInPartner } from "../support/visitor.ts";
import { callWith } from "../support/watched-database.ts";

afterEach(() => vi.restoreAllMocks());

const OLD = "walter@old-wallet.example";
const NEW = "zoe@new-wallet.example";
const CRYPTO = { network: "bitcoin", address: "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4" };
/** No e-mail contains the full details. */
const IN_FULL = /walter@|zoe@/;

async function world(fields: Record<string, unknown> = {}) {
  const program = await makeProgram({ name: "Acme", provider_a_api_key: API_KEY_A, live_only: false });
  const given = { payout_method: "wallet", payout_email: OLD, first_name: "Ada", last_name: "Lovelace", ...fields };
  const partner = await makePartner(program, given);
  const mailbox = openMailbox();
  const visitor = () => makeVisitor((path, init) => callWith<string>(mailbox.bindings, path, init));
  return { program, partner, visitor, ...mailbox };
}

/** The API with the program's key, in a deployment with e-mail. */
function api(
  { program, bindings }: { program: TestProgram; bindings: Partial<Bindings> },
  method: string,
  path: string,
  body: unknown,
  headers: Record<string, string> = {},
) {
  const all = { authorization: `Bearer ${program.api_key}`, "content-type": "application/json", ...headers };
  return callWith(bindings, path, {
    method,
    headers: all,
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
}

function to(mails: { to: string }[]): string[] {
  return mails.map((mail) => mail.to).toSorted();
}

describe("a change of payout details is reported (OUT-9)", () => {
  it("when the partner makes it: to the old address, the new one, the partner's own and the owner", async () => {
    const { program, partner, ...mailbox } = await world();
    const { mails, deliver } = mailbox;
    const fields = { payout_method: "wallet", payout_email: NEW };
    const { confirmed } = await changeOwnDetails(program, partner.email, fields, { mailbox });
    expect(confirmed.body).toContain("Payout details changed");
    mails.length = 0;
    await deliver(program.id);
    expect(to(mails)).toEqual([OLD, NEW, partner.email, program.program.owner_email].toSorted());
    for (const { text, html, subject, from } of mails) {
      expect([subject, from]).toEqual(["Payout details changed at Acme", "service@example.com"]);
      expect(text).toContain("E-mail at PayPal: w****r@old-wallet.example → z****@new-wallet.example");
      expect(text).toContain("Changed by: the partner, signed in to the portal");
      expect(text).toMatch(/Payouts to this partner are held until .+ \(UTC\)/);
      expect(text.includes("You can release the hold")).toBe(text.includes("Ada Lovelace, "));
      expect(text).toContain("If you did not expect this");
      expect(text + html).not.toMatch(IN_FULL);
      expect(text).not.toContain("Payout method");
    }
    // The reader of another address may be a stranger: the e-mail does not contain texts chosen by the partner.
    const named = mails.filter(({ text, html }) => /Ada|Lovelace/.test(text + html));
    expect(to(named)).toEqual([partner.email, program.program.owner_email].toSorted());
    const ofOwner = mails.find((mail) => mail.to === program.program.owner_email);
    expect(ofOwner?.text).toContain(`Ada Lovelace, ${partner.email}`);
    expect(ofOwner?.text).toContain(`${BASE_URL}/dashboard/partners`);
    expect(mails.find((mail) => mail.to === OLD)?.text).toContain(`${BASE_URL}/portal/details`);
  });

  it("when an API key makes it, once also where the request is repeated", async () => {
    const made = await world();
    const { program, partner, mails, deliver } = made;
    const path = `/api/v1/partners/${partner.id}`;
    const patch = { payout_method: "crypto", payout_email: null };
    const reply = await api(made, "PATCH", path, patch);
    expect(reply.status).toBe(200);
    await deliver(program.id);
    expect(to(mails)).toEqual([OLD, partner.email, program.program.owner_email].toSorted());
    for (const { text } of mails) {
      expect(text).toContain("Payout method: PayPal → Crypto");
      expect(text).toContain("E-mail at PayPal: w****r@old-wallet.example → none");
      expect(text).toContain(`Changed by: the program's API key that ends in ${program.program.api_key_last4}.`);
    }
    mails.length = 0;
    expect((await api(made, "PATCH", path, patch)).status).toBe(200);
    expect((await api(made, "PATCH", path, { first_name: "Grace", status: "deactivated" })).status).toBe(200);
    expect(await deliver(program.id)).toEqual([]);
  });

  it("when the owner makes it, whose address the partner sees in part only", async () => {
    const { program, partner, visitor, mails, deliver } = await world();
    const { owner_email } = program.program;
    const owner = await signInOwner(program, visitor());
    await owner.get(`/dashboard/partners/${partner.id}/edit`);
    const { email, slug } = partner;
    const fields = { email, slug, payout_method: "wallet", payout_email: NEW };
    expect((await owner.post(`/dashboard/partners/${partner.id}/edit`, fields)).status).toBe(303);
    await deliver(program.id);
    expect(to(mails)).toEqual([OLD, NEW, partner.email, owner_email].toSorted());
    for (const mail of mails) {
      if (mail.to === owner_email) expect(mail.text).toContain(`Changed by: ${owner_email}, signed in`);
      else expect(mail.text + mail.html).not.toContain(owner_email);
      expect(mail.text + mail.html).not.toMatch(IN_FULL);
    }
  });

  it("when an import fills them in: one e-mail to the owner for all, and one to each address", async () => {
    const made = await world({ payout_method: null, payout_email: null });
    const { program, partner, mails, deliver } = made;
    const other = await makePartner(program);
    const reported = await makePartner(program, { payout_method: "bank_transfer" });
    const line = ({ email, slug }: { email: string; slug: string }, wallet: string) => `${email},${slug},${wallet}\n`;
    const file = `email,token,paypal_email\n${line(partner, NEW)}${line(other, other.email)}${line(reported, NEW)}new@n.example,n1,n@n.example\n`;
    const path = "/api/v1/imports?kind=partners&product=rewardful";
    const csv = { "content-type": "text/csv" };
    expect((await api(made, "POST", `${path}&dry_run=true`, file, csv)).status).toBe(200);
    expect(await deliver(program.id)).toEqual([]);
    expect((await api(made, "POST", path, file, csv)).status).toBe(200);
    await deliver(program.id);
    expect(to(mails)).toEqual([partner.email, NEW, other.email, program.program.owner_email].toSorted());
    const ofOwner = mails.find((mail) => mail.to === program.program.owner_email);
    expect(ofOwner?.text).toContain("The payout details of 2 partners");
    for (const { email } of [partner, other]) expect(ofOwner?.text).toContain(email);
    for (const { text } of mails) expect(text).not.toMatch(IN_FULL);
  });

  it("when an import fills in those of many at once", async () => {
    const made = await world({ payout_method: null, payout_email: null });
    const csv = { "content-type": "text/csv" };
    const file = (wallet: boolean) =>
      Array.from({ length: 400 }, (_, i) => `p${i}@many.example,p${i}${wallet ? `,w${i}@wallet.example` : ""}\n`).join(
        "",
      );
    const path = "/api/v1/imports?kind=partners&product=rewardful";
    expect((await api(made, "POST", path, `email,token\n${file(false)}`, csv)).status).toBe(200);
    expect((await api(made, "POST", path, `email,token,paypal_email\n${file(true)}`, csv)).status).toBe(200);
    const { results } = await env.DB.prepare("select recipient from mails where program_id = ?")
      .bind(made.program.id)
      .all<{ recipient: string }>();
    const own = results.map(({ recipient }) => recipient).filter((one) => one !== made.program.program.owner_email);
    expect(own).toHaveLength(800);
    expect(new Set(own).size).toBe(800);
  });

  it("when an account at provider A is made for the partner", async () => {
    const made = await world({ payout_method: null, payout_email: null });
    const vendor = openVendor({ keys: [API_KEY_A] });
    playOutside(vendor);
    const path = `/api/v1/partners/${made.partner.id}/provider-a-account`;
    expect((await api(made, "POST", path, {})).status).toBe(201);
    const [account = ""] = vendor.accounts.keys();
    expect(account).not.toBe("");
    await made.deliver(made.program.id);
    expect(to(made.mails)).toEqual([made.partner.email, made.program.program.owner_email].toSorted());
    for (const { text } of made.mails) {
      expect(text).toMatch(/Account at Stripe: none → acct_\*{4}/);
      expect(text).not.toContain(account);
    }
  });

  it("goes to every owner, and to no other member", async () => {
    const made = await world();
    const { program, partner, deliver } = made;
    await program.api("POST", "/api/v1/members", { email: "second@shop.example", role: "owner" });
    await program.api("POST", "/api/v1/members", { email: "finance@shop.example", role: "finance" });
    await deliver(program.id);
    made.mails.length = 0;
    expect((await api(made, "PATCH", `/api/v1/partners/${partner.id}`, { payout_email: NEW })).status).toBe(200);
    const mails = await deliver(program.id);
    const owners = ["second@shop.example", program.program.owner_email];
    expect(to(mails)).toEqual([OLD, NEW, partner.email, ...owners].toSorted());
    for (const mail of mails.filter((one) => owners.includes(one.to))) {
      expect(mail.text).toContain(`Ada Lovelace, ${partner.email}`);
    }
  });

  it("goes to the old address and every owner if the partner's address changes, and holds nothing", async () => {
    const made = await world();
    const { program, partner, deliver } = made;
    await program.api("POST", "/api/v1/members", { email: "second@shop.example", role: "owner" });
    await deliver(program.id);
    made.mails.length = 0;
    const path = `/api/v1/partners/${partner.id}`;
    const { body, status } = await api(made, "PATCH", path, { email: "zelda@elsewhere.example" });
    expect([status, body]).toMatchObject([200, { payouts_held_until: null }]);
    expect((await api(made, "PATCH", path, { email: "Zelda@elsewhere.example" })).status).toBe(200);
    const mails = await deliver(program.id);
    const owners = ["second@shop.example", program.program.owner_email];
    expect(to(mails)).toEqual([partner.email, ...owners].toSorted());
    for (const { to: reader, subject, text, html } of mails) {
      expect(subject).toBe("E-mail address of a partner changed at Acme");
      expect(text).toMatch(/E-mail address: .\*+.+@.+ → z\*+a@elsewhere\.example/);
      expect(text).toContain("Payouts go to the same details as before.");
      expect(text).toContain("If you did not expect this");
      expect((text + html).includes("zelda@")).toBe(owners.includes(reader));
    }
  });

  it("says that two values differ whose masks are the same, in the event too (EVT-2)", async () => {
    const made = await world();
    const path = `/api/v1/partners/${made.partner.id}`;
    expect((await api(made, "PATCH", path, { payout_email: "weather@old-wallet.example" })).status).toBe(200);
    await made.deliver(made.program.id);
    expect(made.mails).toHaveLength(4);
    const [before, after] = ["w****r@old-wallet.example", "w****r@old-wallet.example (a different one)"];
    for (const { text } of made.mails) expect(text).toContain(`E-mail at PayPal: ${before} → ${after}`);
    const log = await made.program.api<{ data: object[] }>("GET", "/api/v1/events?type=partner.updated");
    expect(log.body.data[0]).toMatchObject({ changes: { payout_email: [before, after] } });
  });

  it("when a link to the account that is there is created, each time, and by whoever (OUT-15)", async () => {
    const made = await world();
    const vendor = openVendor({ keys: [API_KEY_A] });
    playOutside(vendor);
    const { program, partner, mails } = made;
    const path = `/api/v1/partners/${partner.id}/provider-a-account`;
    expect((await api(made, "POST", path, {})).status).toBe(201);
    await made.deliver(program.id);
    const own = { mailbox: made, path: "/portal/details/provider-a-account" };
    const ways = {
      "the program's API key": () => api(made, "POST", path, {}),
      "the partner, signed in to the portal": async () => {
        const { confirmed } = await changeOwnDetails(program, partner.email, {}, own);
        mails.length = 0;
        return confirmed;
      },
    };
    for (const [by, link] of Object.entries(ways)) {
      mails.length = 0;
      expect((await link()).status).toBe(200);
      await made.deliver(program.id);
      expect(to(mails)).toEqual([OLD, partner.email, program.program.owner_email].toSorted());
      for (const { text, html, subject } of mails) {
        expect(subject).toBe("Link to a payout account created at Acme");
        expect(text).toMatch(/^A link to the payout account at Stripe of .* was created\./);
        expect(text).toMatch(/Account at Stripe: acct_\*{4}/);
        expect(text).toContain(`Created by: ${by}`);
        expect(text).toMatch(/Payouts to this partner are held until .+ \(UTC\)/);
        expect(text).not.toContain("still go to the previous details");
        expect(text + html).not.toContain([...vendor.accounts.keys()][0]);
      }
    }
    const log = await program.api<{ data: { payload: object; actor: { type: string } }[] }>(
      "GET",
      "/api/v1/events?type=account_link.created",
    );
    const payload = { partner_id: partner.id };
    expect(log.body.data.map((event) => [event.payload, event.actor.type])).toEqual([
      [payload, "partner"],
      [payload, "api_key"],
      [payload, "api_key"],
    ]);
  });

  it("in words of ours: a name makes no line of its own, and no markup", async () => {
    const name = "Ada\n\nChanged by: nobody.\n<b>x</b>";
    const made = await world({ first_name: name, last_name: null });
    await api(made, "PATCH", `/api/v1/partners/${made.partner.id}`, { payout_email: NEW });
    expect(await made.deliver(made.program.id)).toHaveLength(4);
    for (const { text, html } of made.mails) {
      expect(text).not.toMatch(/^Changed by: nobody/m);
      expect(html).not.toContain("<b>");
    }
  });
});

describe("a partner's own requests to change payout details (OUT-9)", () => {
  const WINDOW = 15 * 60_000;
  const wallet = (i: number) => `victim${i}@wallet.example`;

  async function portalOf() {
    const made = await world();
    const portal = await signInPartner(made.partner.email, made.visitor());
    await portal.get("/portal/details");
    const post = (i: number, more = {}) =>
      portal.post("/portal/details", { payout_method: "wallet", payout_email: wallet(i), ...more });
    const mailed = async () => {
      const { results } = await env.DB.prepare("select kind, recipient from mails where partner_id = ?")
        .bind(made.partner.id)
        .all<{ kind: string; recipient: string }>();
      return results.map(({ kind, recipient }) => `${kind} ${recipient}`);
    };
    return { ...made, post, mailed, links: (n: number) => Array(n).fill(`payout_change_link ${made.partner.email}`) };
  }

  it("are 5 within 15 minutes: the next is 429, changes nothing and writes to nobody", async () => {
    const { program, partner, post, mailed, links, ...made } = await portalOf();
    const statuses = [];
    for (let i = 1; i <= 10; i++) statuses.push((await post(i)).status);
    expect(statuses).toEqual([303, 303, 303, 303, 303, 429, 429, 429, 429, 429]);
    expect(await mailed()).toEqual(links(5));
    const refused = await post(6);
    expect(refused.headers.get("retry-after")).toBe("900");
    expect(refused.body).toContain("Your payout details were changed too often");
    expect(refused.body).toContain(wallet(6));
    // A change of the name alone needs no link, and the owner is not delayed.
    const same = { payout_method: "wallet", payout_email: OLD, first_name: "Other" };
    expect((await post(5, same)).headers.get("location")).toBe("/portal/details?done=saved");
    expect(
      (await api({ ...made, program }, "PATCH", `/api/v1/partners/${partner.id}`, { payout_email: NEW })).status,
    ).toBe(200);
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + WINDOW + 1_000 });
    try {
      expect((await post(7)).status).toBe(303);
    } finally {
      vi.useRealTimers();
    }
    expect((await mailed()).filter((one) => one.startsWith("payout_change_link"))).toEqual(links(6));
  });

  it("count together with links to the connected account (OUT-15)", async () => {
    const { program, partner, visitor, deliver } = await world();
    const vendor = openVendor({ keys: [API_KEY_A] });
    playOutside(vendor);
    const portal = await signInPartner(partner.email, visitor());
    await portal.get("/portal/details");
    const link = () => portal.post("/portal/details/provider-a-account", {});
    const statuses = [];
    for (let i = 0; i < 7; i++) statuses.push((await link()).status);
    expect(statuses).toEqual([303, 303, 303, 303, 303, 429, 429]);
    expect((await portal.post("/portal/details", { payout_method: "crypto", ...CRYPTO })).status).toBe(429);
    // The use of the e-mailed link calls the vendor.
    expect(vendor.links).toEqual([]);
    const log = await program.api<{ total: number }>("GET", "/api/v1/events?type=account_link.created");
    expect(log.body.total).toBe(0);
    await deliver(program.id);
  });

  it("are 5 also where they are sent at once", async () => {
    const { post, mailed, links } = await portalOf();
    const replies = await Promise.all(Array.from({ length: 10 }, (_, i) => post(i)));
    const statuses = replies.map(({ status }) => status).toSorted();
    expect(statuses).toEqual([303, 303, 303, 303, 303, 429, 429, 429, 429, 429]);
    expect(await mailed()).toEqual(links(5));
  });
});

describe("a partner who is deactivated, or becomes so, is notified of changed payout details too (OUT-9, MAIL-7)", () => {
  const HERS = "thief@elsewhere.example";

  it.each([
    ["in the same request, at the former address as well", [{ status: "deactivated", payout_email: NEW, email: HERS }]],
    ["before", [{ status: "deactivated" }, { payout_email: NEW }]],
    ["before, and active again after", [{ status: "deactivated" }, { payout_email: NEW }, { status: "active" }]],
    ["before the e-mail has gone out", [{ payout_email: NEW }, { status: "deactivated" }]],
  ])("%s", async (_, patches) => {
    const made = await world();
    const { program, partner, mails, deliver } = made;
    for (const patch of patches) {
      expect((await api(made, "PATCH", `/api/v1/partners/${partner.id}`, patch)).status).toBe(200);
    }
    await deliver(program.id);
    const moved = patches.some((patch) => "email" in patch) ? [HERS] : [];
    expect(to(mails)).toEqual([OLD, NEW, partner.email, ...moved, program.program.owner_email].toSorted());
    for (const { text, html } of mails) {
      expect(text).toContain("E-mail at PayPal: w****r@old-wallet.example → z****@new-wallet.example");
      expect(text + html).not.toMatch(IN_FULL);
    }
  });

  it("without a way that is closed to them: they cannot sign in", async () => {
    const made = await world();
    const { program, partner, mails, deliver } = made;
    await api(made, "PATCH", `/api/v1/partners/${partner.id}`, { status: "deactivated", payout_email: NEW });
    await deliver(program.id);
    const own = mails.find((mail) => mail.to === partner.email)!;
    expect(own.text).toContain("If you did not expect this, inform Acme at once, before the next payout.");
    expect(own.text + own.html).not.toContain("/portal");
  });
});

describe("the e-mails of a change", () => {
  it("do not go out where the change was refused", async () => {
    const made = await world();
    const taken = await makePartner(made.program);
    const patch = { email: taken.email, payout_email: NEW };
    expect((await api(made, "PATCH", `/api/v1/partners/${made.partner.id}`, patch)).status).toBe(409);
    expect(await made.deliver(made.program.id)).toEqual([]);
  });
});
