import { type Context, Hono } from "hono";
import * as z from "zod";
import {
  markMatchingPaid,
  previewMove,
  readMovable,
  type BulkMatch,
  type BulkMove,
} from "../../../../core/payouts/bulk.ts";
import { openBalance } from "../../../../core/payouts/balance.ts";
import { payPayout } from "../../../../core/payouts/pay.ts";
import { cancelPayout, findPayouts, roomForMany } from "../../../../core/payouts/payouts.ts";
import type { Payout } from "../../../../core/kernel/rows.ts";
import { readPartnerNames } from "../../../../core/partners/display-names.ts";
import { sumUp } from "../../../../domain/amount.ts";
import { AppError } from "../../../../lib/errors.ts";
import { iso } from "../../../../lib/time.ts";
import { TRANSFER_SERVICE } from "../../../../providers/registry.ts";
import { payoutMarkPaid } from "../../../api/payouts.ts";
import { connectOf } from "../../../connect.ts";
import { logFailure, requestOf } from "../../../errors.ts";
import { payoutQuery } from "../../../queries.ts";
import type { PageEnv } from "../../../session.ts";
import { sentFields } from "../../act.ts";
import { filterOf, leaveOutUnknown, refuseLeftOut, type Filter } from "../../filters.ts";
import { parseInput, type FormFields, type Problems } from "../../forms.ts";
import { framed } from "../../framed.tsx";
import { capitalized, countText, Money, plural, Sums, sumsText, When } from "../../parts/figures.tsx";
import { Actions, Field, Form, Hidden } from "../../parts/form.tsx";
import { Refused } from "../../parts/notice.tsx";
import { PartnerLink, partnerText } from "../../parts/partner.tsx";
import { payoutMethodText } from "../../parts/payout-method.ts";
import { nearestText, payoutObstacle } from "../../parts/payout-move.ts";
import { Empty, Facts, FirstOf, Table } from "../../parts/table.tsx";
import { withMoved } from "./moved.tsx";

const AT = "/dashboard/payouts";
const PAY_PAGE = `${AT}/pay`;

/** Payouts named at once: the size of a list page. */
const MAX_NAMED = 100;
/** Payouts changed one by one in one request: each takes up to 17 of its 1,000 statements. */
const MAX_AT_ONCE = 50;
/** Payouts that the page lists; the sums cover all. */
const SHOWN = 50;

const MOVES = {
  pay: {
    title: `Pay through ${TRANSFER_SERVICE}?`,
    button: "Send",
    kind: "primary",
    lede: "This transfers the amounts to the partners' connected accounts right away. You cannot reverse transfers here.",
    none: `There is no payout to pay through ${TRANSFER_SERVICE}`,
  },
  mark_paid: {
    title: "Mark as paid?",
    button: "Mark as paid:",
    kind: "primary",
    lede: "Use this after you have paid them another way. The payouts and their commissions become paid. This is final.",
    none: "There is no payout to mark as paid",
  },
  cancel: {
    title: "Cancel payouts?",
    button: "Cancel payouts of",
    kind: "danger",
    lede: "Nothing is paid. Their commissions go into the next payouts.",
    none: "There is no payout to cancel",
  },
} as const satisfies Record<BulkMove, object>;

const PARAMETERS = [...Object.keys(payoutQuery.shape), "move", "ids", "via"];

/** The address of the page that asks before all payouts of a filter are changed. */
export function matchingUrl(move: BulkMove, filter: Record<string, string>, via?: "pay"): string {
  return `${AT}/matching?${new URLSearchParams({ move, ...filter, ...(via ? { via } : {}) }).toString()}`;
}

type ListFilter = Filter<z.output<typeof payoutQuery>>;

interface Asked {
  move: BulkMove;
  filter: ListFilter;
  match: BulkMatch;
  /** The chosen payouts; empty if all of the filter are meant. */
  ids: string[];
  back: string;
}

/** `/dashboard/payouts/matching`: changes many payouts, always after their number and sum (PAGE-37). */
export const payoutMatching = new Hono<PageEnv>()
  .get("/", (c) => confirmPage(c, askedIn(c, c.req.queries("ids") ?? [])))
  .post("/", async (c) => {
    const fields = await sentFields(c);
    const asked = askedIn(c, fields.all("ids"));
    refuseLeftOut(c);
    const parsed = parseInput(confirmed, {
      ...{ reference: fields.textOrNull("reference"), seen_at: fields.text("seen_at") },
    });
    if (!parsed.ok) return confirmPage(c, asked, { problems: parsed.problems, fields });
    const result = await moveAll(c, asked, parsed.value);
    if ("refused" in result) {
      return confirmPage(c, asked, { problems: { message: result.refused, fields: {}, status: 409 }, fields });
    }
    return c.redirect(withMoved(asked.back, { moved: asked.move, at: c.var.ctx.now, left: result.left }), 303);
  });

