/** The rules that were in force when a payment was made (PAY-16). */
import { sql, type SQL } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import { nullable, selectRows, text, whole, type Columns } from "../../db/rows.ts";
import { eventOf, sortFlows, type Flow } from "../../domain/flow.ts";
import type { Rules } from "../../domain/payment.ts";
import {
  columnAt,
  flowsAt,
  newestApplied,
  rulesAt,
  rulesSince,
  UNPAID_SEEN,
  withoutBackdated,
  type GroupRules,
  type PartnerRules,
  type PastRule,
  type ProgramRules,
  type RuleTime,
} from "../../domain/rules.ts";
import { ID_PREFIXES } from "../../lib/id.ts";
import type { Reader } from "../kernel/context.ts";
import { selectActiveFlows } from "../kernel/offer-rows.ts";
import type { Payment } from "../kernel/rows.ts";
import type { LedgerState, PastRow } from "./state.ts";

/** The current rules and their past versions. */
export interface KnownRules {
  flows: readonly Flow[];
  past: readonly KeptRow[];
  settings: ProgramRules;
  partners: readonly (PartnerRules & { id: string })[];
  /** The current rules of the groups that the partners belong to, or belonged to by `past`. */
  groups: readonly GroupRules[];
}

type KeptRow = ReturnType<typeof parseRules>[number];

/** The rule of a row: a flow and a group have an id, a partner's row has the partner's. */
export function parseRules(past: readonly PastRow[]) {
  return past.map((row) => ({
    ...row,
    rules: JSON.parse(row.rules) as ProgramRules & PartnerRules & GroupRules & Flow,
  }));
}

const PAST_ROW: Columns<PastRow> = {
  ...{ seq: whole, partner_id: text, valid_until: text, rules: text },
  applies_from: nullable(text),
};

/** A select of the rules that decided the `last` newest payments, of the program and of their partners. */
export function selectNewestRules(reader: Reader, last: number) {
  return selectRulesSince(
    reader,
    sql`select partner_id, created_at, rules_seen from payments
      where program_id = ${reader.programId} order by id desc limit ${literal(last)}`,
  );
}

/** The same for the payments that `looked` selects, with the ids of the partners whose rules count. */
function selectRulesSince({ db, programId }: Reader, looked: SQL) {
  const changed = (since: "valid_until > s.made" | "seq > s.seen") => sql`select a.seq from since s
    cross join (select '' as id union select partner_id from looked) w
    cross join past_rules a on a.program_id = ${programId} and a.partner_id = w.id and a.${sql.raw(since)}`;
  return selectRows(
    db,
    PAST_ROW,
    sql`with looked as materialized (${looked}),
      since as materialized (select min(created_at) as made, min(rules_seen) as seen from looked)
    select seq, partner_id, valid_until, rules, applies_from from past_rules
    where seq in (${changed("valid_until > s.made")} union ${changed("seq > s.seen")})`,
  );
}

/** An active flow that was added, or switched on, after a payment: it does not decide the payment (PAY-16). */
export interface LaterFlow {
  flow_id: string;
  name: string;
  created_at: string;
}

/** Selects the input of `laterFlows` for the payment that `id` selects: the flows, and their versions since then. */
export function selectLater(reader: Reader, id: SQL) {
  const since = selectRulesSince(
    reader,
    sql`select '' as partner_id, created_at, rules_seen from payments
      where id = ${id} and program_id = ${reader.programId}`,
  );
  return [selectActiveFlows(reader.db, reader.programId), since] as const;
}

/** The flows of today that a payment's rules would have tried, had they been active when it was made. */
export function laterFlows(payment: Payment, current: readonly Flow[], past: readonly PastRow[]): LaterFlow[] {
  const { decision, outcome } = payment;
  const isRuled = (decision !== null && decision.rate !== null) || outcome === "no_flow";
  if (!isRuled || payment.erased_at !== null) return [];
  const time = { occurred_at: payment.created_at, seen: seenOf(payment) };
  const then = flowsAt(time, rulesOfKind("flow", parseRules(past)), current).map(({ id }) => id);
  const later = sortFlows(current).filter((flow) => eventOf(flow) === payment.event && !then.includes(flow.id));
  return later.map(({ id, name, created_at }) => ({ flow_id: id, name, created_at }));
}

/** Past versions of all flows or of all groups. */
function rulesOfKind(kind: "flow" | "group", past: readonly KeptRow[]): KeptRow[] {
  return past.filter(({ rules }) => rules.id?.startsWith(`${ID_PREFIXES[kind]}_`));
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
  const ofKind = (kind: "flow" | "group") => rulesOfKind(kind, ofProgram);
  const ofSettings = ofProgram.filter(({ rules }) => rules.id === undefined);
  const asSet = withoutBackdated(ofSettings);
  const { attribution, code_precedence } = rulesAt<ProgramRules>(time, asSet, state.settings);
  return {
    // Only a rate, a flow or a group's partner can apply from an earlier time, not other settings or states.
    program: {
      default_commission_pct: columnAt("default_commission_pct", time, ofSettings, state.settings),
      ...{ attribution, code_precedence },
      auto_approve_days: columnAt("auto_approve_days", time, asSet, state.settings),
    },
    flows: flowsAt(time, ofKind("flow"), state.flows),
    ofPartner: (id) => {
      const partner = state.partners.find((row) => row.id === id);
      if (!partner) throw new Error("a partner that no reference names");
      const own = past.filter(({ partner_id }) => partner_id === id);
      const commission_pct = columnAt("commission_pct", time, own, partner);
      const group_id = columnAt("group_id", time, own, partner);
      const group = groupAt(time, ofKind("group"), state.groups, group_id);
      const [{ slug, status } = partner, ...since] = rulesSince<PartnerRules>(time, own, partner);
      return { commission_pct, group, slug, status, hasTurnedActive: since.some((one) => one.status === "active") };
    },
    applied: newestApplied(time, past),
  };
}

/** A group's rules when a payment was made. A deleted group's last ones are among `past`. */
function groupAt(
  time: RuleTime,
  past: readonly PastRule<GroupRules>[],
  groups: readonly GroupRules[],
  group_id: string,
): GroupRules | null {
  const own = past.filter(({ rules }) => rules.id === group_id);
  const current = groups.find(({ id }) => id === group_id) ?? own.toSorted((a, b) => b.seq - a.seq)[0]?.rules;
  if (!current) return null;
  const commission_pct = columnAt("commission_pct", time, own, current);
  const hold_days = columnAt("hold_days", time, withoutBackdated(own), current);
  return { id: group_id, slug: current.slug, commission_pct, hold_days };
}
