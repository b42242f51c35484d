import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { identityKey } from "../../src/core/sessions/identities.ts";
import { createLinkByHand } from "../../src/core/sessions/sign-in.ts";
import { AppError } from "../../src/lib/errors.ts";
import { MINUTE } from "../../src/lib/time.ts";
import { makePartner, makeProgram, testContext, type Reply } from "../support/program.ts";
import { limitOf, playLimiter } from "../support/rate-limits.ts";
import { followLink, makeVisitor, requestLink, signInOwner, signInPartner, textOf } from "../support/visitor.ts";
import { sendA } from "../support/ledger.ts";
import { sessionCompleted } from "../support/provider-a.ts";
import { callWith, watchDatabase } from "../support/watched-database.ts";

const SESSION = "__Host-session";

async function linksOf(email: string): Promise<{ token_hash: string; used_at: string | null }[]> {
  const { results } = await env.DB.prepare("select * from sign_in_links where email = ?").bind(email).all();
  return results as { token_hash: string; used_at: string | null }[];
}

async function eventsOf(program_id: string): Promise<string[]> {
  const { results } = await env.DB.prepare("select type from events where program_id = ? order by id")
    .bind(program_id)
    .all<{ type: string }>();
  return results.map(({ type }) => type).toSorted();
}

async function ownerLink(email: string, now = Date.now()): Promise<string> {
  return (await createLinkByHand(testContext(now), email)).token;
}