const confirmed = payoutMarkPaid.extend({ seen_at: z.iso.datetime() });

function askedIn(c: Context<PageEnv>, named: readonly string[]): Asked {
  leaveOutUnknown(c, PARAMETERS);
  const filter = filterOf(c, payoutQuery);
  const move = c.req.query("move") ?? "";
  const ids = [...new Set(named.flatMap((text) => text.split(",")).filter(Boolean))].slice(0, MAX_NAMED);
  const { per_page: _, ...texts } = filter.texts;
  const list = Object.keys(texts).length === 0 ? AT : `${AT}?${new URLSearchParams(texts).toString()}`;
  return {
    move: Object.hasOwn(MOVES, move) ? (move as BulkMove) : "mark_paid",
    filter: { ...filter, texts },
    match: ids.length > 0 ? { ids } : filter.value,
    ids,
    back: c.req.query("via") === "pay" ? PAY_PAGE : list,
  };
}

interface Again {
  problems: Problems;
  fields: FormFields;
}

async function confirmPage(c: Context<PageEnv>, asked: Asked, again?: Again) {
  const { move, ids, back, filter, match } = asked;
  const { ctx, session } = c.var;
  const { program } = session;
  const texts = MOVES[move];
  const most = move === "mark_paid" ? MAX_NAMED : MAX_AT_ONCE;
  const [{ groups, rows }, chosen] = await Promise.all([
    previewMove(ctx, match, move, most),
    ids.length > 0 ? findPayouts(ctx, ids) : [],
  ]);
  const names = await readPartnerNames(ctx, [
    filter.value.partner_id ?? null,
    ...[...rows, ...chosen].map(({ partner_id }) => partner_id),
  ]);
  const blocked = move === "pay" && rows[0] ? payoutObstacle(move, rows[0], program) : null;
  const all = blocked !== null ? 0 : groups.reduce((sum, { count }) => sum + count, 0);
  const isPart = move !== "mark_paid" && all > most;
  const [count, sums] = isPart ? [rows.length, sumUp(rows, program)] : [all, sumUp(groups, program)];
  const left = isPart ? [] : chosen.filter(({ id }) => !rows.some((row) => row.id === id));
  const none = [blocked, ...left.map((payout) => payoutObstacle(move, payout, program))];
  const facts = ids.length > 0 ? [] : filterFacts(filter, names);
  return framed(
    c,
    {
      ...{ title: texts.title, at: AT, problems: again?.problems },
      head: {
        back: { href: back, label: back === PAY_PAGE ? "Pay" : "Payouts" },
        ...(count === 0 ? {} : { lede: texts.lede }),
      },
    },
    count === 0 ? (
      <NothingToChange {...{ none, back }} title={texts.none} problems={again?.problems} />
    ) : (
      <>
        <Form
          action={hrefOf(asked)}
          class="card stack form-narrow"
          problems={again?.problems}
          values={again?.fields ?? null}
        >
          {ids.length > 0 || facts.length > 0 ? null : <p>No filter is set: this includes every payout.</p>}
          <Facts
            rows={[
              ...facts,
              ["Payouts", isPart ? `${countText(count)} of ${countText(all)} now` : countText(count)],
              ["Together", <Sums of={sums} />],
              ...methodFacts(groups),
              left.length === 0
                ? null
                : ["Left out", `${plural(left.length, "chosen payout")}, by status, method or hold`],
            ]}
          />
          <Hidden values={{ seen_at: iso(c.var.now) }} />
          {ids.length > 0 ? rows.map(({ id }) => <input type="hidden" name="ids" value={id} />) : null}
          {move === "mark_paid" ? <ReferenceField count={count} /> : null}
          <p class="muted small">Payouts that change before you confirm are skipped.</p>
          <Actions
            submit={`${texts.button} ${sumsText(sums)}`}
            kind={texts.kind}
            cancel={{ href: back, label: "Back" }}
          />
        </Form>
        <ToChange {...{ c, move, rows, count, names }} />
      </>
    ),
  );
}

interface NothingToChangeProps {
  title: string;
  none: readonly (string | null)[];
  back: string;
  problems: Problems | undefined;
}

function NothingToChange({ title, none, back, problems }: NothingToChangeProps) {
  return (
    <>
      <Refused problems={problems} />
      <section class="card flush">
        <Empty title={title}>
          {noneText(none)}
          <a href={back}>Back</a>
        </Empty>
      </section>
    </>
  );
}

function ReferenceField({ count }: { count: number }) {
  return (
    <Field
      name="reference"
      label={count === 1 ? "Reference" : "Reference for all of them"}
      maxlength={200}
      hint="Your reference for the payment, such as a transfer number."
    />
  );
}

