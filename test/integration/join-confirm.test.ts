/** The verification of an applicant's address, and its page (JOIN-5). */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { proveAddress } from "../../src/core/applications/apply.ts";
import { address, fill, linkIn, makeJoinable, playApplicants, rowsOf } from "../support/join.ts";
import { makePartner, testContext, type TestProgram } from "../support/program.ts";
import { sendForm } from "../support/applications.ts";
import { uniqueId } from "../support/vendor.ts";
import { textOf } from "../support/visitor.ts";

const { visit, send, mailTo, follow } = playApplicants();

async function eventsOf(program: TestProgram): Promise<string[]> {
  const { results } = await env.DB.prepare("select type from events where program_id = ? order by id")
    .bind(program.id)
    .all<{ type: string }>();
  return results.map(({ type }) => type).toSorted();
}

describe("the steps to the first payout (JOIN-11)", () => {
  it.each([
    [
      "review",
      "1 Confirm",
      "✓ Done: Address confirmed",
      "2 Acme & Sons reviews your application and e-mails you the decision.",
    ],
    ["auto", "1 Confirm", "✓ Done: Address confirmed", "2 Our e-mail has your link and a button that signs you in."],
  ] as const)(
    "are on every page, with those that are done, if applications are on %s",
    async (applications, first, done, second) => {
      const program = await makeJoinable({ applications });
      const fields = fill();
      const sent = textOf((await send(program, fields)).body);
      expect([sent.includes(first), sent.includes(done)]).toEqual([true, false]);
      const [mail] = await mailTo(program, fields["email"]!);
      expect(mail?.text).toContain(applications === "auto" ? "a partner at once" : "Acme & Sons reviews it");
      const reached = textOf((await follow(linkIn(mail!.text))).body);
      expect([reached.includes(done), reached.includes(second)]).toEqual([true, true]);
    },
  );
});

describe("the proof of the address (JOIN-5)", () => {
  it("stores the application once, with the terms that were agreed to and when", async () => {
    const program = await makeJoinable();
    const fields = fill();
    await send(program, fields);
    const [mail] = await mailTo(program, fields["email"]!);
    const [draft] = await rowsOf(program, "application_drafts");
    const reply = await follow(linkIn(mail!.text));
    expect([reply.status, textOf(reply.body)]).toEqual([
      200,
      expect.stringContaining("We have received your application"),
    ]);
    const again = await follow(linkIn(mail!.text));
    expect([again.status, textOf(again.body)]).toEqual([200, textOf(reply.body)]);
    const [row, ...others] = await rowsOf(program);
    expect(others).toEqual([]);
    expect(row).toMatchObject({
      ...{ status: "pending", name: "Jane Roe", email: fields["email"], website: "https://jane.example.com/" },
      ...{ terms_version: 3, consented_at: draft!["created_at"], partner_id: null },
    });
    expect(JSON.parse(String(row!["answers"]))).toEqual([
      { question: "Who reads you?", answer: "People who bake." },
      { question: "Anything else?", answer: "" },
    ]);
    expect(await eventsOf(program)).toEqual(["applications.received"]);
    expect(await rowsOf(program, "application_drafts")).toEqual([]);
    const mails = await mailTo(program, fields["email"]!);
    expect(mails.map(({ subject }) => subject)).toEqual([
      "Confirm your application to Acme & Sons",
      "Your application to Acme & Sons has arrived",
    ]);
  });

  it("is one however many prove it at once, by one link and by several", async () => {
    const program = await makeJoinable();
    const email = address();
    const tokens = await Promise.all([sendForm(program, { email }), sendForm(program, { email })]);
    const proofs = await Promise.all(
      [...tokens, ...tokens, ...tokens].map((token) => proveAddress(testContext(), token!)),
    );
    expect(await rowsOf(program)).toHaveLength(1);
    expect(await eventsOf(program)).toEqual(["applications.received"]);
    expect(new Set(proofs.map(({ outcome }) => outcome))).toEqual(
      new Set(
        ["proved", "waiting", "link_refused"].filter((outcome) => proofs.some((proof) => proof.outcome === outcome)),
      ),
    );
    expect(proofs.some(({ outcome }) => outcome === "proved")).toBe(true);
  });

  it("makes a partner at once where the program says so, once, active, with the mail that signs in", async () => {
    const program = await makeJoinable({ applications: "auto" });
    await makePartner(program, { slug: "Jane-Roe" });
    const email = address();
    const tokens = await Promise.all([sendForm(program, { email, name: "Jane Roe" }), sendForm(program, { email })]);
    await Promise.all([...tokens, ...tokens].map((token) => proveAddress(testContext(), token!)));
    const { body } = await program.api<{ data: Record<string, unknown>[] }>("GET", `/api/v1/partners?search=${email}`);
    expect(body.data).toHaveLength(1);
    expect(body.data[0]).toMatchObject({ status: "active", email });
    const [row] = await rowsOf(program);
    expect(row).toMatchObject({ status: "approved", partner_id: body.data[0]!["id"] });
    expect((await eventsOf(program)).filter((type) => type.startsWith("applications."))).toEqual([
      "applications.approved",
      "applications.received",
    ]);
  });

  it("gives a free slug made of the name", async () => {
    const program = await makeJoinable({ applications: "auto" });
    const slugs = [];
    for (const name of ["Élise Müller", "elise muller", "李小龙"]) {
      const token = await sendForm(program, { name, email: `li.${uniqueId("x")}@applicants.example` });
      const proof = await proveAddress(testContext(), token!);
      if (proof.outcome !== "proved") throw new Error(proof.outcome);
      const path = `/api/v1/partners/${proof.application.partner_id}`;
      slugs.push((await program.api<{ slug: string }>("GET", path)).body.slug);
    }
    expect(slugs).toEqual(["elise-muller", "elise-muller-2", expect.stringMatching(/^li-x/)]);
  });

  it("is refused without a word of whose it was where the link is unknown, and where the program takes none", async () => {
    const program = await makeJoinable();
    const visitor = visit();
    for (const token of ["", "x", "A".repeat(43), `1_${"A".repeat(43)}`, "' or 1=1"]) {
      await visitor.get(`/join/${program.id}/confirm?token=${encodeURIComponent(token)}`);
      const reply = await visitor.post(`/join/${program.id}/confirm`, { token });
      expect([token, reply.status]).toEqual([token, 410]);
    }
    const token = (await sendForm(program))!;
    await visitor.get(`/join/${program.id}/confirm?token=${token}`);
    await program.api("PATCH", "/api/v1/programs/me", { applications: "off" });
    const reply = await visitor.post(`/join/${program.id}/confirm`, { token });
    expect([reply.status, textOf(reply.body)]).toEqual([200, expect.stringContaining("does not accept applications")]);
    expect(await rowsOf(program)).toEqual([]);
  });
});

