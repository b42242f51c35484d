/** A form that was opened before another person saved does not overwrite the newer values (PAGE-30). */
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { openDatabase } from "../../src/db/client.ts";
import { actingAs, forProgram } from "../../src/core/kernel/context.ts";
import { StaleChange } from "../../src/core/kernel/stale.ts";
import { updatePartner } from "../../src/core/partners/partners.ts";
import { openProgram } from "../../src/core/programs/programs.ts";
import { actors } from "../../src/domain/actor.ts";
import { percent } from "../../src/domain/money.ts";
import { create } from "../support/conformance.ts";
import { sentOf } from "../support/form-fields.ts";
import { CHANGING, EDITED } from "../support/page-forms.ts";
import { makePartner, makeProgram, testContext, type TestProgram } from "../support/program.ts";
import { ENDPOINT, FLOW, PARTNER, PROGRAM } from "../support/samples.ts";
import { everythingOf, pageAddress } from "../support/stocked.ts";
import { uniqueId } from "../support/vendor.ts";
import { signInMember, signInOwner, signInPartner, textOf, type Fields, type Visitor } from "../support/visitor.ts";
import { watchDatabase } from "../support/watched-database.ts";

let program: TestProgram;
let visitors: Record<"dashboard" | "portal", Visitor>;
let ids: Record<string, string>;

async function setUp(full: boolean): Promise<void> {
  const email = `${uniqueId("stale-")}@partners.example`;
  program = await makeProgram(full ? { ...PROGRAM, slug: uniqueId("stale-") } : {});
  const made = async (path: string, body: unknown) => (await create(program, `/api/v1${path}`, body)).id;
  const partner = full ? { ...PARTNER, email } : { email, slug: "plain" };
  ids = {
    partners: await made("/partners", { ...partner, payout_method: "wallet", payout_email: "old@wallet.example" }),
    groups: await made("/groups", { name: "Club", slug: "club", ...(full ? { commission_pct: 5, hold_days: 7 } : {}) }),
    flows: await made("/flows", full ? FLOW : { name: "Plain", action_type: "percentage", action_value: 5 }),
    webhooks: await made("/webhooks", full ? ENDPOINT : { url: "https://plain.example.com/", events: ["*"] }),
  };
  const name = { legal_name: "Renate Quandt", address: "Hauptstr. 1", country: "DE" };
  const tax = full ? { kind: "business", tax_id: "DE123456789", vat_rate: 19 } : { kind: "private" };
  const taxed = await program.api("PUT", `/api/v1/partners/${ids["partners"]}/tax-data`, { ...name, ...tax });
  expect(taxed.status).toBe(200);
  visitors = { dashboard: await signInOwner(program), portal: await signInPartner(email) };
}

beforeEach(() => setUp(true));

const visitorOf = (path: string) => visitors[path.startsWith("/portal") ? "portal" : "dashboard"];

type Sent = Map<string, string[]>;

async function opened(path: string): Promise<Sent> {
  return sentOf((await visitorOf(path).get(pageAddress(path, ids))).body);
}

const send = (path: string, sent: Sent, changed: Record<string, string> = {}) =>
  visitorOf(path).post(pageAddress(path, ids), { ...Object.fromEntries<Fields[string]>(sent), ...changed });

describe.each([true, false])(
  "two people with the same form open, of a row with every field set: %s (PAGE-30)",
  (full) => {
    beforeEach(() => setUp(full));

    it.each(CHANGING)("keep both changes where they change different fields: %s", async (path) => {
      const { same, other } = EDITED[path];
      const [mine, theirs] = [await opened(path), await opened(path)];
      expect((await send(path, theirs, { [same[0]]: same[1] })).status).toBe(303);
      expect((await send(path, mine, { [other[0]]: other[1] })).status).toBe(303);
      const now = await opened(path);
      expect([now.get(same[0]), now.get(other[0])]).toEqual([[same[1]], [other[1]]]);
      // All else is as it was.
      for (const [name, values] of mine) {
        if (name !== "shown" && name !== same[0] && name !== other[0])
          expect([name, now.get(name)]).toEqual([name, values]);
      }
    });

    it.each(CHANGING)("show both values if they change the same field, and lose nothing: %s", async (path) => {
      const { same, other } = EDITED[path];
      const [mine, theirs] = [await opened(path), await opened(path)];
      expect((await send(path, theirs, { [same[0]]: same[1] })).status).toBe(303);
      const before = await everythingOf(program.id);
      const reply = await send(path, mine, { [same[0]]: same[2], [other[0]]: other[1] });
      expect(reply.status).toBe(422);
      expect(await everythingOf(program.id)).toBe(before);
      expect(textOf(reply.body)).toContain(`Changed to “${same[1]}”`);
      const again = sentOf(reply.body);
      expect([again.get(same[0]), again.get(other[0])]).toEqual([[same[2]], [other[1]]]);
      // The second sending decides.
      expect((await send(path, again)).status).toBe(303);
      const now = await opened(path);
      expect([now.get(same[0]), now.get(other[0])]).toEqual([[same[2]], [other[1]]]);
    });
  },
);