interface ToChangeProps {
  c: Context<PageEnv>;
  move: BulkMove;
  /** The first of them. */
  rows: readonly Payout[];
  count: number;
  names: Awaited<ReturnType<typeof readPartnerNames>>;
}

function ToChange({ c, move, rows, count, names }: ToChangeProps) {
  return (
    <section class="card flush">
      <h2>{plural(count, "payout")}</h2>
      <Table
        label="Payouts to change"
        columns={[{ label: "Partner" }, { label: "Paid by" }, { label: "Prepared" }, { label: "Amount", align: "end" }]}
        rows={rows.slice(0, SHOWN).map((payout) => [
          <PartnerLink partner={names.get(payout.partner_id)} />,
          payoutMethodText(payout.method),
          <When at={payout.created_at} only="day" />,
          <span>
            <Money of={payout} />
            {move === "pay" ? <Second text={nearestText(payout, connectOf(c.env))} /> : null}
          </span>,
        ])}
      />
      <FirstOf shown={SHOWN} count={count} />
    </section>
  );
}

function Second({ text }: { text: string | null }) {
  return text === null ? null : <span class="second">{text}</span>;
}

/** The address that the form is sent to; the chosen payouts are in its body. */
function hrefOf({ move, filter, back }: Asked): string {
  return matchingUrl(move, filter.texts, back === PAY_PAGE ? "pay" : undefined);
}

function noneText(obstacles: readonly (string | null)[]) {
  const [why] = obstacles.filter((text) => text !== null);
  return why === undefined ? null : <p>{why}</p>;
}

function methodFacts(groups: Awaited<ReturnType<typeof previewMove>>["groups"]): [string, string][] {
  const byMethod = Map.groupBy(groups, ({ method }) => method);
  return byMethod.size < 2
    ? []
    : [...byMethod].map(([method, rows]) => [
        payoutMethodText(method),
        plural(
          rows.reduce((sum, { count }) => sum + count, 0),
          "payout",
        ),
      ]);
}

/** A filter in words. */
function filterFacts(
  { value, texts }: ListFilter,
  names: Awaited<ReturnType<typeof readPartnerNames>>,
): [string, string][] {
  const partner = value.partner_id === undefined ? undefined : names.get(value.partner_id);
  const facts: [string, string | undefined][] = [
    ["Status", value.status && capitalized(value.status)],
    ["Paid by", value.method && payoutMethodText(value.method)],
    ["Currency", value.currency],
    ["Partner", partner ? partnerText(partner) : value.partner_id],
    ["From", texts["from"]],
    ["To", texts["to"]],
  ];
  return facts.flatMap(([name, text]) => (text === undefined ? [] : [[name, text]]));
}

/** `left`: the ids of those that were not changed. */
type Result = { left: string[] } | { refused: string };

async function moveAll(c: Context<PageEnv>, asked: Asked, given: z.output<typeof confirmed>): Promise<Result> {
  const { move, match, ids } = asked;
  const { seen_at, reference = null } = given;
  if (move === "mark_paid") {
    const paid = new Set(await markMatchingPaid(c.var.ctx, match, { reference, seen_at }));
    return { left: ids.filter((id) => !paid.has(id)) };
  }
  const rows = await readMovable(c.var.ctx, match, move, { seen_at, most: MAX_AT_ONCE });
  const found = new Set(rows.map(({ id }) => id));
  const result = await moveEach(c, move, rows);
  return "left" in result ? { left: [...ids.filter((id) => !found.has(id)), ...result.left] } : result;
}

/**
 * Moves payouts one by one. A refusal of one does not affect the others; any other error ends it, and the rest is
 * left. If each was refused for one reason, that is the answer.
 */
async function moveEach(c: Context<PageEnv>, move: "pay" | "cancel", rows: readonly Payout[]): Promise<Result> {
  const left: string[] = [];
  const reasons = new Set<string>();
  const transfers = connectOf(c.env);
  const balance = openBalance(transfers);
  const room = roomForMany();
  for (const [at, { id }] of rows.entries()) {
    try {
      const { status } = await (move === "pay"
        ? payPayout(c.var.ctx, id, transfers, balance)
        : cancelPayout(c.var.ctx, id, room));
      if (status === "failed") left.push(id);
    } catch (error) {
      if (error instanceof AppError) {
        left.push(id);
        reasons.add(error.message);
        continue;
      }
      if (at === 0) throw error;
      logFailure(error, requestOf(c));
      left.push(...rows.slice(at).map((row) => row.id));
      break;
    }
  }
  const [only] = reasons;
  return reasons.size === 1 && left.length === rows.length && only !== undefined ? { refused: only } : { left };
}
