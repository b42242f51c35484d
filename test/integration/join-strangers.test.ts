/**
 * Limits on strangers at the application page: they cannot take a reference that others carry (JOIN-6), or have unlimited
 * e-mail sent to mailboxes (JOIN-2).
 */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { proveAddress } from "../../src/core/applications/apply.ts";
import { HOUR, iso, MINUTE } from "../../src/lib/time.ts";
import { originOf, sendForm, stampOf } from "../support/applications.ts";
import { sendA } from "../support/ledger.ts";
import { openMailbox } from "../support/mailbox.ts";
import { makePartner, makeProgram, testContext, type TestProgram } from "../support/program.ts";
import { sessionCompleted } from "../support/provider-a.ts";
import { uniqueId } from "../support/vendor.ts";
import { playLimiter } from "../support/rate-limits.ts";
import { makeVisitor } from "../support/visitor.ts";
import { callWith } from "../support/watched-database.ts";

/** Applies under a name. Returns the slug of the new partner. */
async function joinAs(program: TestProgram, name: string): Promise<string> {
  const proof = await proveAddress(testContext(), (await sendForm(program, { name }))!);
  if (proof.outcome !== "proved") throw new Error(proof.outcome);
  return (await program.api<{ slug: string }>("GET", `/api/v1/partners/${proof.application.partner_id}`)).body.slug;
}

const makeJoinable = () => makeProgram({ applications: "auto" });

/** A slug with a random suffix. */
const apart = (stem: string): unknown => expect.stringMatching(new RegExp(`^${stem}-[\\w-]{8}$`));

describe("the slug of somebody who applied (JOIN-6)", () => {
  it.each([
    ["1042", "1042"],
    ["10 42", "10-42"],
    ["NULL", "null"],
    ["undefined", "undefined"],
    ["null null", "null-null"],
    ["[object Object]", "object-object"],
    ["None", "none"],
    ["NaN", "nan"],
    ["True", "true"],
  ])("is not what is written where there is no partner: %j", async (name, stem) => {
    expect(await joinAs(await makeJoinable(), name)).toEqual(apart(stem));
  });

  it.each(["True North", "Nan Goldin", "Agent 47", "Nullarbor"])("is made of the name %j", async (name) => {
    expect(await joinAs(await makeJoinable(), name)).toBe(name.toLowerCase().replace(" ", "-"));
  });

  it("is not a reference that a payment carried and that led to nobody, and earns on none", async () => {
    const program = await makeJoinable();
    const other = await makeJoinable();
    const pay = async (ref: string) => (await sendA(program, sessionCompleted({ ref }))).body.outcome;
    expect(await pay("ProductHunt")).toBe("unknown_ref");
    expect(await joinAs(program, "producthunt")).toEqual(apart("producthunt"));
    expect(await pay("ProductHunt")).toBe("unknown_ref");
    expect(await joinAs(other, "producthunt")).toBe("producthunt");
  });

  it("is not one that a payment carried beside another, nor with a number after it", async () => {
    const program = await makeJoinable();
    const event = sessionCompleted({ ref: "cart-77", metadata: { service_ref: "newsletter" } });
    expect((await sendA(program, event)).body.outcome).toBe("unknown_ref");
    expect(await joinAs(program, "Newsletter")).toEqual(apart("newsletter"));
    await makePartner(program, { slug: "jane-roe" });
    await sendA(program, sessionCompleted({ ref: "jane-roe-2" }));
    expect(await joinAs(program, "Jane Roe")).toBe("jane-roe-3");
  });
});

const refused = { code: "rate_limited", retryAfter: 900 };