describe("what the page says of a proof is true (JOIN-5)", () => {
  async function linkOf(program: TestProgram, email = address()): Promise<string> {
    await send(program, fill({ email }));
    return linkIn((await mailTo(program, email)).at(-1)!.text);
  }
  const said = async (link: string) => textOf((await follow(link)).body);

  it("of an application that was decided since: the decision, and that its e-mail was sent", async () => {
    const program = await makeJoinable();
    const [declined, approved] = [await linkOf(program), await linkOf(program)];
    for (const link of [declined, approved]) expect(await said(link)).toContain("We have received your application");
    const [first, second] = await rowsOf(program);
    await program.api("POST", `/api/v1/applications/${first!.id}/decline`, {});
    await program.api("POST", `/api/v1/applications/${second!.id}/approve`);
    const texts = [await said(declined), await said(approved)];
    expect(texts.filter((text) => /was declined/.test(text) && !/has arrived|received|review/.test(text))).toHaveLength(
      1,
    );
    expect(texts.filter((text) => /You are a partner/.test(text))).toHaveLength(1);
  });

  it("of a partner who is deactivated: who can help, and no way to sign in, which they cannot", async () => {
    const program = await makeJoinable();
    const email = address();
    const link = await linkOf(program, email);
    const partner = await makePartner(program, { email });
    await program.api("DELETE", `/api/v1/partners/${partner.id}`);
    const { body } = await follow(link);
    expect(textOf(body)).toContain("Ask Acme & Sons to reactivate it");
    expect(body).not.toContain('href="/sign-in"');
    const approved = await linkOf(program);
    await follow(approved);
    const row = (await rowsOf(program)).find(({ status }) => status === "pending")!;
    await program.api("POST", `/api/v1/applications/${row.id}/approve`);
    const [made] = await rowsOf(program);
    await program.api("DELETE", `/api/v1/partners/${made!.partner_id}`);
    expect(await said(approved)).not.toContain("Welcome");
  });

  it("of a program that takes none now: that what was sent is still there until its day is over", async () => {
    const program = await makeJoinable();
    const link = await linkOf(program);
    await program.api("PATCH", "/api/v1/programs/me", { applications: "off" });
    const [path = "", query = ""] = link.split("?");
    const visitor = visit();
    await visitor.get("/sign-in");
    const { body } = await visitor.post(path, { token: new URLSearchParams(query).get("token") ?? "" });
    expect(textOf(body)).toContain("Your application is deleted after 24 hours");
    expect(await rowsOf(program, "application_drafts")).toHaveLength(1);
    await program.api("PATCH", "/api/v1/programs/me", { applications: "review" });
    expect(await said(link)).toContain("We have received your application");
  });
});
