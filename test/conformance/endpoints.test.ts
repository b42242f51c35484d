/** Endpoints. */
import { describe, expect, it } from "vitest";
import { create, type Row } from "../support/conformance.ts";
import { makeProgram } from "../support/program.ts";

interface Page {
  data: Row[];
  total: number;
  page: number;
  per_page: number;
}

describe("Partners (HTTP-1)", () => {
  it("POST, GET list, GET one, PATCH and DELETE answer as their table says", async () => {
    const program = await makeProgram();
    const made = await create(program, "/api/v1/partners", {
      email: "jane@example.com",
      slug: "jane",
      first_name: "Jane",
      last_name: "Doe",
      commission_pct: 5,
    });
    const { body: list } = await program.api<Page>("GET", "/api/v1/partners");
    const { id, email, first_name, last_name, slug, status, commission_pct, created_at } = made;
    expect(list.data[0]).toMatchObject({ id, email, first_name, last_name, slug, status, commission_pct, created_at });
    const at = `/api/v1/partners/${id}`;
    expect((await program.api("GET", at)).body).toMatchObject({ ...made, stats: { total_commissions: 0 } });
    for (const patch of [
      { email: "new@example.com" },
      { first_name: "J", last_name: null },
      { slug: "janet" },
      { status: "active" },
      { commission_pct: null },
      { payout_method: "bank_transfer", payout_email: "pay@example.com" },
      { metadata: { a: 1 } },
    ]) {
      const patched = await program.api<Row>("PATCH", at, patch);
      expect([patched.status, patched.body]).toMatchObject([200, { id, ...patch }]);
    }
    const deleted = await program.api<Row>("DELETE", at);
    expect([deleted.status, deleted.body]).toMatchObject([200, { id, status: "deactivated" }]);
  });
});
