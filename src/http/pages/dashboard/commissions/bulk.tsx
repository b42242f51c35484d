import { type Context, Hono } from "hono";
import * as z from "zod";
import type { Child } from "../../../jsx.ts";
import {
  previewChosen,
  previewMatching,
  updateCommissions,
  updateMatching,
  type BulkGroup,
  type BulkReport,
} from "../../../../core/commissions/bulk.ts";
import { readPartnerNames } from "../../../../core/partners/display-names.ts";
import { sumUp } from "../../../../domain/amount.ts";
import { AppError } from "../../../../lib/errors.ts";
import { iso } from "../../../../lib/time.ts";
import { commissionBulk } from "../../../api/commissions.ts";
import type { PageEnv } from "../../../session.ts";
import { commissionQuery } from "../../../queries.ts";
import { filterOf, leaveOutUnknown, refuseLeftOut, type Filter } from "../../filters.ts";
import { parseInput, problemText, type FormFields } from "../../forms.ts";
import { framed } from "../../framed.tsx";
import { countText, Flag, plural, Sums, sumsText, When } from "../../parts/figures.tsx";
import { Checkbox, Field, Form, Actions, Hidden } from "../../parts/form.tsx";
import { Notice, Refused } from "../../parts/notice.tsx";
import { Empty, Facts } from "../../parts/table.tsx";
import { COMMISSIONS as AT, filterFacts, type CommissionListFilter } from "./columns.tsx";
import { sentFields } from "../../act.ts";

const MOVES = {
  approve: { status: "approved", verb: "Approve", kind: "primary" },
  reject: { status: "rejected", verb: "Reject", kind: "danger" },
} as const;
type Move = keyof typeof MOVES;

/** `/dashboard/commissions/bulk`: the ticked commissions of a page. */
export const commissionsChosen = new Hono<PageEnv>().post("/", async (c) => {
  const fields = await sentFields(c);
  const status = fields.text("status");
  const reason = (status === "rejected" && fields.text("reason")) || null;
  const back = `${AT}?${new URLSearchParams(fields.text("back")).toString()}`;
  if (status === "") return problemPage(c, back, ["Press the button of your decision."]);
  const parsed = parseInput(commissionBulk, {
    ids: fields.all("ids"),
    status,
    ...(reason === null ? {} : { reason }),
    include_flagged: fields.isTicked("include_flagged"),
  });
  if (!parsed.ok) {
    const problem = fields.all("ids").length === 0 ? "Tick at least one commission first." : parsed.problems.message;
    return problemPage(c, back, [problem]);
  }
  const { ids = [], ...change } = parsed.value;
  if (change.status === "approved" && !fields.has("held_seen")) {
    const groups = (await previewChosen(c.var.ctx, ids, change)).filter(
      ({ flagged }) => change.include_flagged || !flagged,
    );
    if (groups.some(({ held }) => held > 0)) return heldPage(c, { back, ids, groups, fields });
  }
  const seen_at = fields.text("seen_at") || undefined;
  const results = await updateCommissions(c.var.ctx, ids, change, seen_at);
  const refused = results.flatMap((result) => (result.ok ? [] : [result]));
  const flagged = refused.filter(({ error }) => error.code === "flagged").map(({ id }) => id);
  const done = results.length - refused.length;
  if (refused.length > flagged.length) {
    const lines = refused.map(({ id, error }) => `${id}: ${error.message}`);
    return problemPage(c, back, [`${plural(done, "commission")} ${status}; not these:`, ...lines]);
  }
  if (flagged.length === 0) return c.redirect(`${back}&bulk=${change.status}&count=${done}`, 303);
  return leftOutPage(c, { back, done, status, reason, flagged, seen_at });
});

interface Held {
  back: string;
  ids: string[];
  /** Those that would be approved. */
  groups: BulkGroup[];
  fields: FormFields;
}

