/** Selects, among states that look alike, those closest to the service's order of rule changes. */
import type { PlayedDatabase } from "../../src/dev/stand-in/database.ts";
import type { Remembered } from "./model-facts.ts";
import type { Change, State } from "./model-state.ts";

interface StoredChange {
  seq: number;
  valid_until: string;
  what: string;
  is_applied: number;
}

/** A partner's name in the model, even if the slug has changed. */
export const FIRST_SLUG = "replace(p.email, '@partners.example', '')";

/** A change and its second. */
type Moment = string;

const STORED = `select r.seq, r.valid_until, r.applies_from is not null as is_applied,
    coalesce(${FIRST_SLUG}, r.rules ->> 'name', 'the program''s') as what
  from past_rules r left join partners p on p.id = r.partner_id where r.program_id = ? order by r.seq`;

const SEEN = "select provider_transaction_id as key, rules_seen as seen from payments where program_id = ?";

const IMPORTED = `select replace(fact_id, 'import:customer:', '') as key, occurred_at as at from facts
  where program_id = ? and fact_id like 'import:customer:%'`;

const APPROVED =
  "select id as key, approved_at as at from commissions where program_id = ? and approved_at is not null";

/** Lists show only the gravest. */
const FLAGGED = "select id as key, review_reasons as reasons from commissions where program_id = ?";

/** The last word about a partner's commission of a payment, which no list shows once the commission is another's. */
const JUDGED = `select s.provider_transaction_id || ' ' || ${FIRST_SLUG} as key, d.kind as last, max(d.id) from decisions d
  join payments s on s.id = d.subject join partners p on p.id = d.partner_id
  where d.program_id = ? and d.commission_kind = 'sale' and d.kind in ('approve', 'reject', 'reopen') group by key`;

const WORDS = { pending: "reopen", approved: "approve", rejected: "reject" } as const;

/** As the service stored it. */
interface History {
  changes: Moment[];
  /** Keyed by payment: the last change before its first report as paid. */
  seen: Map<string, Moment | undefined>;
  /** Times by customer, and by commission. */
  imported: Map<string, number>;
  approved: Map<string, number>;
  /** Reasons by commission, comma-separated. */
  flagged: Map<string, string>;
  /** Keyed by payment and partner. */
  judged: Map<string, string>;
}

/**
 * Which of several changes was first, which a payment was first heard of as paid after, and when something was done that had to
 * be asked for again, shows nowhere until something later meets it. Without this, states that differ in nothing else
 * would grow in number with every step.
 */
export function bestKnown(states: readonly State[], database: PlayedDatabase, program_id: string): State[] {
  if (states.length < 2) return [...states];
  const history = historyIn(database, program_id);
  const scored = states.map((state) => ({ state, score: scoreOf(state, history) }));
  const best = Math.max(...scored.map(({ score }) => score));
  return scored.filter(({ score }) => score === best).map(({ state }) => state);
}

function historyIn(database: PlayedDatabase, program_id: string): History {
  const stored = database.look<StoredChange>(STORED, program_id);
  const changes = stored.map(({ what, valid_until, is_applied }) =>
    momentOf(what, Date.parse(valid_until), is_applied === 1),
  );
  const lastBefore = (seen: number) => changes[stored.findLastIndex(({ seq }) => seq <= seen)];
  const payments = database.look<{ key: string; seen: number }>(SEEN, program_id);
  const times = (sql: string) =>
    new Map(
      database
        .look<{ key: string; at: string }>(sql, program_id)
        .map(({ key, at }): [string, number] => [key, Date.parse(at)]),
    );
  return {
    changes,
    seen: new Map(payments.map(({ key, seen }) => [key, lastBefore(seen)])),
    imported: times(IMPORTED),
    approved: times(APPROVED),
    flagged: new Map(
      database.look<{ key: string; reasons: string }>(FLAGGED, program_id).map(({ key, reasons }) => [key, reasons]),
    ),
    judged: new Map(
      database.look<{ key: string; last: string }>(JUDGED, program_id).map(({ key, last }) => [key, last]),
    ),
  };
}

/** How much of a state is as it was stored. */
function scoreOf({ changes, sales, remembered, rows, judgements }: State, history: History): number {
  const own = changes.map(momentOfChange);
  const heard = Object.entries(sales).filter(
    ([key, sale]) => sale.heard !== null && own[sale.heard - 1] === history.seen.get(key),
  );
  const imports = remembered.filter(({ imported }) => imported === true);
  const away = ({ customer, at }: Remembered) => Math.abs((history.imported.get(customer ?? "") ?? 0) - at);
  const right = imports.filter((one) => away(one) < 1_000);
  const exact = imports.filter((one) => away(one) === 0);
  const approved = rows.filter(
    (row) => row.approved !== null && secondOf(history.approved.get(row.id ?? "") ?? 0) === secondOf(row.approved),
  );
  const flagged = rows.filter(({ id, reasons }) => history.flagged.get(id ?? "") === reasons.join());
  const judged = Object.entries(judgements).filter(
    ([key, { status }]) => WORDS[status] === (history.judged.get(key) ?? "reopen"),
  );
  const asImported = 2 * right.length - imports.length + exact.length;
  return (
    commonLength(own, history.changes) + heard.length + asImported + approved.length + flagged.length + judged.length
  );
}

function momentOfChange({ at, undo, applies }: Change): Moment {
  return momentOf(applies?.[0] ?? undo.flow?.[0] ?? undo.partner?.[0] ?? "the program's", at, applies !== undefined);
}

function momentOf(what: string, at: number, isApplied: boolean): Moment {
  return `${what} ${secondOf(at)} ${isApplied}`;
}

function secondOf(at: number): number {
  return Math.floor(at / 1_000);
}

/** The length of the longest sequence that both contain in this order. */
function commonLength(one: readonly Moment[], other: readonly Moment[]): number {
  let lengths = Array.from({ length: other.length + 1 }, () => 0);
  for (const moment of one) {
    const next = [0];
    for (const [i, candidate] of other.entries()) {
      next.push(moment === candidate ? lengths[i]! + 1 : Math.max(lengths[i + 1]!, next[i]!));
    }
    lengths = next;
  }
  return lengths.at(-1)!;
}
