/** The pages with the e-mails of a local service (MAIL-4). */
import { env } from "cloudflare:workers";
import { createExecutionContext } from "cloudflare:test";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { app } from "../../src/app.ts";
import { makePartner, makeProgram } from "../support/program.ts";
import { runJob } from "../support/jobs.ts";
import { eventually } from "../support/time.ts";
import { makeVisitor, textOf } from "../support/visitor.ts";

beforeEach(async () => {
  vi.spyOn(console, "info").mockImplementation(() => {});
  await env.DB.prepare("delete from mails").run();
});

async function find(subject: string): Promise<string> {
  return eventually(async () => {
    const { body } = await makeVisitor().get("/dev/mails");
    const [, path] = new RegExp(`href="(/dev/mails/mail_[0-9a-z]+)">[^<]*${subject}`).exec(body) ?? [];
    expect(path).toBeDefined();
    return path!;
  });
}

describe("the e-mails of a local service (MAIL-4)", () => {
  it("are a page each: a sign-in link, which works, and what is stored first", async () => {
    const program = await makeProgram({ name: "Acme & Sons" });
    const visitor = makeVisitor();
    await visitor.get("/sign-in");
    await visitor.post("/sign-in", { email: program.program.owner_email });
    const link = await find("Your sign-in link for Acme");
    const text = await makeVisitor().get(`${link}/text`);
    expect(text.body).toMatch(/\/sign-in\?token=[\w-]{43}/);
    const shown = await makeVisitor().get(link);
    expect(textOf(shown.body)).toContain(program.program.owner_email);
    expect(shown.headers.get("content-security-policy")).toContain("frame-src 'self'");
    const html = await makeVisitor().get(`${link}/html`);
    expect(html.headers.get("content-security-policy")).toMatch(/default-src 'none'.*sandbox allow-popups/);
    expect(html.headers.get("content-security-policy")).toContain("frame-ancestors 'self'");
    expect([html.headers.get("x-frame-options"), html.body.includes("<script")]).toEqual([null, false]);

    const partner = await makePartner(program, { payout_method: "wallet", payout_email: "old@wallet.example" });
    await program.api("PATCH", `/api/v1/partners/${partner.id}`, { payout_email: "new@wallet.example" });
    await runJob("send e-mails", Date.now() + 1_000);
    expect((await makeVisitor().get(await find("Payout details changed at Acme"))).status).toBe(200);
  });

  it("are nowhere else", async () => {
    for (const path of ["/dev/mails", "/dev/mails/mail_1", "/dev/mails/mail_1/html", "/dev/mails/mail_1/text"]) {
      expect([path, (await makeVisitor().get(path)).status]).toEqual([path, path === "/dev/mails" ? 200 : 404]);
      const request = new Request(`https://service.example${path}`);
      const reply = await app.fetch(request, { ...env, ENVIRONMENT: "production" }, createExecutionContext());
      expect([path, reply.status]).toEqual([path, 404]);
    }
  });
});
