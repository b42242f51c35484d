import { and, eq, sql } from "drizzle-orm";
import { claims, partners, payments } from "../../db/schema.ts";
import { claimAnswer } from "../../domain/claim.ts";
import { emailKey } from "../../domain/email.ts";
import type { AttributionFact } from "../../domain/fact.ts";
import { AppError, invalidField, notFound } from "../../lib/errors.ts";
import { iso } from "../../lib/time.ts";
import { changesOf } from "../kernel/changes.ts";
import { commit, type Write } from "../kernel/commit.ts";
import { CommitConflict } from "../kernel/conflict.ts";
import { prove, type Caller, type ProgramCtx, type Reader } from "../kernel/context.ts";
import { refuseWhere, untilWon } from "../kernel/races.ts";
import type { Partner, Payment, SaleClaim } from "../kernel/rows.ts";
import { viewClaimData } from "../kernel/views.ts";
import { rememberReferences } from "../ledger/facts.ts";
import { isClaimable } from "../ledger/find.ts";
import { settleServed } from "../ledger/payments.ts";
import { settle } from "../ledger/settle.ts";
import { unsettle } from "../ledger/concerned-payments.ts";
import { claimPayload, selectClaim } from "./claims.ts";
import { selectAnswering, selectMatches } from "./matches.ts";

export interface GrantInput {
  /** Required unless the claim matches exactly one payment. */
  payment_id?: string | undefined;
}

export interface DeclineInput {
  /** Shown to the partner with the answer. */
  note?: string | null | undefined;
}

/**
 * Gives a payment to the partner who claims it: stores the partner's reference for the customer of the payment, as of
 * its time, and settles the payments to which it applies (CLAIM-5). If the payment already names the partner, no
 * reference is stored; a payment that was refused because the partner was deactivated is decided again. A claim is
 * decided once. @throws `invalid_transition` if the claim is decided, the partner deactivated, the payment another
 * partner's, or its customer unknown; `validation_failed` if it is ambiguous which payment is meant.
 */
export async function grantClaim(caller: Caller, id: string, { payment_id }: GrantInput): Promise<SaleClaim> {
  const { ctx, after, payment, facts } = await untilWon(async () => {
    const [ctx, [claim], [partner], matches, [named]] = await prove(
      caller,
      selectClaim(caller, id),
      selectClaimant(caller, id),
      selectMatches(caller, id)[0],
      selectPayment(caller, payment_id ?? ""),
    );
    if (!claim || !partner) throw notFound("claim");
    refuseDecided(claim);
    const payment = payment_id === undefined ? onlyOf(matches) : (named ?? noPayment());
    if (payment.settled_revision < payment.facts_revision) await settleFirst(ctx, payment);
    const facts = factsFor(payment, partner);
    const after: SaleClaim = { ...claim, status: "granted", payment_id: payment.id, decided_at: iso(ctx.now) };
    await commit(ctx, {
      writes: [
        decided(ctx, after),
        refuseWhere(ctx, isChanged(payment, partner)),
        ...(facts.length > 0 ? await rememberReferences(ctx, payment, facts) : []),
        // Settling the payment reads the granted claim, even if this call ends before.
        unsettle(ctx, sql`id = ${payment.id}`),
      ],
      occurrences: [
        {
          type: "claim.granted",
          payload: claimPayload(after),
          changes: changesOf("claim", claim, after),
          outbound: { event: "claim.granted", data: viewClaimData(after) },
        },
      ],
      notices: [{ kind: "claim_decided", program: ctx.program, partner, claim: after, answer: "granted" }],
      result: after,
    });
    return { ctx, after, payment, facts };
  });
  await settle(ctx, payment);
  await settleServed(ctx, payment.provider, facts);
  return after;
}

