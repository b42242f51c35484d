/** Stories of promotion codes: their program, their times, and whose each payment is. */
import { makePartner, makeProgram, type ProgramFields, type TestProgram } from "./program.ts";

/** A payment with its trace, as far as it is about whose it is. */
export interface Traced {
  id: string;
  outcome: string;
  trace: {
    ref: string | null;
    ref_source: string | null;
    partner_slug: string | null;
    candidates: { ref: string; source: string; partner_id: string | null }[];
  };
}

/** A program with these partners, active, by their slugs. */
export async function programOf(fields: ProgramFields, ...slugs: string[]) {
  const program = await makeProgram(fields);
  const partners: Record<string, string> = {};
  for (const slug of slugs) partners[slug] = (await makePartner(program, { slug })).id;
  return { program, partners: partners as Record<"jane" | "joe" | "ann", string> };
}

/** The trace of each payment, the oldest first. */
export async function traced(program: TestProgram): Promise<Traced[]> {
  const { body } = await program.api<{ data: { id: string }[] }>("GET", "/api/v1/payments");
  const all = body.data.toReversed().map(({ id }) => program.api<Traced>("GET", `/api/v1/payments/${id}`));
  return (await Promise.all(all)).map((reply) => reply.body);
}

/** The same in short: outcome, partner and the reference's source. */
export async function reported(program: TestProgram) {
  return (await traced(program)).map(({ outcome, trace }) => `${outcome} ${trace.partner_slug} ${trace.ref_source}`);
}

const T0 = 1_780_000_000;
/** Seconds; each payment of a story later than the one before. */
export const at = (step: number) => T0 + step * 86_400;
export const isoAt = (step: number) => new Date(at(step) * 1_000).toISOString();

export const JANE_A = { code: "JANE20", provider: "provider_a" } as const;
export const JANE_B = { code: "JANE20", provider: "provider_b" } as const;