/** Asks before ticked commissions on hold are approved (COM-6). */
function heldPage(c: Context<PageEnv>, { back, ids, groups, fields }: Held) {
  const held = heldOf(groups);
  const count = countOf(groups);
  const title = "Approve before the hold ends?";
  return framed(
    c,
    { title, at: AT, head: { back: { href: back, label: "Back to the commissions" } } },
    <Form action={`${AT}/bulk`} class="card stack form-narrow">
      <p>
        {countText(held.count)} of {plural(count, "commission")} {held.count === 1 ? "is" : "are"}{" "}
        <HeldText held={held} />
      </p>
      <Facts rows={[["Together", <Sums of={sumUp(groups, c.var.session.program)} />]]} />
      <Hidden
        values={{
          ...{ back: fields.text("back"), seen_at: fields.text("seen_at"), status: "approved", held_seen: "yes" },
          include_flagged: fields.text("include_flagged"),
        }}
      />
      {ids.map((id) => (
        <input type="hidden" name="ids" value={id} />
      ))}
      <Actions submit={`Approve ${plural(count, "commission")}`} cancel={{ href: back, label: "Back" }} />
    </Form>,
  );
}

interface LeftOut {
  back: string;
  done: number;
  status: string;
  reason: string | null;
  /** The ids of flagged commissions. */
  flagged: string[];
  seen_at: string | undefined;
}

/** Lists the flagged commissions among the ticked ones, with the button to change them anyway. */
function leftOutPage(c: Context<PageEnv>, { back, done, status, reason, flagged, seen_at }: LeftOut) {
  const verb = status === MOVES.reject.status ? "Reject" : "Approve";
  return framed(
    c,
    {
      title: "Commissions",
      at: AT,
      head: {
        title: done === 0 ? "Nothing was changed" : `${plural(done, "commission")} ${status}`,
        back: { href: back, label: "Back to the commissions" },
      },
    },
    <>
      <section class="card stack form-narrow">
        <p>
          <Flag label={`${countText(flagged.length)} flagged`} /> {flagged.length === 1 ? "It was" : "They were"} left
          out: flagged commissions need a review.
        </p>
        <ul class="plain-list">
          {flagged.map((id) => (
            <li>
              <a href={`${AT}/${id}`}>
                <code>{id}</code>
              </a>
            </li>
          ))}
        </ul>
        <Form action={`${AT}/bulk`} class="actions">
          <Hidden
            values={{
              ...{ back: back.slice(back.indexOf("?") + 1), status, include_flagged: "yes" },
              ...{ reason: reason ?? "", seen_at: seen_at ?? "" },
            }}
          />
          {flagged.map((id) => (
            <input type="hidden" name="ids" value={id} />
          ))}
          <button type="submit" class="danger">
            {verb} the flagged {flagged.length === 1 ? "one" : "ones"} too
          </button>
          <a href={back}>Leave {flagged.length === 1 ? "it" : "them"}</a>
        </Form>
      </section>
    </>,
  );
}

const count = z.coerce.number().int().min(0);

/** The previous page: its time, its flagged and unflagged commissions, and the progress by then. */
const confirmed = z.object({ seen_at: z.iso.datetime(), plain: count, flagged: count, done: count });

/** `/dashboard/commissions/matching`: all commissions that match a filter, always with their number and sum first. */
export const commissionsMatching = new Hono<PageEnv>()
  .get("/", (c) => confirmPage(c, moveOf(c)))
  .post("/", async (c) => {
    const move = moveOf(c);
    const fields = await sentFields(c);
    const filter = matchingOf(c);
    refuseLeftOut(c);
    const status = MOVES[move].status;
    const reason = (move === "reject" && fields.text("reason")) || null;
    const include_flagged = fields.isTicked("include_flagged") ?? false;
    const given = confirmed.safeParse({
      ...{ seen_at: fields.text("seen_at"), done: fields.text("done") || 0 },
      ...{ plain: fields.given("plain"), flagged: fields.given("flagged") },
    });
    const parsed = parseInput(commissionBulk, { filter: {}, status, ...(reason === null ? {} : { reason }) });
    if (!given.success) return confirmPage(c, move, "Please check the numbers again.");
    if (!parsed.ok) return confirmPage(c, move, problemText(parsed.problems));
    const { seen_at, plain, flagged } = given.data;
    const report = await updateMatching(
      c.var.ctx,
      filter.value,
      { status, reason: parsed.value.reason, include_flagged },
      { clock: Date.now, seen: { at: seen_at, count: include_flagged ? plain + flagged : plain } },
    ).catch((error: unknown) => {
      if (error instanceof AppError && error.code === "invalid_transition") return error.message;
      throw error;
    });
    if (typeof report === "string") return confirmPage(c, move, `${report} Please check the numbers again.`);
    const done = given.data.done + report.changed;
    if (report.remaining > 0) {
      return goOnPage(c, { move, filter, report, done, reason, include_flagged, seen_at });
    }
    const query = new URLSearchParams({ ...filter.texts, bulk: status, count: String(done) });
    return c.redirect(`${AT}?${query.toString()}`, 303);
  });

