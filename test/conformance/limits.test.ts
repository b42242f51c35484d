/** Limits. The limits of deliveries are in test/unit/delivery.test.ts and test/unit/send.test.ts. */
import { describe, expect, it } from "vitest";
import { refusedPaths } from "../support/conformance.ts";
import { makePartner, makeProgram } from "../support/program.ts";

interface Page {
  data: unknown[];
  total: number;
  page: number;
  per_page: number;
}

describe("limits", () => {
  it.each(["partners", "events"])(
    "%s: page defaults to 1, per_page to 20, and is at most 100 (HTTP-7)",
    async (list) => {
      const program = await makeProgram();
      for (let i = 0; i < 21; i++) await makePartner(program, {}, "invited");
      const at = `/api/v1/${list}`;
      const { body } = await program.api<Page>("GET", at);
      expect([body.data.length, body.total, body.page, body.per_page]).toEqual([20, 21, 1, 20]);
      const most = await program.api<Page>("GET", `${at}?per_page=100`);
      expect([most.status, most.body.data.length, most.body.per_page]).toEqual([200, 21, 100]);
      for (const query of ["per_page=101", "per_page=0", "per_page=-1", "per_page=1.5", "page=0", "page=first"]) {
        expect(refusedPaths(await program.api("GET", `${at}?${query}`))).toEqual([query.split("=")[0]]);
      }
    },
  );
});
