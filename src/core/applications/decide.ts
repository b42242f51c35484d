import { and, sql } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import { applications } from "../../db/schema.ts";
import type { ApplicationDecision } from "../../domain/application.ts";
import { AppError, notFound } from "../../lib/errors.ts";
import { iso, nextStamp } from "../../lib/time.ts";
import { changesOf } from "../kernel/changes.ts";
import type { Occurrence } from "../kernel/commit.ts";
import { prove, type Caller } from "../kernel/context.ts";
import { untilWon } from "../kernel/races.ts";
import type { Application } from "../kernel/rows.ts";
import { partnerCreated } from "../partners/partners.ts";
import { ownedApplication, applicationEvent } from "./applications.ts";
import { commitWithPartner, planPartner } from "./new-partner.ts";

/**
 * `pending → approved` (JOIN-6): the applicant is an active partner at once, because the address is verified, and is
 * e-mailed the partner's link and a sign-in link. @throws `invalid_transition` if it is decided, `already_exists` if a
 * partner has the address by now.
 */
export function approveApplication(caller: Caller, id: string): Promise<Application> {
  return decide(caller, id, "approved", null);
}

/** `pending → declined` (JOIN-6); notifies the applicant, with the note. @throws `invalid_transition` if decided */
export function declineApplication(caller: Caller, id: string, note: string | null): Promise<Application> {
  return decide(caller, id, "declined", note);
}

const REFUSALS = ["not_found", "invalid_transition", "already_exists"] as const;

export type ApplicationResult =
  | { id: string; ok: true; status: ApplicationDecision }
  | { id: string; ok: false; error: { code: (typeof REFUSALS)[number]; message: string } };

/** Decides several applications, each in its own commit: a refusal does not affect the others. */
export async function decideApplications(
  caller: Caller,
  ids: readonly string[],
  status: ApplicationDecision,
  note: string | null,
): Promise<ApplicationResult[]> {
  const [ctx] = await prove(caller);
  // The reply covers all of them, so it is not stored with any single commit.
  const { alongside: _, ...each } = ctx;
  const results: ApplicationResult[] = [];
  for (const id of ids) {
    try {
      await decide(each, id, status, note);
      results.push({ id, ok: true, status });
    } catch (error) {
      const code = error instanceof AppError ? REFUSALS.find((one) => one === error.code) : undefined;
      if (code === undefined) throw error;
      results.push({ id, ok: false, error: { code, message: (error as AppError).message } });
    }
  }
  return results;
}

function decide(caller: Caller, id: string, status: ApplicationDecision, note: string | null): Promise<Application> {
  return untilWon(async () => {
    const own = caller.db.select().from(applications).where(ownedApplication(caller, id));
    const [ctx, [before]] = await prove(caller, own);
    if (!before) throw notFound("application");
    if (before.status !== "pending") {
      throw new AppError("invalid_transition", `This application is already ${before.status}.`);
    }
    const decided_at = iso(ctx.now);
    const made = status === "approved" ? await planPartner(ctx, before) : null;
    const set = {
      ...{ status, note, decided_at, partner_id: made?.partner.id ?? null },
      updated_at: nextStamp(before.updated_at, ctx.now),
    };
    const after: Application = { ...before, ...set };
    await commitWithPartner(ctx, {
      writes: [
        {
          statement: ctx.db
            .update(applications)
            .set(set)
            .where(and(ownedApplication(ctx, id), sql`${applications.status} = ${literal("pending")}`)),
          expect: 1,
        },
        ...(made?.writes ?? []),
      ],
      occurrences: [...(made ? [partnerCreated(made.partner)] : []), decided(before, after)],
      notices: made?.notices ?? [{ kind: "application_declined", program: ctx.program, application: after }],
      result: after,
    });
    return after;
  });
}

function decided(before: Application, after: Application): Occurrence {
  const changes = changesOf("application", before, after);
  return after.status === "approved"
    ? { type: "applications.approved", changes, ...applicationEvent("applications.approved", after) }
    : { type: "applications.declined", changes, ...applicationEvent("applications.declined", after) };
}