function matchingOf(c: Context<PageEnv>): Filter<z.output<typeof commissionQuery>> {
  leaveOutUnknown(c, [...Object.keys(commissionQuery.shape), "move"]);
  return filterOf(c, commissionQuery);
}

function moveOf(c: Context<PageEnv>): Move {
  return c.req.query("move") === "reject" ? "reject" : "approve";
}

function matchingUrl(move: Move, filter: CommissionListFilter): string {
  return `${AT}/matching?${new URLSearchParams({ move, ...filter.texts }).toString()}`;
}

function flaggedUrl(filter: CommissionListFilter): string {
  return `${AT}?${new URLSearchParams({ ...filter.texts, flagged: "true" }).toString()}`;
}

function backUrl(filter: CommissionListFilter): string {
  return `${AT}?${new URLSearchParams(filter.texts).toString()}`;
}

function NothingToDo({ matched, filter, status }: { matched: number; filter: CommissionListFilter; status: string }) {
  return matched === 0 ? (
    <Empty title="No commission matches">
      <a href={AT}>Show all commissions</a>
    </Empty>
  ) : (
    <Empty title={`None of those that match can be ${status}`}>
      <a href={backUrl(filter)}>Review matching commissions</a>
    </Empty>
  );
}

async function confirmPage(c: Context<PageEnv>, move: Move, problem?: string) {
  const filter = matchingOf(c);
  const { verb, kind, status } = MOVES[move];
  const { matched, groups } = await previewMatching(c.var.ctx, filter.value, { status });
  const names = await readPartnerNames(c.var.ctx, [filter.value.partner_id ?? null]);
  const { program } = c.var.session;
  const [plain, flagged] = [groups.filter((row) => !row.flagged), groups.filter((row) => row.flagged)];
  const [count, held] = [countOf(plain), countOf(flagged)];
  const facts = filterFacts(filter, names);
  const problems = problem === undefined ? undefined : { message: problem, fields: {} };
  return framed(
    c,
    {
      ...{ title: `${verb} all that match`, at: AT, problems },
      head: { back: { href: backUrl(filter), label: "Commissions" } },
    },
    <>
      <Refused problems={problems} />
      <Form action={matchingUrl(move, filter)} class="card stack form-narrow">
        {facts.length === 0 ? <p>No filter is set: this includes every commission.</p> : <Facts rows={facts} />}
        {count + held === 0 ? (
          <NothingToDo matched={matched} filter={filter} status={status} />
        ) : (
          <>
            <Facts
              rows={[
                ["Match", plural(matched, "commission")],
                [`To ${verb.toLowerCase()}`, plural(count || held, "commission")],
                ["Together", <Sums of={sumUp(count === 0 ? flagged : plain, program)} />],
                move === "approve" ? heldFact(count === 0 ? flagged : plain) : null,
                held === 0
                  ? null
                  : [
                      <Flag label="flagged" />,
                      count === 0 ? (
                        <>
                          All of them. <a href={flaggedUrl(filter)}>Review them first</a>
                        </>
                      ) : (
                        `${plural(held, "commission")}, left out`
                      ),
                    ],
              ]}
            />
            {held === 0 ? null : count === 0 ? (
              <Hidden values={{ include_flagged: "yes" }} />
            ) : (
              <IncludeFlagged verb={verb} held={held} sum={sumsText(sumUp(flagged, program))} filter={filter} />
            )}
            {move === "reject" ? (
              <Field name="reason" label="Reason" maxlength={500} hint="Partners see this." />
            ) : null}
            <Hidden values={{ seen_at: iso(c.var.now), plain: String(count), flagged: String(held) }} />
            <p class="muted small">Commissions that change before you confirm are skipped.</p>
            <Actions
              submit={`${verb} ${count === 0 ? plural(held, "flagged commission") : plural(count, "commission")}`}
              kind={count === 0 ? "danger" : kind}
              cancel={{ href: backUrl(filter), label: "Back" }}
            />
          </>
        )}
      </Form>
    </>,
  );
}

