/** The search field of every dashboard page: its results, and the target of an id (PAGE-25). */
import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import { ID_PREFIXES } from "../../src/lib/id.ts";
import { sendA } from "../support/ledger.ts";
import { makePartner, makeProgram, programOfPartner } from "../support/program.ts";
import { sessionCompleted } from "../support/provider-a.ts";
import { makeStocked, type Stocked } from "../support/stocked.ts";
import { makeVisitor, signInMember, signInOwner, textOf, type Visitor } from "../support/visitor.ts";
import { callWith, watchDatabase } from "../support/watched-database.ts";

const AT = "/dashboard/search";

let stocked: Stocked;
let owner: Visitor;
let trips: unknown[];
let payment: string;

/** The results by section: the first link of each row. */
async function found(search: string, visitor = owner) {
  const { status, body, headers } = await visitor.get(`${AT}?${new URLSearchParams({ search }).toString()}`);
  const tables = [...body.matchAll(/<table[^>]*aria-label="(\w+)"[^>]*>([\s\S]*?)<\/table>/g)];
  const sections = tables.map(([, label = "", table = ""]) => {
    const rows = table.split('<tr role="row">').slice(2);
    return [label, rows.map((row) => /href="([^"]+)"/.exec(row)?.[1])] as const;
  });
  return { status, body, location: headers.get("location"), sections: Object.fromEntries(sections) };
}

beforeAll(async () => {
  stocked = await makeStocked();
  const { program } = stocked;
  const { binding, roundTrips } = watchDatabase(env.DB);
  trips = roundTrips;
  owner = await signInOwner(
    program,
    makeVisitor((path, init) => callWith<string>({ DB: binding }, path, init)),
  );
  const zoe = { slug: "zoe", first_name: "Zoë", last_name: "Kühn", email: "zoe@partners.example" };
  await makePartner(program, zoe);
  await sendA(program, sessionCompleted({ id: "cs_9", ref: "zoe", customer: "cus_9", email: "Buyer@shop.example" }));
  const neighbor = await makeProgram();
  await makePartner(neighbor, { ...zoe, email: "zoe@others.example" });
  await sendA(neighbor, sessionCompleted({ id: "cs_9", ref: "zoe", customer: "cus_9", email: "buyer@shop.example" }));
  const { body } = await program.api<{ data: { id: string }[] }>("GET", "/api/v1/payments?search=cs_9");
  payment = body.data[0]!.id;
});