describe("a form that was opened before somebody else saved (PAGE-30)", () => {
  const EDIT = "/dashboard/partners/:id/edit";
  const flowsOf = () => program.api<{ data: object[] }>("GET", "/api/v1/flows");

  it("says who did, and what of it, also where it changes only what belongs to it", async () => {
    const [mine, theirs] = [await opened(EDIT), await opened(EDIT)];
    const finance = `${uniqueId("second-")}@example.com`;
    await program.api("POST", "/api/v1/members", { email: finance, role: "owner" });
    const second = await signInMember(program, finance);
    const fields = { ...Object.fromEntries<Fields[string]>(theirs), payout_method: "bank_transfer" };
    expect((await second.post(pageAddress(EDIT, ids), fields)).status).toBe(303);
    const reply = await send(EDIT, mine, { payout_email: "new@wallet.example" });
    expect(reply.status).toBe(422);
    const text = textOf(reply.body);
    expect(text).toContain(`Changed by ${finance} while you were editing.`);
    expect(text).toContain(`Changed to “Bank transfer” by ${finance}.`);
  });

  it("does not join a flow's rate with another's type: 25 % is no flat amount", async () => {
    const path = "/dashboard/flows/:id";
    const [mine, theirs] = [await opened(path), await opened(path)];
    expect((await send(path, theirs, { action_type: "flat", action_value: "5.00" })).status).toBe(303);
    expect((await send(path, mine, { action_value: "25" })).status).toBe(422);
    expect((await flowsOf()).body.data).toMatchObject([{ action_type: "flat", action_value: 500 }]);
  });

  it("saves no rate from the list of flows that was typed over another", async () => {
    const address = pageAddress("/dashboard/flows/:id", ids);
    const owner = visitors.dashboard;
    const preview = sentOf((await owner.get(`${address}?action_value=25`)).body);
    await program.api("PATCH", `/api/v1/flows/${ids["flows"]}`, { action_value: 41, priority: 2 });
    const reply = await owner.post(address, Object.fromEntries(preview));
    expect([reply.status, textOf(reply.body).includes("Changed to “41”")]).toEqual([422, true]);
    const saved = await owner.post(address, Object.fromEntries(sentOf(reply.body)));
    expect(saved.status).toBe(303);
    expect((await flowsOf()).body.data).toMatchObject([{ action_value: 25, priority: 2 }]);
  });

  it("applies no rate from an earlier day that somebody else changed", async () => {
    const mine = await opened(EDIT);
    await program.api("PATCH", `/api/v1/partners/${ids["partners"]}`, { commission_pct: 3 });
    const reply = await send(EDIT, mine, { apply_from: "2026-01-01", apply: "yes" });
    expect([reply.status, textOf(reply.body).includes("Changed to “3”")]).toEqual([422, true]);
  });

  it("keeps the e-mails that another switched off", async () => {
    const path = "/dashboard/settings/mails";
    const owner = visitors.dashboard;
    const [mine, theirs] = [sentOf((await owner.get(path)).body), sentOf((await owner.get(path)).body)];
    const kinds = [...mine.keys()].filter((name) => mine.get(name)?.includes("on"));
    const [one = "", two = ""] = kinds;
    await owner.post(path, { ...Object.fromEntries<Fields[string]>(theirs), [one]: "" });
    await owner.post(path, { ...Object.fromEntries<Fields[string]>(mine), [two]: "" });
    const now = sentOf((await owner.get(path)).body);
    expect(kinds.filter((name) => !now.get(name)?.includes("on"))).toEqual([one, two]);
  });

  it("holds payouts for no other days than those that somebody else set", async () => {
    const send = (days: string, shown: number) =>
      visitors.dashboard.post("/dashboard/settings/payout-hold", {
        payout_change_hold_days: days,
        shown: JSON.stringify({ payout_change_hold_days: shown }),
      });
    const before = program.program.payout_change_hold_days;
    expect((await send("7", before)).status).toBe(303);
    const reply = await send("9", before);
    expect([reply.status, textOf(reply.body).includes("Changed to “7” by you in another window.")]).toEqual([
      422,
      true,
    ]);
    expect(textOf(reply.body)).toContain(
      "Changed by you in another window while you were editing. Your input below is not saved yet",
    );
    expect((await send("9", 7)).status).toBe(303);
  });

  it("says who changed the tax data, which the log does not hold", async () => {
    const path = "/dashboard/partners/:id/tax-data";
    const [mine, theirs] = [await opened(path), await opened("/portal/details/tax-data")];
    expect((await send("/portal/details/tax-data", theirs, { tax_id: "DE987654321" })).status).toBe(303);
    const reply = await send(path, mine, { vat_rate: "7" });
    // The kind, the tax id and the rate have a meaning only together.
    expect([reply.status, textOf(reply.body).includes("Changed to “DE987654321” by")]).toEqual([422, true]);
  });

  it("gives no role over another that was given meanwhile", async () => {
    const email = `${uniqueId("role-")}@example.com`;
    const { body } = await program.api<{ id: string }>("POST", "/api/v1/members", { email, role: "viewer" });
    const owner = visitors.dashboard;
    const at = `/dashboard/settings/team/${body.id}`;
    const shown = JSON.stringify({ role: "viewer" });
    await owner.get("/dashboard/settings/team");
    expect(owner.html).toContain(`name="shown" value="{&quot;role&quot;:&quot;viewer&quot;}"`);
    await program.api("PATCH", `/api/v1/members/${body.id}`, { role: "owner" });
    const reply = await owner.post(at, { role: "finance", shown });
    expect([
      reply.status,
      textOf(reply.body).includes("Changed to “Owner” by an API key. You chose “Finance”"),
    ]).toEqual([409, true]);
  });

  it.each(["", "{", "[]", "null", "7", '{"email":{"a":1}}', `{"email":${"[".repeat(20_000)}${"]".repeat(20_000)}}`])(
    "that says nothing that can be read is taken as it is: no error: %#",
    async (shown) => {
      const { status } = await send(EDIT, await opened(EDIT), { shown, first_name: "Ada" });
      expect([303, 422]).toContain(status);
    },
  );
});

