/** Versioning. */
import { describe, expect, it } from "vitest";
import { sendA } from "../support/ledger.ts";
import { makeProgram } from "../support/program.ts";
import { sessionCompleted } from "../support/provider-a.ts";

describe("versioning", () => {
  it("the API version is part of the path prefix: /api/v1 (HTTP-23)", async () => {
    const program = await makeProgram();
    expect((await program.api("GET", "/api/v1/partners")).status).toBe(200);
    for (const path of ["/api/partners", "/api/v2/partners", "/v1/partners", "/partners"]) {
      expect([path, (await program.api("GET", path)).status]).toEqual([path, 404]);
    }
  });

  it("inbound webhook paths carry no version (HTTP-23)", async () => {
    const program = await makeProgram();
    expect((await sendA(program, sessionCompleted())).status).toBe(200);
  });
});