describe("the search of the dashboard (PAGE-25)", () => {
  it("is a field of every page", async () => {
    expect((await owner.get("/dashboard/flows")).body).toContain(`action="${AT}" role="search"`);
    const { body } = await owner.get(AT);
    expect(textOf(body)).toContain("Partner, customer, order or id");
    expect(body).not.toContain("<table");
  });

  it("finds partners, customers and payments of this program, each a link to its page, in three round trips", async () => {
    const { body } = await stocked.program.api<{ data: { id: string }[] }>("GET", "/api/v1/partners?search=zoe");
    const [partner, customer, sale] = [`partners/${body.data[0]!.id}`, `customers/${payment}`, `payments/${payment}`];
    const at = (...places: string[]) => places.map((place) => `/dashboard/${place}`);
    const ofPartner = { Partners: at(partner), Payments: at(sale) };
    const ofCustomer = { Customers: at(customer), Payments: at(sale) };
    for (const [search, wanted] of [
      ...["zoe", "ZOË", "kuhn", "zoe kühn", "Zoe@Partners", " zoe@partners.example "].map((text) => [text, ofPartner]),
      ...["cus_9", "buyer@SHOP.example"].map((text) => [text, ofCustomer]),
      ["cs_9", { Payments: at(sale) }],
    ] as [string, object][]) {
      trips.length = 0;
      const { status, sections } = await found(search);
      expect([search, status, sections]).toEqual([search, 200, wanted]);
      expect(trips.length).toBeLessThanOrEqual(3);
    }
  });

  it.each(["nobody@shop.example", "cus_", "%", "' or 1=1 --", '"><script>', "\u0000", "😀", "e\u0301".repeat(60)])(
    "finds nothing of %j, says what is found, and keeps what was typed as text",
    async (search) => {
      const { status, sections, body } = await found(search);
      expect([status, sections]).toEqual([200, {}]);
      expect(textOf(body)).toContain("Nothing matches");
      expect(body).not.toContain("<script>");
    },
  );

  it("shows ten of each, whoever is called so first, and leads to all of them", async () => {
    const [program, named] = await programOfPartner({}, { slug: "ann", email: "first@partners.example" });
    for (let i = 0; i < 11; i++) {
      await makePartner(program, { slug: `ann-${i}`, email: `ann-${i}@partners.example` });
      await sendA(program, sessionCompleted({ ref: "ann", customer: `cus_${i}`, email: "one@shop.example" }));
    }
    const visitor = await signInOwner(program);
    const ofName = await found("ann", visitor);
    expect(ofName.sections["Partners"]).toHaveLength(10);
    expect(ofName.sections["Partners"]?.[0]).toBe(`/dashboard/partners/${named.id}`);
    expect(ofName.sections["Payments"]).toHaveLength(10);
    const ofAddress = await found("one@shop.example", visitor);
    expect(ofAddress.sections["Customers"]).toHaveLength(10);
    for (const [{ body }, place, rows] of [
      [ofName, "partners?search=ann", 12],
      [ofName, "payments?search=ann", 11],
      [ofAddress, "customers?search=one%40shop.example", 11],
    ] as const) {
      expect(body).toContain(`href="/dashboard/${place}"`);
      const list = await visitor.get(`/dashboard/${place}`);
      expect([place, list.body.split('<tr role="row">').length - 2]).toEqual([place, rows]);
    }
  });
});

describe("an id in the search of the dashboard (PAGE-25)", () => {
  /** The pages that show the ids of `makeStocked`, by the part of the address that names the kind. */
  const places = (): Record<string, string> => {
    const { ids } = stocked;
    const own = (...kinds: string[]) => kinds.map((kind) => [ids[kind], `/dashboard/${kind}/${ids[kind]}`]);
    return Object.fromEntries([
      ...own("partners", "flows", "webhooks", "commissions", "payments", "payouts", "claims"),
      [ids["applications"], `/dashboard/partners/applications/${ids["applications"]}`],
      [ids["codes"], `/dashboard/partners/${ids["partners"]}/codes`],
      [ids["deliveries"], `/dashboard/webhooks/${ids["webhooks"]}`],
      [ids["members"], "/dashboard/settings/team"],
      [ids["keys"], "/dashboard/settings/keys"],
      [stocked.program.id, "/dashboard/settings"],
    ]) as Record<string, string>;
  };

  it("leads straight to its page, in any case of letters, whatever the role", async () => {
    const email = "viewer-search@shop.example";
    await stocked.program.api("POST", "/api/v1/members", { email, role: "viewer" });
    const viewer = await signInMember(stocked.program, email);
    expect(Object.keys(places()).length).toBe(13);
    for (const [id, place] of Object.entries(places())) {
      for (const typed of [id, ` ${id} `, id.toUpperCase()]) {
        const { status, location } = await found(typed);
        expect([typed, status, location]).toEqual([typed, 303, place]);
      }
      expect((await owner.get(place)).status).toBe(200);
      expect([place, (await viewer.get(place)).status]).toEqual([place, 200]);
    }
  });

  it("of an event leads to the log of its moment", async () => {
    const event = stocked.ids["events"]!;
    const { status, location } = await found(event);
    expect(status).toBe(303);
    expect((await owner.get(location!)).body).toContain(event);
  });

  it("is found by nobody else, and one of nothing is a text that nothing has", async () => {
    const stranger = await signInOwner(await makeProgram());
    const none = Object.values(ID_PREFIXES).map((prefix) => `${prefix}_${"0".repeat(26)}`);
    for (const id of [...Object.keys(places()), stocked.ids["events"]!, ...none]) {
      const { status, body } = await found(id, stranger);
      expect([id, status, textOf(body).includes("Nothing matches")]).toEqual([id, 200, true]);
    }
  });
});