/** Declines a claim, with an optional note. A claim is decided once. @throws `invalid_transition` if it is decided. */
export async function declineClaim(caller: Caller, id: string, { note }: DeclineInput): Promise<SaleClaim> {
  return untilWon(async () => {
    // A claim by day names no single payment.
    const [ctx, [claim], [partner], [payment = null]] = await prove(
      caller,
      selectClaim(caller, id),
      selectClaimant(caller, id),
      selectAnswering(caller, id),
    );
    if (!claim || !partner) throw notFound("claim");
    refuseDecided(claim);
    const after: SaleClaim = {
      ...claim,
      status: "declined",
      payment_id: payment?.id ?? null,
      note: note ?? null,
      decided_at: iso(ctx.now),
    };
    await commit(ctx, {
      writes: [decided(ctx, after)],
      occurrences: [
        {
          type: "claim.declined",
          payload: claimPayload(after),
          changes: changesOf("claim", claim, after),
          outbound: { event: "claim.declined", data: viewClaimData(after) },
        },
      ],
      notices:
        partner.status === "deactivated"
          ? []
          : [
              {
                kind: "claim_decided",
                program: ctx.program,
                partner,
                claim: after,
                answer: claimAnswer(after, payment),
              },
            ],
      result: after,
    });
    return after;
  });
}

function selectClaimant(ctx: Reader, id: string) {
  return ctx.db
    .select()
    .from(partners)
    .where(sql`${partners.id} = (select partner_id from claims where id = ${id} and program_id = ${ctx.programId})`);
}

function selectPayment(ctx: Reader, id: string) {
  return ctx.db
    .select()
    .from(payments)
    .where(and(eq(payments.id, id), sql`${payments.program_id} = ${ctx.programId}`, isClaimable("payments")));
}

function refuseDecided({ status }: SaleClaim): void {
  if (status !== "open") throw new AppError("invalid_transition", `This claim was ${status} before.`);
}

function onlyOf(matches: readonly Payment[]): Payment {
  const [payment] = matches;
  if (payment && matches.length === 1) return payment;
  throw invalidField(
    "payment_id",
    payment ? "Several payments match: name one." : "No payment matches: name the payment.",
  );
}

function noPayment(): never {
  throw invalidField("payment_id", "This payment does not exist.");
}

/** The decision has to be based on the payment's settled facts. */
async function settleFirst(ctx: ProgramCtx, payment: Payment): Promise<never> {
  await settle(ctx, payment);
  throw new CommitConflict("lost_race", "the payment was not settled");
}

/** The reference that gives the payment to the partner: for the nearest object that the provider names. */
function factsFor(payment: Payment, partner: Partner): AttributionFact[] {
  if (partner.status === "deactivated") {
    throw new AppError("invalid_transition", "The partner is deactivated. Reactivate the partner first.");
  }
  if (payment.partner_id === partner.id) return [];
  if (payment.partner_id !== null) {
    throw new AppError("invalid_transition", "This payment belongs to another partner. A claim cannot move it.");
  }
  const { subscription_id, customer_id, customer_email, created_at: occurred_at } = payment;
  const said = { kind: "attribution" as const, occurred_at, ref: partner.slug, granted: true as const };
  if (subscription_id !== null || customer_id !== null) return [{ ...said, subscription_id, customer_id }];
  if (customer_email !== null) {
    return [{ ...said, subscription_id: null, customer_id: null, customer_email: emailKey(customer_email) }];
  }
  throw new AppError(
    "invalid_transition",
    "The provider did not report this payment's customer, so it cannot be assigned.",
  );
}

/** True if the payment or the partner has changed since it was read. */
function isChanged({ id, facts_revision }: Payment, partner: Partner) {
  return sql`exists (select 1 from payments where id = ${id} and facts_revision <> ${facts_revision})
    or exists (select 1 from partners where id = ${partner.id} and updated_at <> ${partner.updated_at})`;
}

/** Decides once, and only a claim that no erasure has emptied meanwhile, because the stored reply contains its sale. */
function decided(ctx: ProgramCtx, { order_id, email_domain, ...after }: SaleClaim): Write {
  const { id, status, payment_id, note, decided_at } = after;
  const same = sql`order_id is ${order_id} and email_domain is ${email_domain}`;
  return {
    statement: ctx.db
      .update(claims)
      .set({ status, payment_id, note, decided_at })
      .where(and(eq(claims.id, id), eq(claims.status, "open"), same)),
    expect: 1,
  };
}