/** The number of commissions that are approved before their hold ends (COM-6). */
function heldFact(groups: readonly Pick<BulkGroup, "held" | "held_until">[]): [string, Child] | null {
  const held = heldOf(groups);
  if (held.count === 0) return null;
  return [
    "On hold",
    <>
      {plural(held.count, "commission")}, <HeldText held={held} />
    </>,
  ];
}

function countOf(groups: readonly BulkGroup[]): number {
  return groups.reduce((sum, { count }) => sum + count, 0);
}

/** The number of commissions on hold, and the end of the last hold. */
function heldOf(groups: readonly Pick<BulkGroup, "held" | "held_until">[]): { count: number; until: string } {
  const until = groups
    .map(({ held_until }) => held_until ?? "")
    .toSorted()
    .at(-1)!;
  return { count: groups.reduce((sum, { held }) => sum + held, 0), until };
}

function HeldText({ held: { count, until } }: { held: { count: number; until: string } }) {
  return (
    <>
      {count === 1 ? "held until" : "held, the last until"} <When at={until} only="day" />
    </>
  );
}

interface IncludeFlaggedProps {
  verb: string;
  held: number;
  sum: string;
  filter: CommissionListFilter;
}

function IncludeFlagged({ verb, held, sum, filter }: IncludeFlaggedProps) {
  return (
    <Checkbox
      name="include_flagged"
      label={`${verb} the flagged ones too: ${plural(held, "commission")}, ${sum}`}
      hint={<a href={flaggedUrl(filter)}>Review them first</a>}
    />
  );
}

interface Unfinished {
  move: Move;
  filter: CommissionListFilter;
  report: BulkReport;
  /** Changed so far, in total. */
  done: number;
  reason: string | null;
  include_flagged: boolean;
  seen_at: string;
}

/** The change needs more than one request: finished changes stay, and the next step continues. */
function goOnPage(c: Context<PageEnv>, given: Unfinished) {
  const { move, filter, report, done, reason, include_flagged, seen_at } = given;
  const { verb, status, kind } = MOVES[move];
  return framed(
    c,
    {
      title: `${verb} all that match`,
      at: AT,
      head: {
        title: `${plural(done, "commission")} ${status}, ${countText(report.remaining)} left`,
        back: { href: backUrl(filter), label: "Commissions" },
        lede: "Changes so far are saved. Continue with the rest now or later.",
      },
    },
    <>
      <Form action={matchingUrl(move, filter)} class="actions">
        <Hidden
          values={{ seen_at, plain: String(report.remaining), flagged: "0", done: String(done), reason: reason ?? "" }}
        />
        {include_flagged ? <Hidden values={{ include_flagged: "yes" }} /> : null}
        <button type="submit" class={kind}>
          Go on
        </button>
      </Form>
    </>,
  );
}

function problemPage(c: Context<PageEnv>, back: string, lines: string[]) {
  return framed(
    c,
    {
      title: "Commissions",
      at: AT,
      status: 422,
      head: { title: "Not all commissions were changed", back: { href: back, label: "Back to the commissions" } },
    },
    <>
      <Notice tone="bad">
        {lines.map((line) => (
          <p>{line}</p>
        ))}
      </Notice>
    </>,
  );
}
