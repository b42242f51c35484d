import { and, desc, eq, sql } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import type { PageOfTexts, PageRequest } from "../../db/page.ts";
import { flag, nullable, selectRows, text, textOf, whole } from "../../db/rows.ts";
import { claims } from "../../db/schema.ts";
import {
  CLAIM_STATUSES,
  claimAnswer,
  MAX_CLAIMS_A_DAY,
  MAX_CLAIMS_SHOWN,
  MAX_OPEN_CLAIMS,
  type ClaimAnswer,
  type ClaimStatus,
} from "../../domain/claim.ts";
import type { Outcome } from "../../domain/payment.ts";
import { AppError, notFound } from "../../lib/errors.ts";
import { firstIdAt, newId } from "../../lib/id.ts";
import { DAY, iso } from "../../lib/time.ts";
import { commit } from "../kernel/commit.ts";
import { CommitConflict } from "../kernel/conflict.ts";
import { prove, type Caller, type ProgramCtx, type Reader } from "../kernel/context.ts";
import { byPartner, byState, pagedList, readPage } from "../kernel/list-page.ts";
import { refuseWhere, untilWon } from "../kernel/races.ts";
import type { EventPayloads } from "../../domain/event.ts";
import type { Commission, Payment, Program, SaleClaim } from "../kernel/rows.ts";
import { viewClaim, viewClaimData, type ClaimView } from "../kernel/views.ts";
import { paymentsOfOrder } from "../ledger/find.ts";
import { selectMatches } from "./matches.ts";

/** A partner's input: the id of an order, or a day (`2026-11-02`) and the domain of the customer's address. */
export type ClaimInput = { order_id: string } | { day: string; email_domain: string };

/** A stored claim; or the outcome of the payment, if it already belongs to the partner. */
export type Claimed = { claim: SaleClaim; isNew: boolean } | { theirs: Outcome };

/** A partner's own payment that needs no decision by a person. */
const SETTLED_OWN = sql`p.outcome is not null and p.outcome <> 'partner_deactivated' and p.outcome <> 'merged'`;

/**
 * Stores a partner's claim; a repeated claim is the same claim (CLAIM-2). One read collects all input, for an order's
 * id also whether the payment already belongs to the partner. The result does not reveal other payments. @throws
 * `invalid_transition` with too many open claims, `rate_limited` with too many within a day (CLAIM-4).
 */
export async function createClaim(ctx: ProgramCtx, partner_id: string, input: ClaimInput): Promise<Claimed> {
  return untilWon(async () => {
    const claim = newClaim(ctx, partner_id, input);
    const order_id = "order_id" in input ? input.order_id : null;
    const [[same], [counts], [own]] = await ctx.read(
      ctx.db.select().from(claims).where(sameClaim(claim)),
      selectRows(
        ctx.db,
        { open: whole, today: whole },
        sql`select ${openOf(partner_id)} as open, ${madeSince(ctx, partner_id)} as today`,
      ),
      selectRows(
        ctx.db,
        { outcome: textOf<Outcome>() },
        sql`select p.outcome from payments p where p.id in (${paymentsOfOrder(ctx, sql`select ${order_id}`)})
          and +p.partner_id = ${partner_id} and ${SETTLED_OWN} limit 1`,
      ),
    );
    if (own) return { theirs: own.outcome };
    if (same) return { claim: same, isNew: false };
    refuseTooMany(counts ?? { open: 0, today: 0 });
    try {
      await commit(ctx, {
        writes: [
          { statement: ctx.db.insert(claims).values(claim) },
          refuseWhere(ctx, sql`${openOf(partner_id)} > ${literal(MAX_OPEN_CLAIMS)}`),
          refuseWhere(ctx, sql`${madeSince(ctx, partner_id)} > ${literal(MAX_CLAIMS_A_DAY)}`),
        ],
        occurrences: [
          {
            type: "claim.created",
            payload: claimPayload(claim),
            outbound: { event: "claim.created", data: viewClaimData(claim) },
          },
        ],
        ownerMails: [{ kind: "claims_waiting" }],
      });
    } catch (error) {
      if (!(error instanceof CommitConflict) || error.kind !== "unique") throw error;
      // The same claim was made at the same moment: it is read again.
      throw new CommitConflict("lost_race", error.constraint);
    }
    return { claim, isNew: true };
  });
}

function newClaim(ctx: ProgramCtx, partner_id: string, input: ClaimInput): SaleClaim {
  const given = "order_id" in input ? { ...input, day: null, email_domain: null } : { ...input, order_id: null };
  return {
    id: newId("claim", ctx.now),
    program_id: ctx.program.id,
    partner_id,
    status: "open",
    ...given,
    payment_id: null,
    note: null,
    created_at: iso(ctx.now),
    decided_at: null,
  };
}

