import { type Context, Hono } from "hono";
import type { Payout } from "../../../../core/kernel/rows.ts";
import { readPartnerNames } from "../../../../core/partners/display-names.ts";
import { payPayout } from "../../../../core/payouts/pay.ts";
import { getPayouts, markPayoutPaid } from "../../../../core/payouts/payouts.ts";
import { sumUp } from "../../../../domain/amount.ts";
import { AppError } from "../../../../lib/errors.ts";
import { payoutMarkPaid } from "../../../api/payouts.ts";
import { connectOf } from "../../../connect.ts";
import { logFailure, requestOf } from "../../../errors.ts";
import type { PageEnv } from "../../../session.ts";
import { type FormFields, parseInput, problemText } from "../../forms.ts";
import { framed } from "../../framed.tsx";
import { Field, Form } from "../../parts/form.tsx";
import { Badge, Money, plural, sumsText } from "../../parts/figures.tsx";
import { Notice } from "../../parts/notice.tsx";
import { PartnerLink } from "../../parts/partner.tsx";
import { payoutMethodText } from "../../parts/payout-method.ts";
import { isOffered, nearestText, payoutObstacle } from "../../parts/payout-move.ts";
import { Table } from "../../parts/table.tsx";
import { TRANSFER_SERVICE } from "../../../../providers/registry.ts";
import { sentFields } from "../../act.ts";

const AT = "/dashboard/payouts";

type Move = "mark_paid" | "pay";

/** The size of a list page; for transfers, the most provider calls of one request. */
export const MAX_CHOSEN: Record<Move, number> = { mark_paid: 100, pay: 50 };

/** `/dashboard/payouts/chosen`: changes several payouts at once, after a confirmation of payouts and sum. */
export const payoutChosen = new Hono<PageEnv>()
  .post("/", async (c) => {
    const chosen = chosenIn(await sentFields(c));
    if (!chosen)
      return problemPage(c, `Choose one to ${MAX_CHOSEN.mark_paid} payouts first, or to pay one to ${MAX_CHOSEN.pay}.`);
    const { move, ids } = chosen;
    const found = await getPayouts(c.var.ctx, ids);
    const names = await readPartnerNames(
      c.var.ctx,
      found.map(({ partner_id }) => partner_id),
    );
    const possible = found.filter((payout) => isOffered(move, payout, c.var.session.program));
    if (possible.length === 0)
      return problemPage(
        c,
        move === "pay"
          ? (found.map((payout) => payoutObstacle(move, payout, c.var.session.program)).find((text) => text !== null) ??
              `None of the chosen payouts is to be paid through ${TRANSFER_SERVICE}.`)
          : "None of the chosen payouts can be marked as paid.",
      );
    const left = found.length - possible.length;
    const title = move === "pay" ? `Pay through ${TRANSFER_SERVICE}?` : "Mark as paid?";
    return framed(
      c,
      {
        title,
        at: AT,
        head: {
          back: { href: AT, label: "Payouts" },
          lede:
            move === "pay"
              ? "This transfers the amounts to the partners' connected accounts right away. You cannot reverse transfers here."
              : "Use this after you have paid them another way. The payouts and their commissions become paid. This is final.",
        },
      },
      <>
        {left > 0 ? (
          <Notice tone="warn">
            <p>{plural(left, "chosen payout")} cannot be changed this way and stays unchanged.</p>
          </Notice>
        ) : null}
        <Form action={`${AT}/chosen/confirmed`} class="stack">
          <input type="hidden" name="move" value={move} />
          {possible.map(({ id }) => (
            <input type="hidden" name="ids" value={id} />
          ))}
          {move === "mark_paid" ? (
            <div class="form-narrow">
              <Field name="reference" label="Reference for all of them" maxlength={200} />
            </div>
          ) : null}
          <div class="actions">
            <button type="submit" class="primary">
              {move === "pay" ? "Send" : "Mark as paid:"} {sumsText(sumUp(possible, c.var.session.program))}
            </button>
            <a href={AT}>Back</a>
          </div>
          <div class="card flush">
            <Chosen
              payouts={possible}
              names={names}
              nearest={(payout) => (move === "pay" ? nearestText(payout, connectOf(c.env)) : null)}
            />
          </div>
        </Form>
      </>,
    );
  })
  .post("/confirmed", async (c) => {
    const fields = await sentFields(c);
    const chosen = chosenIn(fields);
    const parsed = parseInput(payoutMarkPaid, { reference: fields.textOrNull("reference") });
    if (!chosen) return problemPage(c, "Nothing was chosen.");
    if (!parsed.ok) return problemPage(c, problemText(parsed.problems));
    const reference = parsed.value.reference ?? null;
    return resultPage(c, chosen, await moveAll(c, chosen, reference));
  });

