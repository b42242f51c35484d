/** "Missing sale?": claims of partners, their answers and limits, and an erasure (CLAIM-1 to CLAIM-4, CLAIM-7). */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { forProgram } from "../../src/core/kernel/context.ts";
import { openDatabase } from "../../src/db/client.ts";
import { createClaim } from "../../src/core/claims/claims.ts";
import { claimAnswer, MAX_CLAIMS_A_DAY, MAX_OPEN_CLAIMS, type ClaimAnswer } from "../../src/domain/claim.ts";
import { COUNTED_ELSEWHERE, OUTCOMES, type Outcome } from "../../src/domain/payment.ts";
import { ANSWER_TEXTS } from "../../src/http/pages/parts/claim-words.tsx";
import { OUTCOME_TEXTS } from "../../src/http/pages/parts/words.ts";
import { DAY } from "../../src/lib/time.ts";
import { decline, getClaim, makeClaim, makeScene, soldByNobody, type ClaimBody } from "../support/claims.ts";
import { sendA } from "../support/ledger.ts";
import { makePartner, programContext, testContext } from "../support/program.ts";
import { sessionCompleted } from "../support/provider-a.ts";
import { signInPartner, textOf, type Visitor } from "../support/visitor.ts";
import { watchDatabase } from "../support/watched-database.ts";

describe("the answer to a claim (CLAIM-3)", () => {
  const answers = Object.keys(ANSWER_TEXTS) as ClaimAnswer[];

  it("has a sentence for every outcome of a payment, for the owner and for the partner", () => {
    expect(answers).toEqual(expect.arrayContaining([...OUTCOMES]));
    for (const outcome of OUTCOMES) {
      expect([outcome, OUTCOME_TEXTS[outcome].why]).toEqual([outcome, expect.stringMatching(/^[A-Z].*\.$/)]);
      expect([outcome, ANSWER_TEXTS[outcome]]).toEqual([outcome, expect.stringMatching(/^[A-Z].*\.$/)]);
    }
    // Each answer has its own text, so that the partner learns the reason.
    expect(new Set(answers.map((answer) => ANSWER_TEXTS[answer])).size).toBe(answers.length);
  });

  it("is the same before a decision, whatever there is, and says nothing of a declined claim by day", () => {
    const payments = [
      null,
      ...["jane", "john", null].flatMap((partner_id) =>
        [null, ...OUTCOMES].map((outcome) => ({ partner_id, outcome })),
      ),
    ];
    for (const payment of payments) {
      const claim = { partner_id: "jane", order_id: "1" };
      expect(claimAnswer({ ...claim, status: "open" }, payment)).toBe("waiting");
      if (payment?.partner_id === "jane") continue;
      expect(claimAnswer({ ...claim, order_id: null, status: "declined" }, payment)).toBe("declined");
      const outcome = payment?.outcome ?? "declined";
      const expected = payment === null ? "not_found" : payment.partner_id ? "of_another" : outcome;
      expect(claimAnswer({ ...claim, status: "declined" }, payment)).toBe(expected);
      // A granted claim stays the partner's before it is settled, unless the payment turns out to be another partner's.
      const isLost = expected === "of_another" || COUNTED_ELSEWHERE.includes(outcome as Outcome);
      for (const order_id of ["1", null])
        expect(claimAnswer({ ...claim, order_id, status: "granted" }, payment)).toBe(isLost ? expected : "granted");
    }
  });
});

