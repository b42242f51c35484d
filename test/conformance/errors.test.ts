/** Errors. The results of refused and unanswered deliveries is in test/unit and test/integration. */
import { describe, expect, it } from "vitest";
import { create, ENDPOINT, refusedPaths, type Failure } from "../support/conformance.ts";
import { makePartner, makeProgram } from "../support/program.ts";

describe("errors", () => {
  it("an outbound endpoint URL that is not HTTPS is rejected at creation (HOOK-7)", async () => {
    const program = await makeProgram();
    for (const url of ["http://receiver.example.com/", "ftp://receiver.example.com/", "receiver.example.com", ""]) {
      expect(refusedPaths(await program.api("POST", "/api/v1/webhooks", { ...ENDPOINT, url }))[0]).toBe("url");
    }
    const { id } = await create(program, "/api/v1/webhooks", ENDPOINT);
    const patched = await program.api("PATCH", `/api/v1/webhooks/${id}`, { url: "http://receiver.example.com/" });
    expect(refusedPaths(patched)).toEqual(["url"]);
  });

  it("one that names localhost, a private or a link-local address is refused; not configurable", async () => {
    const program = await makeProgram();
    for (const host of [
      "localhost",
      "127.0.0.1",
      "10.0.0.1",
      "192.168.1.1",
      "172.16.0.1",
      "169.254.169.254",
      "[fe80::1]",
    ]) {
      const reply = await program.api("POST", "/api/v1/webhooks", { ...ENDPOINT, url: `https://${host}/` });
      expect([host, refusedPaths(reply)]).toEqual([host, ["url"]]);
    }
  });

  it("partner email must be unique per program (PART-2)", async () => {
    const program = await makeProgram();
    await makePartner(program, { email: "jane@example.com" });
    const other = await makePartner(program, { email: "joe@example.com" });
    for (const reply of [
      await program.api<Failure>("POST", "/api/v1/partners", { email: "JANE@example.com", slug: "jane2" }),
      await program.api<Failure>("PATCH", `/api/v1/partners/${other.id}`, { email: "Jane@Example.com" }),
    ]) {
      const { code, details } = reply.body.error;
      expect([reply.status, code, details?.[0]?.path]).toEqual([409, "already_exists", "email"]);
    }
  });
});