describe("asking for a link", () => {
  it("gives the same answer whether or not the address is known (PAGE-2)", async () => {
    const program = await makeProgram();
    const known = makeVisitor();
    await known.get("/sign-in");
    const stranger = makeVisitor();
    await stranger.get("/sign-in");
    const a = await known.post("/sign-in", { email: program.program.owner_email });
    const b = await stranger.post("/sign-in", { email: "nobody-here@example.com" });
    expect(a.status).toBe(200);
    expect(b.status).toBe(200);
    const shown = (body: string, address: string) => body.replaceAll(address, "ADDRESS");
    expect(shown(b.body, "nobody-here@example.com")).toBe(shown(a.body, program.program.owner_email));
    expect([...a.headers.keys()].toSorted()).toEqual([...b.headers.keys()].toSorted());
  });

  it("refuses the sixth of an address within 15 minutes, unknown ones too (PAGE-2)", async () => {
    const program = await makeProgram();
    for (const email of [program.program.owner_email, `unknown-${program.id}@example.com`]) {
      const visitor = makeVisitor();
      await visitor.get("/sign-in");
      for (let i = 0; i < 5; i++) {
        const address = i % 2 === 0 ? email : email.toUpperCase();
        expect((await visitor.post("/sign-in", { email: address })).status).toBe(200);
        await visitor.get("/sign-in");
      }
      const sixth = await visitor.post("/sign-in", { email });
      expect(sixth.status).toBe(429);
      expect(sixth.headers.get("retry-after")).toBe("900");
      expect(await linksOf(email)).toHaveLength(5);
    }
  });

  it("counts those who ask at once, and counts again after 15 minutes", async () => {
    const { program } = await makeProgram();
    const now = Date.now();
    const asked = await Promise.allSettled(
      Array.from({ length: 12 }, () => requestLink(testContext(now), program.owner_email)),
    );
    expect(asked.filter(({ status }) => status === "fulfilled")).toHaveLength(5);
    expect(await linksOf(program.owner_email)).toHaveLength(5);
    await expect(requestLink(testContext(now + 14 * MINUTE), program.owner_email)).rejects.toBeInstanceOf(AppError);
    expect(await requestLink(testContext(now + 15 * MINUTE), program.owner_email)).not.toBeNull();
  });

  it("keeps only a hash of 256 random bits (PAGE-2)", async () => {
    const { program } = await makeProgram();
    const token = await ownerLink(program.owner_email);
    expect(token).toMatch(/^[A-Za-z0-9_-]{43}$/);
    const [row] = await linksOf(program.owner_email);
    expect(row?.token_hash).toMatch(/^[0-9a-f]{64}$/);
    expect(JSON.stringify(row)).not.toContain(token);
  });

  it("writes the link to the log in development only (PAGE-11)", async () => {
    const spies = (["log", "info", "warn", "error"] as const).map((name) =>
      vi.spyOn(console, name).mockImplementation(() => {}),
    );
    const said = () => JSON.stringify(spies.flatMap((spy) => spy.mock.calls));
    const { program } = await makeProgram();
    const ask = async (bindings: Parameters<typeof callWith>[0]) => {
      for (const spy of spies) spy.mockClear();
      const visitor = makeVisitor((path, init) => callWith<string>(bindings, path, init));
      await visitor.get("/sign-in");
      expect((await visitor.post("/sign-in", { email: program.owner_email })).status).toBe(200);
    };
    await ask({ ENVIRONMENT: "production" });
    expect(said()).not.toContain("token=");
    expect(said()).not.toContain(program.owner_email);
    await ask({ ENVIRONMENT: "development" });
    expect(said()).toMatch(/\/sign-in\?token=[A-Za-z0-9_-]{43}/);
    const sent: { to: string; from: string; subject: string; text: string; html: string }[] = [];
    const EMAIL = { send: async (mail: (typeof sent)[number]) => void sent.push(mail) } as unknown as SendEmail;
    await ask({ EMAIL, EMAIL_FROM: "hello@service.example", ENVIRONMENT: "development" });
    expect(said()).not.toContain("token=");
    expect(sent).toHaveLength(1);
    expect(sent[0]).toMatchObject({ to: program.owner_email, from: "hello@service.example" });
    expect(sent[0]?.text).toMatch(/https:\/\/service\.example\/sign-in\?token=[A-Za-z0-9_-]{43}/);
    expect(sent[0]?.html).toContain("Test program");
    vi.restoreAllMocks();
  });

  it("sends with it what it was asked for with and roughly where, in words of the service's own (PAGE-11)", async () => {
    const { program } = await makeProgram();
    const sent: { text: string; html: string }[] = [];
    const EMAIL = { send: async (mail: (typeof sent)[number]) => void sent.push(mail) } as unknown as SendEmail;
    const ask = async (user_agent: string, cf: object) => {
      const visitor = makeVisitor((path, init) => {
        const headers = new Headers(init.headers);
        headers.set("user-agent", user_agent);
        return callWith<string>({ EMAIL, EMAIL_FROM: "a@b.example" }, path, { ...init, headers, cf } as RequestInit);
      });
      await visitor.get("/sign-in");
      await visitor.post("/sign-in", { email: program.owner_email });
      return sent.pop()!;
    };
    const firefox = "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:145.0) Gecko/20100101 Firefox/145.0";
    const known = await ask(firefox, { country: "DE", city: "Berlin" });
    expect(known.text).toContain("Requested with: Firefox on Windows\nNear: Berlin, Germany\n");
    expect(known.html).toContain("Firefox on Windows");
    expect(known.html).toContain("Berlin, Germany");
    const rough = await ask(firefox, { country: "FR" });
    expect(rough.text).toContain("Requested with: Firefox on Windows\nNear: France\n");
    // Tor, an unknown country, and a header that is written for the reader of the e-mail.
    for (const country of ["T1", "XX", undefined]) {
      const { text, html } = await ask("call +1 555 0100 <b>now</b>", { country, city: "a\nb" });
      expect(`${text}${html}`).not.toMatch(/555|Near|Requested with/);
    }
  });

  it("answers the same when the e-mail cannot be sent (PAGE-11)", async () => {
    const error = vi.spyOn(console, "error").mockImplementation(() => {});
    const { program } = await makeProgram();
    const EMAIL = { send: () => Promise.reject(new Error("550 rejected")) } as unknown as SendEmail;
    const visitor = makeVisitor((path, init) => callWith<string>({ EMAIL, EMAIL_FROM: "a@b.example" }, path, init));
    await visitor.get("/sign-in");
    const reply = await visitor.post("/sign-in", { email: program.owner_email });
    expect(reply.status).toBe(200);
    expect(reply.body).not.toContain("550");
    expect(error).toHaveBeenCalledOnce();
    vi.restoreAllMocks();
  });

  it("shows what is wrong with an address beside the field, markup as text", async () => {
    const visitor = makeVisitor();
    await visitor.get("/sign-in");
    const reply = await visitor.post("/sign-in", { email: '"><script>alert(1)</script>' });
    expect(reply.status).toBe(422);
    expect(reply.body).not.toContain("<script>alert");
    expect(textOf(reply.body)).toContain("This must be an e-mail address.");
    expect(reply.body).toContain('aria-invalid="true"');
  });
});

