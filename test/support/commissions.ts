/** Commissions through the API, and their webhooks. */
import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { commissions } from "../../src/db/schema.ts";
import { db, type CommissionRow } from "./payouts.ts";
import { makePartner, makeProgram, type Reply, type TestProgram } from "./program.ts";

export interface CommissionBody {
  id: string;
  status: string;
  flagged: boolean;
  review_reason: string | null;
  rejected_reason: string | null;
  approved_at: string | null;
  amount_cents: number;
  error?: { code: string; message: string; details?: { path: string }[] };
}

export interface ToldEvent {
  id: string;
  payload: Record<string, unknown>;
}

export const commissionPath = (id = "") => `/api/v1/commissions${id && `/${id}`}`;

export function patchCommission(program: TestProgram, id: string, body: unknown): Promise<Reply<CommissionBody>> {
  return program.api<CommissionBody>("PATCH", commissionPath(id), body);
}

/** The program's audit events of a type, newest first. */
export async function eventsOf(program: TestProgram, type: string): Promise<ToldEvent[]> {
  const { body } = await program.api<{ data: ToldEvent[] }>("GET", `/api/v1/events?type=${type}&per_page=100`);
  return body.data;
}

/** The webhook body of an event, or null. */
export async function sentFor(event: ToldEvent): Promise<{ event: string; data: unknown } | null> {
  const row = await env.DB.prepare("select body from messages where event_id = ?")
    .bind(event.id)
    .first<{ body: string }>();
  return row ? (JSON.parse(row.body) as { event: string; data: unknown }) : null;
}

/** A program with an endpoint for every event, and an active partner. */
export async function listening(overrides: Parameters<typeof makeProgram>[0] = {}) {
  const program = await makeProgram(overrides);
  await program.api("POST", "/api/v1/webhooks", { url: "https://receiver.example.com/hook", events: ["*"] });
  const jane = await makePartner(program);
  return { program, jane };
}

export async function commissionById(id: string): Promise<CommissionRow> {
  const [row] = await db.select().from(commissions).where(eq(commissions.id, id));
  if (!row) throw new Error(`no commission ${id}`);
  return row;
}
