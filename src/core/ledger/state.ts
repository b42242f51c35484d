import { orNull, percent, text, textOf, type Columns } from "../../db/rows.ts";
import type { Decided } from "../../domain/decision.ts";
import type { Fact } from "../../domain/fact.ts";
import type { PartnerStatus } from "../../domain/partner.ts";
import type { LedgerPartner } from "../../domain/payment.ts";
import type { PartnerRules, PastRule, ProgramRules } from "../../domain/rules.ts";
import type { Flow } from "../../domain/flow.ts";
import type { Commission, Payment } from "../kernel/rows.ts";

export interface SaleDecision extends Decided {
  partner_id: string;
}

export const SALE_DECISION: Columns<SaleDecision> = {
  partner_id: text,
  kind: textOf<Decided["kind"]>(),
  detail: orNull(text),
  created_at: text,
};

/** Everything a payment's ledger is made from, as one consistent read. */
export interface LedgerState {
  /** All rows of this one payment; more than one only where a late event joined two. */
  payments: [Payment, ...Payment[]];
  facts: Fact[];
  commissions: Commission[];
  /** Decisions about sales of the payment, in the order taken. */
  decisions: SaleDecision[];
  flows: Flow[];
  /** What rules were, of the program and the partners that are named, as far back as the payment needs. */
  past: PastRow[];
  /** Those of the program as they are, in the same read. */
  settings: ProgramRules;
  partners: NamedPartner[];
}

export type NamedPartner = LedgerPartner & PartnerRules & { slug_key: string };

export const NAMED_PARTNER: Columns<NamedPartner> = {
  id: text,
  slug: text,
  email: text,
  payout_email: orNull(text),
  status: textOf<PartnerStatus>(),
  commission_pct: orNull(percent),
  slug_key: text,
};

export interface PastRow extends PastRule<string> {
  partner_id: string;
  applies_from: string | null;
}