/** The results of the chosen payouts: the sum of the paid ones, and the reason for each other. */
async function resultPage(c: Context<PageEnv>, { move }: Selection, results: readonly Result[]) {
  const { ctx, session } = c.var;
  const found = results.flatMap(({ id, isFound }) => (isFound ? [id] : []));
  // Show the results even if the payouts cannot be read any more.
  const read = await getPayouts(ctx, found).catch(() => []);
  const payouts = new Map(read.map((payout) => [payout.id, payout]));
  const of = (isOk: boolean) => results.filter(({ ok }) => ok === isOk);
  const [done, refused] = [of(true), of(false)];
  const moved = done.flatMap(({ id }) => payouts.get(id) ?? []);
  const left = refused.map((result) => ({ ...result, payout: payouts.get(result.id) }));
  const names = await readPartnerNames(
    ctx,
    left.map(({ payout }) => payout?.partner_id ?? null),
  );
  const sums = moved.length === 0 ? "" : `: ${sumsText(sumUp(moved, session.program))}`;
  const verb = move === "pay" ? "sent" : "paid";
  return framed(
    c,
    {
      title: "Payouts",
      at: AT,
      head: { title: `${plural(done.length, "payout")} ${verb}${sums}`, back: { href: AT, label: "Payouts" } },
    },
    <>
      <p>
        <a class="button" href={`${AT}?status=pending`}>
          Pending payouts
        </a>
      </p>
      {left.length === 0 ? null : (
        <section class="card flush spaced">
          <h2>Not {verb}</h2>
          <Table
            label={`Payouts that were not ${verb}`}
            columns={[{ label: "Partner" }, { label: "Why" }, { label: "Amount", align: "end" }]}
            rows={left.map(({ id, payout, said }) => [
              <PartnerLink partner={payout && names.get(payout.partner_id)} />,
              <a href={`${AT}/${id}`}>{said}</a>,
              payout ? <Money of={payout} /> : "–",
            ])}
          />
        </section>
      )}
    </>,
  );
}

interface ChosenProps {
  payouts: readonly Payout[];
  names: Awaited<ReturnType<typeof readPartnerNames>>;
  nearest: (payout: Payout) => string | null;
}

function Chosen({ payouts, names, nearest }: ChosenProps) {
  return (
    <Table
      label="Chosen payouts"
      columns={[{ label: "Partner" }, { label: "Method" }, { label: "Status" }, { label: "Amount", align: "end" }]}
      rows={payouts.map((payout) => [
        <PartnerLink partner={names.get(payout.partner_id)} />,
        payoutMethodText(payout.method),
        <Badge state={payout.status} />,
        <span>
          <Money of={payout} />
          <Second text={nearest(payout)} />
        </span>,
      ])}
    />
  );
}

function Second({ text }: { text: string | null }) {
  return text === null ? null : <span class="second">{text}</span>;
}

interface Result {
  id: string;
  ok: boolean;
  said: string;
  /** Whether the payout exists in the program. */
  isFound: boolean;
}

/** Moves payouts one by one: each transfer settles alone. An error other than a refusal ends it; results still show. */
async function moveAll(c: Context<PageEnv>, { move, ids }: Selection, reference: string | null): Promise<Result[]> {
  const results: Result[] = [];
  for (const [at, id] of ids.entries()) {
    try {
      results.push(await moveOne(c, move, id, reference));
    } catch (error) {
      if (at === 0) throw error;
      logFailure(error, requestOf(c));
      const left = ids
        .slice(at + 1)
        .map((one) => ({ id: one, ok: false, said: "Not started. Choose it again.", isFound: true }));
      const said = "We do not know whether this was done. Check it first.";
      return [...results, { id, ok: false, said, isFound: true }, ...left];
    }
  }
  return results;
}

async function moveOne(c: Context<PageEnv>, move: Move, id: string, reference: string | null): Promise<Result> {
  try {
    const payout =
      move === "pay"
        ? await payPayout(c.var.ctx, id, connectOf(c.env))
        : await markPayoutPaid(c.var.ctx, id, reference);
    return { id, ok: payout.status !== "failed", said: payout.failure_message ?? payout.status, isFound: true };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const said = error.details?.map(({ message }) => message).join(" ") ?? error.message;
    return { id, ok: false, said, isFound: error.code !== "not_found" };
  }
}

interface Selection {
  move: Move;
  ids: string[];
}

function chosenIn(fields: FormFields): Selection | null {
  const move = fields.text("move");
  const ids = [...new Set(fields.all("ids"))];
  if ((move !== "pay" && move !== "mark_paid") || ids.length === 0 || ids.length > MAX_CHOSEN[move]) return null;
  return { move, ids };
}

function problemPage(c: Context<PageEnv>, message: string) {
  return framed(
    c,
    {
      title: "Payouts",
      at: AT,
      status: 422,
      head: { title: "Nothing was changed", back: { href: AT, label: "Payouts" } },
    },
    <>
      <Notice tone="bad">
        <p>{message}</p>
      </Notice>
    </>,
  );
}
