/** Each decision is stored as it was made, and cannot be changed (LAW-7). */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { actors } from "../../src/domain/actor.ts";
import { ledgerOf } from "../support/ledger.ts";
import { all } from "../support/rows.ts";
import { signInOwner } from "../support/visitor.ts";
import { approvedSale, decide } from "../support/decisions.ts";

describe("each decision is kept as it was taken (LAW-7)", () => {
  const DECISIONS = "select * from decisions where program_id = ? order by id";
  interface Kept {
    actor: string;
    created_at: string;
    kind: string;
  }

  it("with the actor, the time and the partner; what comes later adds to it", async () => {
    const { program, partner, sale } = await approvedSale();
    const owner = await signInOwner(program);
    const path = `/dashboard/commissions/${sale.id}`;
    await owner.get(path);
    await owner.post(path, { status: "rejected", reason: "A return" });
    const kept = await all<Kept>(DECISIONS, program.id);
    const about = {
      subject: sale.payment_id,
      commission_id: sale.id,
      commission_kind: "sale",
      partner_id: partner.id,
      program_id: program.id,
    };
    expect(kept).toMatchObject([
      { ...about, kind: "approve", detail: null },
      { ...about, kind: "reject", detail: "A return" },
    ]);
    expect(kept.map(({ actor }) => JSON.parse(actor) as unknown)).toEqual([
      actors.apiKey(program.program),
      actors.member(program.program.owner_email),
    ]);
    const decided = await all<{ created_at: string }>(
      "select created_at from events where program_id = ? and type = 'commission.updated' order by id",
      program.id,
    );
    expect(decided.map(({ created_at }) => created_at)).toEqual(kept.map(({ created_at }) => created_at));

    const { payments } = await ledgerOf(program);
    await program.api("POST", "/api/v1/customers/erase", { email: payments[0]!.customer_email });
    await decide(program, sale.id, "pending");
    const after = await all<Kept>(DECISIONS, program.id);
    expect(after.slice(0, 2)).toEqual(kept);
    expect(after.map(({ kind }) => kind)).toEqual(["approve", "reject", "reopen"]);
  });

  it("and can be neither changed nor deleted", async () => {
    const { program } = await approvedSale();
    const kept = await all(DECISIONS, program.id);
    expect(kept).toHaveLength(1);
    for (const change of [
      "update decisions set kind = 'reject'",
      "update decisions set actor = null",
      "delete from decisions",
    ]) {
      const changing = env.DB.prepare(`${change} where program_id = ?`).bind(program.id).run();
      await expect(changing).rejects.toThrow("append-only");
    }
    expect(await all(DECISIONS, program.id)).toEqual(kept);
  });
});
