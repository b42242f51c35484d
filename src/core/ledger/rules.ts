/** The rules that were in force when a payment was made (PAY-16). */
import { sql } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import { nullable, selectRows, text, whole, type Columns } from "../../db/rows.ts";
import type { Flow } from "../../domain/flow.ts";
import type { Rules } from "../../domain/payment.ts";
import {
  withoutBackdated,
  flowsAt,
  newestApplied,
  rulesAt,
  rulesSince,
  UNPAID_SEEN,
  type PartnerRules,
  type ProgramRules,
  type RuleTime,
} from "../../domain/rules.ts";
import type { Reader } from "../kernel/context.ts";
import type { Payment } from "../kernel/rows.ts";
import type { LedgerState, PastRow } from "./state.ts";

/** The current rules and their past versions. */
export interface KnownRules {
  flows: readonly Flow[];
  past: readonly KeptRow[];
  settings: ProgramRules;
  partners: readonly (PartnerRules & { id: string })[];
}

type KeptRow = ReturnType<typeof parseRules>[number];

/** The rule of a row: a flow has an id, a partner's row has the partner's. */
export function parseRules(past: readonly PastRow[]) {
  return past.map((row) => ({ ...row, rules: JSON.parse(row.rules) as ProgramRules & PartnerRules & Flow }));
}

const PAST_ROW: Columns<PastRow> = {
  ...{ seq: whole, partner_id: text, valid_until: text, rules: text },
  applies_from: nullable(text),
};

/** A select of the rules that decided the `last` newest payments, of the program and of their partners. */
export function selectNewestRules({ db, programId }: Reader, last: number) {
  const changed = (since: "valid_until > s.made" | "seq > s.seen") => sql`select a.seq from since s
    cross join (select '' as id union select partner_id from looked) w
    cross join past_rules a on a.program_id = ${programId} and a.partner_id = w.id and a.${sql.raw(since)}`;
  return selectRows(
    db,
    PAST_ROW,
    sql`with looked as materialized (select partner_id, created_at, rules_seen from payments
        where program_id = ${programId} order by id desc limit ${literal(last)}),
      since as materialized (select min(created_at) as made, min(rules_seen) as seen from looked)
    select seq, partner_id, valid_until, rules, applies_from from past_rules
    where seq in (${changed("valid_until > s.made")} union ${changed("seq > s.seen")})`,
  );
}

/** The newest change when a payment was first reported as paid; `newest` if it is unpaid (`UNPAID_SEEN`). */
export function seenOf({ rules_seen }: Pick<Payment, "rules_seen">, newest = UNPAID_SEEN): number {
  return Math.min(rules_seen, newest);
}

/** The same for a payment with several rows. */
export function firstSeen({ payments, newest }: Pick<LedgerState, "payments" | "newest">): number {
  return Math.min(...payments.map((row) => seenOf(row, newest)));
}

/** The rules in force when the payment was made, with those applied from an earlier time up to `upTo`. */
export function rulesOf(state: KnownRules, time: RuleTime, upTo = Infinity): Rules {
  const past = state.past.filter(({ seq, applies_from }) => applies_from === null || seq <= upTo);
  const ofProgram = past.filter(({ partner_id }) => partner_id === "");
  const ofFlow = (row: (typeof past)[number]) => "id" in row.rules;
  const ofSettings = ofProgram.filter((row) => !ofFlow(row));
  const asSet = rulesAt(time, withoutBackdated(ofSettings), state.settings);
  return {
    // Only a rate or a flow can apply from an earlier time, not other settings or states.
    program: {
      default_commission_pct: rulesAt(time, ofSettings, state.settings).default_commission_pct,
      attribution: asSet.attribution,
      code_precedence: asSet.code_precedence,
    },
    flows: flowsAt(time, ofProgram.filter(ofFlow), state.flows),
    ofPartner: (id) => {
      const partner = state.partners.find((row) => row.id === id);
      if (!partner) throw new Error("a partner that no reference names");
      const own = past.filter(({ partner_id }) => partner_id === id);
      const { commission_pct } = rulesAt<PartnerRules>(time, own, partner);
      const [{ slug, status } = partner, ...since] = rulesSince<PartnerRules>(time, own, partner);
      return { commission_pct, slug, status, hasTurnedActive: since.some((rules) => rules.status === "active") };
    },
    applied: newestApplied(time, past),
  };
}