describe("the e-mail that a form has sent (JOIN-2)", () => {
  it.each([
    ["a tag", (i: number) => `victim+${i}@mail.example`],
    ["dots that the service ignores", (i: number) => `${"victim".slice(0, i + 1)}.${"victim".slice(i + 1)}@gmail.com`],
  ])("is counted by mailbox, whatever is written of it: %s", async (_, spelling) => {
    const programs = [await makeJoinable(), await makeJoinable()];
    for (let i = 0; i < 5; i++) await sendForm(programs[i % 2]!, { email: spelling(i) });
    for (const program of programs)
      await expect(sendForm(program, { email: spelling(5) })).rejects.toMatchObject(refused);
    await sendForm(programs[0]!, { email: `w${spelling(5)}` });
    const later = Date.now() + 15 * MINUTE + 1_000;
    expect(await sendForm(programs[0]!, { email: spelling(5) }, later)).not.toBeNull();
  });

  describe("of one program", () => {
    /** Stores forms that were sent at a time and not verified. */
    async function fill(program: TestProgram, count: number, at: number): Promise<void> {
      await env.DB.prepare(
        `with recursive n(i) as (select 1 union all select i + 1 from n where i < ?1)
        insert into application_drafts (token_hash, program_id, email, name, answers, mailbox, created_at, expires_at, network, site)
          select ?2 || ?3 || i, ?2, 'ann' || i || '@applicants.example', 'Ann', '[]', '', ?3, ?4, 'n' || i, 'n' || i from n`,
      )
        .bind(count, program.id, iso(at), iso(at + 24 * HOUR))
        .run();
    }

    /** Sends a form from a network. Returns whether it was stored. */
    async function sendFrom(program: TestProgram, network: string, site = network, now = Date.now()): Promise<boolean> {
      const sent = sendForm(program, {}, now, originOf(now, { network, site }));
      return sent.then(
        () => true,
        (error: unknown) => {
          expect(error).toMatchObject(refused);
          return false;
        },
      );
    }

    const isTrue = (one: boolean) => one;

    it("is sent for 20 forms of a network within an hour, also where they come at once", async () => {
      const program = await makeJoinable();
      const now = Date.now();
      const sent = await Promise.all(Array.from({ length: 30 }, () => sendFrom(program, "one", "one", now)));
      expect(sent.filter(isTrue)).toHaveLength(20);
      expect(await sendFrom(program, "other")).toBe(true);
      expect(await sendFrom(await makeJoinable(), "one")).toBe(true);
      expect(await sendFrom(program, "one", "one", now + HOUR)).toBe(true);
    });

    it("is sent for 160 forms of a site, however many networks it has (HTTP-37)", async () => {
      const program = await makeJoinable();
      let stored = 0;
      for (let n = 0; n < 165; n++) if (await sendFrom(program, `network ${n}`, "site")) stored++;
      expect(stored).toBe(160);
      expect(await sendFrom(program, "other")).toBe(true);
    });

    it("is sent for a network that has sent none when others have used up half of the 500 (HTTP-37)", async () => {
      const program = await makeJoinable();
      await sendFrom(program, "one");
      await fill(program, 249, Date.now() - MINUTE);
      expect(await sendFrom(program, "one")).toBe(false);
      expect([await sendFrom(program, "two"), await sendFrom(program, "two")]).toEqual([true, false]);
      await fill(program, 249, Date.now() - 2 * MINUTE);
      expect(await sendFrom(program, "three")).toBe(false);
    });

    it("is sent to an honest visitor when 10 networks have sent 500 forms, and no address of a visitor is stored (HTTP-37)", async () => {
      const program = await makeJoinable();
      const { bindings } = openMailbox();
      const limiter = playLimiter(Infinity);
      const more = { ...bindings, RATE_LIMIT_SIGN_IN: limiter, RATE_LIMIT_SIGN_IN_SITE: limiter };
      const visitorFrom = (address: string) =>
        makeVisitor((path, init) => {
          const headers = new Headers(init.headers);
          headers.set("cf-connecting-ip", address);
          return callWith<string>(more, path, { ...init, headers });
        });
      const apply = async (address: string, count: number) => {
        const visitor = visitorFrom(address);
        const { body: opened } = await visitor.get(`/join/${program.id}`);
        const statuses: number[] = [];
        for (let n = 0; n < count; n++) {
          visitor.html = opened;
          const email = `${uniqueId("flood-")}@flood.example`;
          const typed = { opened: await stampOf(program, visitor), name: "Jane Roe", email, website: "" };
          statuses.push((await visitor.post(`/join/${program.id}`, typed)).status);
        }
        return statuses;
      };
      const hostile = ["198.51.100.7", "2001:db8:77:1::7", ...Array.from({ length: 8 }, (_, n) => `192.0.2.${n}`)];
      const flood = (await Promise.all(hostile.map((address) => apply(address, 50)))).flat();
      expect(flood.filter((status) => status === 200)).toHaveLength(200);
      expect(await apply("203.0.113.11", 1)).toEqual([200]);
      const drafts = await env.DB.prepare("select * from application_drafts where program_id = ?")
        .bind(program.id)
        .all();
      expect(new Set(drafts.results.map(({ network }) => network)).size).toBe(11);
      for (const part of ["198.51", "192.0.2", "203.0.113", "2001:db8"])
        expect(JSON.stringify(drafts.results)).not.toContain(part);
    });

    it("is refused where 500 of the last hour are not proved, of that program alone", async () => {
      const program = await makeJoinable();
      const now = Date.now();
      await fill(program, 500, now - HOUR + MINUTE);
      await expect(sendForm(program, {}, now)).rejects.toMatchObject(refused);
      expect(await sendForm(await makeJoinable(), {}, now)).not.toBeNull();
      expect(await sendForm(program, {}, now + 2 * MINUTE)).not.toBeNull();
    });

    it("is not refused for those that are proved, nor for older ones", async () => {
      const program = await makeJoinable();
      const now = Date.now();
      await fill(program, 500, now - HOUR);
      await fill(program, 499, now - MINUTE);
      const token = (await sendForm(program, {}, now))!;
      await expect(sendForm(program, {}, now)).rejects.toMatchObject(refused);
      expect((await proveAddress(testContext(now), token)).outcome).toBe("proved");
      expect(await sendForm(program, {}, now)).not.toBeNull();
    });

    it("is sent for one of several forms at once where one is left", async () => {
      const program = await makeJoinable();
      const now = Date.now();
      await fill(program, 499, now - MINUTE);
      const sent = await Promise.allSettled([1, 2, 3].map(async () => sendForm(program, {}, now)));
      expect(sent.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected", "rejected"]);
    });

    it("is refused on the page, with all that was typed, and when to come back", async () => {
      const program = await makeJoinable();
      await fill(program, 500, Date.now() - MINUTE);
      const { bindings } = openMailbox();
      const visitor = makeVisitor((path, init) => callWith<string>(bindings, path, init));
      await visitor.get(`/join/${program.id}`);
      const email = `${uniqueId("late-")}@applicants.example`;
      const typed = {
        opened: await stampOf(program, visitor),
        name: "Jane Roe",
        email,
        website: "",
        contact_hours: "",
      };
      const reply = await visitor.post(`/join/${program.id}`, typed);
      expect([reply.status, reply.headers.get("retry-after")]).toEqual([429, "900"]);
      expect(reply.body).toContain(email);
      const mails = env.DB.prepare("select count(*) from mails where program_id = ?").bind(program.id);
      expect(await mails.first("count(*)")).toBe(0);
    });
  });
});