describe("a partner's claim", () => {
  const own = async (visitor: Visitor) => textOf((await visitor.get("/portal/claims")).body);

  it("is one, however often it is entered, and the reply is the same whether or not there is such a sale (CLAIM-2, CLAIM-3)", async () => {
    const { program, jane } = await makeScene();
    const order = await soldByNobody(program);
    const portal = await signInPartner(jane.email);
    const enter = async (fields: Record<string, string>) => {
      await portal.get("/portal/claims");
      const { status, headers } = await portal.post("/portal/claims", fields);
      return [status, headers.get("location")];
    };
    expect(await enter({ order_id: order })).toEqual([303, "/portal/claims?done=made"]);
    expect(await enter({ order_id: "guessed" })).toEqual([303, "/portal/claims?done=made"]);
    expect(await enter({ order_id: ` ${order} ` })).toEqual([303, "/portal/claims?done=known"]);
    expect(await enter({ day: "2026-11-02", email_domain: "Buyer@ACME.example" })).toEqual([
      303,
      "/portal/claims?done=made",
    ]);
    expect(await enter({ day: "2026-11-02", email_domain: "acme.example" })).toEqual([
      303,
      "/portal/claims?done=known",
    ]);
    const listed = await program.api<{ data: ClaimBody[]; total: number }>("GET", "/api/v1/claims?status=open");
    expect(listed.body.total).toBe(3);
    expect((await own(portal)).match(/The program is reviewing it/g)).toHaveLength(3);
  });

  it("is one, entered twice at the same moment (CLAIM-2)", async () => {
    const { program, jane } = await makeScene();
    const made = await Promise.all(
      [1, 2, 3].map(() => createClaim(programContext(program), jane.id, { order_id: "same" })),
    );
    expect(made.filter((one) => "isNew" in one && one.isNew)).toHaveLength(1);
    expect(new Set(made.map((one) => ("claim" in one ? one.claim.id : ""))).size).toBe(1);
  });

  it("is not needed for a sale that is the partner's own by its order id (CLAIM-2)", async () => {
    const { program, jane } = await makeScene();
    const session = sessionCompleted({ ref: "jane", payment_status: "unpaid" });
    await sendA(program, session);
    const portal = await signInPartner(jane.email);
    await portal.get("/portal/claims");
    const reply = await portal.post("/portal/claims", { order_id: session.data.object.id });
    expect(reply.status).toBe(200);
    expect(textOf(reply.body)).toContain(ANSWER_TEXTS.unpaid);
    expect((await program.api<{ total: number }>("GET", "/api/v1/claims")).body.total).toBe(0);
    // Another partner does not see the claim.
    const john = await makePartner(program);
    expect(await createClaim(programContext(program), john.id, { order_id: session.data.object.id })).toMatchObject({
      isNew: true,
    });
  });

  it("is refused beside its field where nothing can be read from it, and what was typed stays (CLAIM-2)", async () => {
    const { jane } = await makeScene();
    const portal = await signInPartner(jane.email);
    for (const [fields, words] of [
      [{}, "Fill this in, or the two fields below"],
      [{ order_id: "buyer@acme.example" }, "This is an e-mail address"],
      [{ day: "2026-02-30", email_domain: "acme.example" }, "This must be a date"],
      [{ day: "2026-11-02", email_domain: "not a domain" }, "This must be a domain"],
      [{ order_id: "x".repeat(256) }, "at most 255 characters"],
    ] as const) {
      await portal.get("/portal/claims");
      const { status, body } = await portal.post("/portal/claims", fields);
      expect([fields, status, textOf(body).includes(words)]).toEqual([fields, 422, true]);
      for (const value of Object.values(fields)) expect(body).toContain(`value="${value}"`);
    }
  });

  it("is refused in words beyond the limits of a partner, who are bounded also at the same moment (CLAIM-4)", async () => {
    const { program, jane } = await makeScene();
    const at = (days: number) => programContext(program, Date.now() + days * DAY);
    const enter = (days: number, order_id: string) => createClaim(at(days), jane.id, { order_id });
    const flood = await Promise.allSettled(
      Array.from({ length: MAX_CLAIMS_A_DAY + 6 }, (_, i) => enter(0, `flood-${i}`)),
    );
    expect(flood.filter(({ status }) => status === "fulfilled")).toHaveLength(MAX_CLAIMS_A_DAY);
    const portal = await signInPartner(jane.email);
    await portal.get("/portal/claims");
    const refused = await portal.post("/portal/claims", { order_id: "one-more" });
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, String(DAY / 1000)]);
    expect(refused.body).toContain('value="one-more"');
    for (let i = MAX_CLAIMS_A_DAY; i < MAX_OPEN_CLAIMS; i++) await enter(2 + i, `later-${i}`);
    await expect(enter(99, "too many")).rejects.toMatchObject({ code: "invalid_transition" });
    // A repeated claim does not use up the limit.
    expect(await enter(99, "later-10")).toMatchObject({ isNew: false });
  });
});

describe("what a claim reads", () => {
  it("is one round trip by keys, and another to keep it (CLAIM-2)", async () => {
    const { program, jane } = await makeScene();
    for (const input of [{ order_id: await soldByNobody(program) }, { day: "2026-11-02", email_domain: "a.example" }]) {
      const { binding, roundTrips } = watchDatabase(env.DB);
      const ctx = forProgram({ ...testContext(), db: openDatabase(binding) }, program.program);
      await createClaim(ctx, jane.id, input);
      expect(roundTrips).toHaveLength(2);
      for (const { sql, values } of roundTrips[0]!) {
        const plan = await env.DB.prepare(`explain query plan ${sql}`)
          .bind(...values)
          .all<{ detail: string }>();
        const details = plan.results.map(({ detail }) => detail);
        expect(details.filter((line) => /^SCAN (?!CONSTANT|reach\b|named\b|\(subquery|b\b)/.test(line))).toEqual([]);
      }
    }
  });
});

describe("an erasure (CLAIM-7, JOB-1)", () => {
  it("forgets which sale claims were about where it was the customer's, and no other", async () => {
    const { program, jane } = await makeScene();
    const created = Date.parse("2026-03-02T12:00:00Z") / 1000;
    const mine = await soldByNobody(program, { email: "gone@private.example", created });
    const shared = await soldByNobody(program, { email: "gone@mail.example", created });
    await soldByNobody(program, { email: "stays@mail.example", created });
    const day = "2026-03-02";
    const byOrder = await makeClaim(program, jane.id, { order_id: mine });
    await decline(program, byOrder, { note: "no" });
    const byDay = await makeClaim(program, jane.id, { day, email_domain: "private.example" });
    const ofMany = await makeClaim(program, jane.id, { day, email_domain: "mail.example" });
    const other = await makeClaim(program, jane.id, { order_id: shared });
    for (const email of ["gone@private.example", "gone@mail.example"]) {
      await program.api("POST", "/api/v1/customers/erase", { email });
    }
    const nothing = { order_id: null, day: null, email_domain: null };
    expect(await getClaim(program, byOrder)).toMatchObject({ ...nothing, status: "declined", note: "no" });
    expect(await getClaim(program, byDay)).toMatchObject({ ...nothing, status: "open" });
    expect(await getClaim(program, other)).toMatchObject(nothing);
    expect(await getClaim(program, ofMany)).toMatchObject({ day, email_domain: "mail.example" });
    const portal = await signInPartner(jane.email);
    const text = textOf((await portal.get("/portal/claims")).body);
    expect(text).not.toContain("private.example");
    expect(text).toContain("Erased with its customer");
  });
});