function sameClaim({ partner_id, order_id, day, email_domain }: SaleClaim) {
  const said =
    order_id === null
      ? and(sql`${claims.day} is not null`, eq(claims.day, day ?? ""), eq(claims.email_domain, email_domain ?? ""))
      : and(sql`${claims.order_id} is not null`, eq(claims.order_id, order_id));
  return and(eq(claims.partner_id, partner_id), said);
}

const openOf = (partner_id: string) =>
  sql`(select count(*) from claims indexed by claims_open where partner_id = ${partner_id} and status = 'open')`;

const madeSince = ({ now }: ProgramCtx, partner_id: string) =>
  sql`(select count(*) from claims indexed by claims_partner where partner_id = ${partner_id}
    and id >= ${firstIdAt("claim", now - DAY)})`;

function refuseTooMany({ open, today }: { open: number; today: number }): void {
  if (open >= MAX_OPEN_CLAIMS) {
    throw new AppError(
      "invalid_transition",
      `${MAX_OPEN_CLAIMS} of your claims are still open. Please wait for the answers.`,
    );
  }
  if (today >= MAX_CLAIMS_A_DAY) {
    throw new AppError("rate_limited", `You can make ${MAX_CLAIMS_A_DAY} claims a day. Please continue tomorrow.`, {
      retryAfter: DAY / 1000,
    });
  }
}

/** Excludes every field that an erasure may have to delete, because the log is permanent. */
export function claimPayload(row: SaleClaim): EventPayloads["claim.created"] {
  const { id: claim_id, partner_id, status, payment_id } = row;
  return { claim_id, partner_id, status, payment_id };
}

/** A claim for its partner, with its answer. */
type OwnClaim = Pick<SaleClaim, "id" | "status" | "order_id" | "day" | "email_domain" | "note" | "created_at"> & {
  answer: ClaimAnswer;
};

/** The newest claims of a partner with their answers, in one read. */
export async function listOwnClaims(ctx: Reader, partner_id: string): Promise<OwnClaim[]> {
  const [rows] = await ctx.read(
    selectRows(
      ctx.db,
      {
        ...{ id: text, partner_id: text, status: textOf<ClaimStatus>(), order_id: nullable(text), day: nullable(text) },
        ...{ email_domain: nullable(text), note: nullable(text), created_at: text },
        ...{ found: flag, payers: nullable(text), outcome: nullable(textOf<Outcome>()) },
      },
      sql`select c.id, c.partner_id, c.status, c.order_id, c.day, c.email_domain, c.note, c.created_at,
          p.id is not null as found, p.partner_id as payers, p.outcome
        from claims c left join payments p on p.id = c.payment_id
        where c.partner_id = ${partner_id} and +c.program_id = ${ctx.programId}
        order by c.id desc limit ${literal(MAX_CLAIMS_SHOWN)}`,
    ),
  );
  return rows.map(({ found, payers, outcome, ...claim }) => {
    const payment = found === 1 ? { partner_id: payers, outcome } : null;
    return { ...claim, answer: claimAnswer(claim, payment) };
  });
}

export interface ClaimFilter extends PageRequest {
  status?: ClaimStatus | undefined;
  partner_id?: string | undefined;
}

const LIST = pagedList("claims", "claim", claims, viewClaim);

/** The program's claims, newest first. */
export async function listClaims(ctx: Reader, filter: ClaimFilter): Promise<PageOfTexts<ClaimView>> {
  const conditions = and(
    filter.partner_id === undefined
      ? sql`${claims.program_id} = ${ctx.programId}`
      : sql`${claims.partner_id} = ${filter.partner_id} and +${claims.program_id} = ${ctx.programId}`,
    filter.status === undefined ? undefined : eq(claims.status, filter.status),
  );
  const narrowed = filter.partner_id !== undefined;
  const sorts = { partner: byPartner(claims.partner_id), status: byState(claims.status, CLAIM_STATUSES) };
  return readPage(ctx, LIST, filter, { conditions, state: filter.status, narrowed, sorts });
}

/** A claim with the payments that it can match, each with its commissions. */
export interface ClaimWithPayments {
  claim: SaleClaim;
  payments: { payment: Payment; commissions: Commission[] }[];
  /** The current program and partner of the claim. */
  program: Program;
}

/** One claim, in one round trip. */
export async function getClaim(caller: Caller, id: string): Promise<ClaimWithPayments> {
  const [{ program }, [claim], found, rows] = await prove(
    caller,
    selectClaim(caller, id),
    ...selectMatches(caller, id),
  );
  if (!claim) throw notFound("claim");
  return {
    claim,
    program,
    payments: found.map((payment) => ({
      payment,
      commissions: rows.filter(({ payment_id }) => payment_id === payment.id),
    })),
  };
}

export function selectClaim(ctx: Reader, id: string) {
  return ctx.db
    .select()
    .from(claims)
    .where(and(eq(claims.id, id), sql`${claims.program_id} = ${ctx.programId}`))
    .orderBy(desc(claims.id));
}