describe("using a link", () => {
  it("a GET uses nothing up: link scanners do GETs (PAGE-2)", async () => {
    const { program } = await makeProgram();
    const token = await ownerLink(program.owner_email);
    const scanner = makeVisitor();
    const good = await scanner.get(`/sign-in?token=${token}`);
    expect(good.status).toBe(200);
    expect(scanner.cookies.has(SESSION)).toBe(false);
    expect((await linksOf(program.owner_email))[0]?.used_at).toBeNull();
    expect((await scanner.get("/sign-in/confirm")).status).toBe(405);
    expect((await linksOf(program.owner_email))[0]?.used_at).toBeNull();
  });

  it("signs in once; the second use, an altered and an expired link are refused (PAGE-2)", async () => {
    const { program } = await makeProgram();
    const token = await ownerLink(program.owner_email);
    const first = await followLink(makeVisitor(), token);
    expect([first.status, first.headers.get("location")]).toEqual([303, "/dashboard"]);
    const thief = makeVisitor();
    expect((await followLink(thief, token)).status).toBe(410);
    expect(thief.cookies.has(SESSION)).toBe(false);
    expect((await followLink(makeVisitor(), "A".repeat(43))).status).toBe(410);
    expect((await followLink(makeVisitor(), "' or 1=1 --")).status).toBe(410);
    const late = await ownerLink(program.owner_email, Date.now() - 15 * MINUTE - 1);
    expect((await followLink(makeVisitor(), late)).status).toBe(410);
    const intime = await ownerLink(program.owner_email, Date.now() - 14 * MINUTE);
    expect((await followLink(makeVisitor(), intime)).status).toBe(303);
  });

  it("of many uses at once exactly one opens a session", async () => {
    const { program } = await makeProgram();
    const token = await ownerLink(program.owner_email);
    const visitors = Array.from({ length: 8 }, () => makeVisitor());
    const replies = await Promise.all(visitors.map((visitor) => followLink(visitor, token)));
    expect(replies.map(({ status }) => status).toSorted()).toEqual([303, ...Array.from({ length: 7 }, () => 410)]);
    const { results } = await env.DB.prepare("select * from sessions where program_id = ?").bind(program.id).all();
    expect(results).toHaveLength(1);
  });

  it("the first sign-in turns `invited` into `active` and settles; deactivated partners cannot sign in (PAGE-4)", async () => {
    const program = await makeProgram();
    const partner = await makePartner(program, {}, "invited");
    await signInPartner(partner.email.toUpperCase());
    expect((await program.api("GET", `/api/v1/partners/${partner.id}`)).body).toMatchObject({ status: "active" });
    expect(await eventsOf(program.id)).toEqual(["partner.created", "partner.signed_in", "partner.updated"]);
    await signInPartner(partner.email);
    expect(await eventsOf(program.id)).toEqual([
      "partner.created",
      "partner.signed_in",
      "partner.signed_in",
      "partner.updated",
    ]);

    const requested = await requestLink(testContext(), partner.email);
    await program.api("DELETE", `/api/v1/partners/${partner.id}`);
    const visitor = makeVisitor();
    const reply = await followLink(visitor, requested?.link.token ?? "");
    expect(reply.status).toBe(410);
    expect(visitor.cookies.has(SESSION)).toBe(false);
    expect(await requestLink(testContext(), partner.email)).toBeNull();
    expect((await program.api("GET", `/api/v1/partners/${partner.id}`)).body).toMatchObject({ status: "deactivated" });
  });

  it("makes the commissions that waited for the first sign-in", async () => {
    const program = await makeProgram();
    const partner = await makePartner(program, {}, "invited");
    await sendA(program, sessionCompleted({ ref: partner.slug, amount: 5_000 }));
    const commissions = async () => (await program.api<{ total: number }>("GET", "/api/v1/commissions")).body.total;
    expect(await commissions()).toBe(0);
    await signInPartner(partner.email);
    expect(await commissions()).toBe(1);
  });

  it("a partner deactivated at that very moment gets no session and stays deactivated", async () => {
    const program = await makeProgram();
    const partner = await makePartner(program, {}, "invited");
    const token = (await requestLink(testContext(), partner.email))?.link.token ?? "";
    let deactivated = false;
    const { binding } = watchDatabase(env.DB, {
      before: async (statements) => {
        if (deactivated || !statements.some((sql) => sql.includes("insert into sessions"))) return;
        deactivated = true;
        await program.api("DELETE", `/api/v1/partners/${partner.id}`);
      },
    });
    const visitor = makeVisitor((path, init) => callWith<string>({ DB: binding }, path, init));
    expect((await followLink(visitor, token)).status).toBe(410);
    expect([deactivated, visitor.cookies.has(SESSION)]).toEqual([true, false]);
    expect((await program.api("GET", `/api/v1/partners/${partner.id}`)).body).toMatchObject({ status: "deactivated" });
    expect(await eventsOf(program.id)).toEqual(["partner.created", "partner.deleted"]);
  });

  it("asks who to be where an address is several people, and lets them switch without another link (PAGE-12)", async () => {
    const email = `both-${Date.now()}@example.com`;
    const one = await makeProgram({ owner_email: email, name: "First program" });
    const two = await makeProgram({ name: "Second program" });
    const partner = await makePartner(two, { email }, "invited");
    const foreign = await makePartner(two, {}, "active");
    const requested = await requestLink(testContext(), email);
    const token = requested?.link.token ?? "";
    const visitor = makeVisitor();
    const choice = await visitor.get(`/sign-in?token=${token}`);
    expect(textOf(choice.body)).toContain("First program Owner");
    expect(textOf(choice.body)).toContain("Second program Partner");
    expect(visitor.cookies.has(SESSION)).toBe(false);
    const refused = await visitor.post("/sign-in/confirm", { token, as: foreign.id });
    expect([refused.status, visitor.cookies.has(SESSION)]).toEqual([303, false]);
    expect((await visitor.post("/sign-in/confirm", { token, as: partner.id })).headers.get("location")).toBe("/portal");
    expect((await followLink(makeVisitor(), token, one.id)).status).toBe(410);

    const before = visitor.cookies.get(SESSION);
    await visitor.get("/switch");
    expect((await visitor.post("/switch", { as: foreign.id })).status).toBe(404);
    await visitor.get("/switch");
    const owner = requested?.identities.find(({ audience }) => audience === "owner");
    const switched = await visitor.post("/switch", { as: owner ? identityKey(owner) : "" });
    expect(switched.headers.get("location")).toBe("/dashboard");
    expect(visitor.cookies.get(SESSION)).not.toBe(before);
    const old = makeVisitor();
    old.cookies.set(SESSION, before ?? "");
    expect((await old.get("/switch")).headers.get("location")).toBe("/sign-in?ended=yes");
  });

  it("limits attempts by network address, 429 with Retry-After", async () => {
    const headers = { "cf-connecting-ip": "192.0.2.7" };
    const limiters = { RATE_LIMIT_SIGN_IN: playLimiter(limitOf("RATE_LIMIT_SIGN_IN")) };
    const visitor = makeVisitor((path, init) => callWith<string>(limiters, path, init));
    const replies: Reply<string>[] = [];
    for (let i = 0; i < 31; i++) {
      await visitor.get("/sign-in", headers);
      replies.push(await visitor.post("/sign-in/confirm", { token: "A".repeat(43) }, headers));
    }
    expect(replies.map(({ status }) => status)).toEqual([...Array.from({ length: 30 }, () => 410), 429]);
    expect(replies.at(-1)!.headers.get("retry-after")).toBe("60");
  });

  it("an owner whose program has another owner by now cannot use the link", async () => {
    const program = await makeProgram();
    const token = await ownerLink(program.program.owner_email);
    await env.DB.prepare("update programs set owner_email = ? where id = ?").bind("new@example.com", program.id).run();
    expect((await followLink(makeVisitor(), token)).status).toBe(410);
  });
});

describe("a signed-in owner", () => {
  it("is sent home from the sign-in page", async () => {
    const visitor = await signInOwner(await makeProgram());
    expect((await visitor.get("/sign-in")).headers.get("location")).toBe("/dashboard");
    expect((await visitor.get("/")).headers.get("location")).toBe("/dashboard");
  });
});