describe("a change that is decided on a page", () => {
  it("is compared and written at once: one that comes in between is not overwritten (PAGE-30)", async () => {
    const { id } = await makePartner(program, { commission_pct: 10 });
    const ctx = await openProgram(actingAs(testContext(), actors.member("a@example.com")), program.id);
    let between = 0;
    const { binding } = watchDatabase(env.DB, {
      before: async (statements) => {
        if (between > 0 || !statements.some((sql) => sql.startsWith('update "partners"'))) return;
        between = 1;
        await updatePartner(ctx, id, { commission_pct: percent(30) });
      },
    });
    const slow = forProgram({ ...ctx, db: openDatabase(binding) }, ctx.program);
    const shown = { commission_pct: 10, first_name: null };
    const change = updatePartner(slow, id, { commission_pct: percent(20) }, shown);
    await expect(change).rejects.toThrow(StaleChange);
    const other = await updatePartner(slow, id, { first_name: "Ada", commission_pct: percent(10) }, shown);
    expect([between, other.first_name, other.commission_pct]).toEqual([1, "Ada", 30]);
  });
});

describe("the currency and the minimum payout, on two pages of the settings (PAGE-30)", () => {
  beforeEach(() => setUp(false));

  const currency = "/dashboard/settings";
  const minimum = "/dashboard/settings/payouts";

  it.each([
    [minimum, { min_payout_cents: "60" }, currency, { currency: "JPY" }],
    [currency, { currency: "JPY" }, minimum, { min_payout_cents: "60" }],
  ])("are one: what %s saves counts as changed on the other page", async (path, changed, other, others) => {
    const [sent, earlier] = [await opened(path), await opened(other)];
    expect((await send(other, earlier, others)).status).toBe(303);
    const refused = await send(path, sent, changed);
    expect([refused.status, textOf(refused.body)]).toEqual([422, expect.stringMatching(/Changed (?:by|to)/)]);
    const { min_payout_cents, currency: stored } = (
      await program.api<Record<string, unknown>>("GET", "/api/v1/programs/me")
    ).body;
    expect([stored, min_payout_cents]).toEqual(path === minimum ? ["JPY", 0] : ["USD", 6_000]);
    // Sent again with the present content, it saves.
    expect((await send(path, sentOf(refused.body), changed)).status).toBe(303);
  });
});
