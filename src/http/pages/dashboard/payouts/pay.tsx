import { type Context, Hono } from "hono";
import type { Child } from "../../../jsx.ts";
import { connectionOf } from "../../../../core/kernel/connections.ts";
import type { PayoutExport, Program } from "../../../../core/kernel/rows.ts";
import { createExport } from "../../../../core/payouts/exports.ts";
import { readOpenPayouts, type OpenGroup } from "../../../../core/payouts/open.ts";
import type { PartnerName } from "../../../../core/partners/display-names.ts";
import { amountOf, compareCurrencies, sumUp } from "../../../../domain/amount.ts";
import { PAYOUT_METHODS, TRANSFER_METHOD, WALLET_SERVICE } from "../../../../domain/partner.ts";
import { LEFT_OUT_REASONS, type LeftOutReason } from "../../../../domain/payout-export.ts";
import { ID_PATTERN } from "../../../../lib/id.ts";
import { AppError } from "../../../../lib/errors.ts";
import { TRANSFER_SERVICE } from "../../../../providers/registry.ts";
import { exportCreate } from "../../../api/payout-exports.ts";
import type { PageEnv } from "../../../session.ts";
import { act } from "../../act.ts";
import { problemsOf, type Problems } from "../../forms.ts";
import { framed } from "../../framed.tsx";
import { Count, countText, Money, moneyText, plural, sumsText, When } from "../../parts/figures.tsx";
import { Field, Form, Hidden, SelectField } from "../../parts/form.tsx";
import { Notice, Refused } from "../../parts/notice.tsx";
import { payoutMethodText } from "../../parts/payout-method.ts";
import { addedDetailsText } from "../../parts/payout-terms.ts";
import { Empty, Table } from "../../parts/table.tsx";
import { AskButton, askedNotice, PartnersText } from "./ask.tsx";
import { ResultsLink } from "./exports.tsx";
import { fileText, formatsOf, formatText, offeredFormats } from "./formats.ts";
import { matchingUrl } from "./matching.tsx";
import { movedNotice } from "./moved.tsx";
import { providerSettings, SETTINGS } from "../settings/tabs.tsx";

const AT = "/dashboard/payouts";

/** `/dashboard/payouts/pay`: open payouts by method and currency, and the open files (PAGE-36). */
export const payoutPay = new Hono<PageEnv>()
  .get("/", (c) => payPage(c))
  .post("/", (c) =>
    act(c, {
      schema: exportCreate,
      input: (fields) => ({
        ...{ format: fields.text("format"), currency: fields.text("currency") },
        ...(fields.has("retry") ? { retry: true } : {}),
      }),
      verb: async (wanted) => {
        const { made, left_out } = await createExport(c.var.ctx, wanted);
        const left = Object.entries(Object.groupBy(left_out, ({ reason }) => reason));
        const counts = left.map(([reason, own]) => [reason, String(own.length)]);
        return `${AT}/pay?${new URLSearchParams([["made", made.id], ...counts]).toString()}`;
      },
      page: ({ problems }) => payPage(c, problems),
      refuse: refusalOfFile,
    }),
  );

/** A double click, a second tab or another member may have made the file already, or removed the account. */
function refusalOfFile(error: unknown): Problems {
  const problems = problemsOf(error);
  if (DEBTOR_FIELDS.some((field) => problems.fields[field] !== undefined)) return { message: NEEDS_DEBTOR, fields: {} };
  if (!(error instanceof AppError) || error.code !== "invalid_transition") return problems;
  if (error.details === undefined) {
    return { ...problems, message: "These payouts are not waiting any more: see the open files below." };
  }
  const left = Object.groupBy(error.details, ({ message }) => message);
  const texts = leftOutTexts((reason) => left[reason]?.length ?? 0);
  return { message: `There is no file. ${texts.join(" ")}`, fields: {} };
}

async function payPage(c: Context<PageEnv>, problems?: Problems) {
  const { ctx, session } = c.var;
  const { program } = session;
  const [{ groups, lacking, partners, files, hasMore }, moved] = await Promise.all([
    readOpenPayouts(ctx),
    problems ? null : movedNotice(c),
  ]);
  const payable = groups
    .filter(({ status, lacks_details, held }) => status === "pending" && lacks_details === 0 && held === 0)
    .toSorted(
      (a, b) =>
        PAYOUT_METHODS.indexOf(a.method ?? "wallet") - PAYOUT_METHODS.indexOf(b.method ?? "wallet") ||
        compareCurrencies(a.currency, b.currency, program.currency),
    );
  const made = problems ? undefined : files.find(({ id }) => id === c.req.query("made"));
  if (made && ID_PATTERN.test(made.id)) c.header("Refresh", `0; url=${AT}/exports/${made.id}/file`);
  return framed(
    c,
    {
      ...{ title: "Pay", at: AT, problems },
      notice: (
        <>
          {moved}
          {problems ? null : askedNotice(c)}
          {made ? <MadeNotice made={made} query={c.req.query()} /> : null}
          {problems?.message === NEEDS_DEBTOR ? (
            <Notice tone="bad">
              <p>
                <NeedsDebtor />
              </p>
            </Notice>
          ) : (
            <Refused problems={problems} />
          )}
        </>
      ),
      head: {
        back: { href: AT, label: "Payouts" },
        actions: (
          <>
            <a class="button" href={`${AT}/exports`}>
              Files
            </a>
            <a class={payable.length === 0 ? "button primary" : "button"} href={`${AT}/new`}>
              Prepare payouts
            </a>
          </>
        ),
      },
    },
    <>
      <OpenFiles files={files} hasMore={hasMore} />
      <section class="card flush">
        {payable.length === 0 ? (
          <Empty title={files.length > 0 ? "Nothing else to pay" : "Nothing to pay"}>
            Pending payouts appear here, by method and currency.
          </Empty>
        ) : (
          <ToPay groups={payable} program={program} isRefused={problems?.message === NEEDS_DEBTOR} />
        )}
      </section>
      <Failed groups={groups} program={program} />
      <Held groups={groups} program={program} />
      <Lacking {...{ c, groups, partners, lacking }} />
      {[...payable, ...files.map(({ format }) => ({ method: format }))].some(({ method }) => method === "wallet") ? (
        <WalletNotes />
      ) : null}
    </>,
  );
}

function OpenFiles({ files, hasMore }: { files: readonly PayoutExport[]; hasMore: boolean }) {
  if (files.length === 0) return null;
  return (
    <section class="card">
      <h2>Open files</h2>
      <p class="muted">Pay by each file, then mark its payouts as paid.</p>
      {files.map((file) => (
        <OpenFile file={file} />
      ))}
      {hasMore ? (
        <p>
          <a href={`${AT}/exports?status=open`}>All open files</a>
        </p>
      ) : null}
    </section>
  );
}

interface ToPayProps {
  groups: readonly OpenGroup[];
  program: Program;
  /** Whether the page begins with the settings for SEPA files. */
  isRefused: boolean;
}

function ToPay({ groups, program, isRefused }: ToPayProps) {
  const lacksDebtor = groups.some((group) => formatsOf(group).length > offeredFormats(group, program).length);
  return (
    <>
      <Table
        label="Payouts to pay, by method and currency"
        columns={[
          { label: "Paid by" },
          { label: "Payouts", align: "end" },
          { label: "Amount", align: "end" },
          { label: "Pay", hidden: true },
        ]}
        rows={groups.map((group) => [
          <strong>{payoutMethodText(group.method)}</strong>,
          <Count of={group.count} />,
          <Money of={group} />,
          <PayActions group={group} program={program} />,
        ])}
      />
      {lacksDebtor && !isRefused ? (
        <p class="table-note">
          <NeedsDebtor />
        </p>
      ) : null}
    </>
  );
}

interface LackingProps {
  c: Context<PageEnv>;
  groups: readonly OpenGroup[];
  /** All partners, and the first of them. */
  partners: number;
  lacking: readonly PartnerName[];
}

/** Partners whose payouts wait for payout details. */
function Lacking({ c, groups, partners, lacking }: LackingProps) {
  if (partners === 0) return null;
  return (
    <Notice tone="warn">
      <p>
        {plural(partners, "partner")} {partners === 1 ? "has" : "have"} no payout details:{" "}
        {waitingText(groups, c.var.session.program)}. {addedDetailsText(c.var.session.program)}
      </p>
      <p>
        <PartnersText
          ids={lacking.map(({ id }) => id)}
          count={partners}
          names={new Map(lacking.map((one) => [one.id, one]))}
        />
      </p>
      <div class="actions">
        <AskButton c={c} back="pay" />
      </div>
    </Notice>
  );
}

/** The reasons as people read them. */
const LEFT_OUT: Record<LeftOutReason, string> = {
  held: "on hold, because the partner's payout details were added or changed",
  details_missing: "the payout details are missing",
  details_unreadable: "the payout details can no longer be read",
  not_in_format: "this format cannot contain the account or the amount",
};

/** A sentence for each reason: "2 payouts are not in it: the payout details are missing." */
function leftOutTexts(countOf: (reason: LeftOutReason) => number): string[] {
  return LEFT_OUT_REASONS.flatMap((reason) => {
    const count = countOf(reason);
    if (!Number.isSafeInteger(count) || count <= 0) return [];
    return [`${plural(count, "payout")} ${count === 1 ? "is" : "are"} not in it: ${LEFT_OUT[reason]}.`];
  });
}

function MadeNotice({ made, query }: { made: PayoutExport; query: Record<string, string> }) {
  return (
    <Notice tone="good">
      <p>
        {fileText(made)}: {plural(made.count, "payout")}, {moneyText(made)}. The download starts automatically, or{" "}
        <a href={`${AT}/exports/${made.id}/file`}>download it here</a>. Once you have paid, mark its payouts as paid
        below.
      </p>
      {leftOutTexts((reason) => Number(query[reason] ?? 0)).map((text) => (
        <p>{text}</p>
      ))}
    </Notice>
  );
}

/** The settings that a SEPA file names (OUT-27). */
const DEBTOR_FIELDS = ["debtor_name", "debtor_iban"] as const;
const NEEDS_DEBTOR = "SEPA files need your account holder and IBAN.";

function NeedsDebtor() {
  return (
    <>
      {NEEDS_DEBTOR} <a href={`${SETTINGS}/payouts`}>Add them</a>
    </>
  );
}

/** The way to pay the payouts of one method and currency. */
function PayActions({ group, program }: { group: OpenGroup; program: Program }) {
  const { method, currency, count } = group;
  const filter = { status: "pending", method: method ?? "", currency };
  if (formatsOf(group).length > 0) return <FileForm group={group} program={program} />;
  if (method === TRANSFER_METHOD) {
    return connectionOf(program, TRANSFER_METHOD).api_key !== null ? (
      <a class="button primary" href={matchingUrl("pay", filter, "pay")}>
        Pay {theseText(count)}…<span class="visually-hidden"> {rowText(group)}</span>
      </a>
    ) : (
      <a href={providerSettings(TRANSFER_METHOD)}>Add the API key of {TRANSFER_SERVICE}</a>
    );
  }
  return (
    <span class="inline">
      <a class="button" href={`${AT}/export.csv?format=generic&status=pending&currency=${currency}`}>
        CSV<span class="visually-hidden"> of all pending payouts in {currency}</span>
      </a>
      <a class="button" href={matchingUrl("mark_paid", filter, "pay")}>
        Mark {theseText(count)} as paid…<span class="visually-hidden"> {rowText(group)}</span>
      </a>
    </span>
  );
}

/** Makes a file of the group: of its pending payouts, or again of those that failed. */
function FileForm({ group, program }: { group: OpenGroup; program: Program }) {
  const { currency, status } = group;
  const formats = offeredFormats(group, program);
  const isRetry = status === "failed";
  return (
    <Form action={`${AT}/pay`} class="inline">
      <Hidden values={{ currency, ...(isRetry ? { retry: "yes" } : {}) }} />
      {formats.length === 1 ? (
        <Hidden values={{ format: formats[0]! }} />
      ) : (
        <SelectField
          name="format"
          id={`format-${currency}-${status}`}
          label={<span class="visually-hidden">Format, {currency}</span>}
          options={formats.map((format) => ({ value: format, label: formatText(format) }))}
        />
      )}
      <button type="submit" class={isRetry ? undefined : "primary"}>
        {isRetry ? "Put into another file" : "Download"}
        <span class="visually-hidden"> {rowText(group)}</span>
      </button>
    </Form>
  );
}

/** "PayPal, USD". */
function rowText({ method, currency }: OpenGroup): string {
  return `${payoutMethodText(method)}, ${currency}`;
}

function theseText(count: number): string {
  return count === 1 ? "this one" : `these ${countText(count)}`;
}

/** Payouts that failed; those of files can go into another one. */
function Failed({ groups, program }: { groups: readonly OpenGroup[]; program: Program }) {
  const failed = groups.filter(({ status }) => status === "failed");
  if (failed.length === 0) return null;
  return (
    <Notice tone="bad">
      <p>
        {plural(countOf(failed), "payout")} failed: {sumsText(sumUp(failed, program))}.{" "}
        <a href={`${AT}?status=failed`}>See why, and try again</a>
      </p>
      {failed
        .filter((group) => group.held === 0 && formatsOf(group).length > 0)
        .map((group) => (
          <div class="actions">
            <span>
              {rowText(group)}: {plural(group.count, "payout")}
            </span>
            <FileForm group={group} program={program} />
          </div>
        ))}
    </Notice>
  );
}

function Held({ groups, program }: { groups: readonly OpenGroup[]; program: Program }) {
  const held = groups.filter((group) => group.held === 1 && group.status === "pending");
  if (held.length === 0) return null;
  return (
    <Notice tone="warn">
      <p>
        {plural(countOf(held), "payout")} on hold, because the partner's payout details were added or changed:{" "}
        {sumsText(sumUp(held, program))}. <a href={`${AT}?status=pending`}>The list</a> has the end of each hold; you
        can release it on the partner's page.
      </p>
    </Notice>
  );
}

function waitingText(groups: readonly OpenGroup[], program: Program): string {
  const waiting = groups.filter(({ lacks_details, status }) => status === "pending" && lacks_details === 1);
  return `${plural(countOf(waiting), "payout")}, ${sumsText(sumUp(waiting, program))}`;
}

function countOf(groups: readonly OpenGroup[]): number {
  return groups.reduce((sum, { count }) => sum + count, 0);
}

/** A file that is not marked as paid yet. */
function OpenFile({ file }: { file: PayoutExport }): Child {
  const at = `${AT}/exports/${file.id}`;
  return (
    <div class="open-file">
      <p>
        <a href={at}>
          <strong>
            {fileText(file)}: {plural(file.count, "payout")}, {moneyText(amountOf(file, file.amount_cents))}
          </strong>
        </a>
        <span class="second">
          Since <When at={file.created_at} /> · <a href={`${at}/file`}>Download again</a>
          <ResultsLink id={file.id} /> · <a href={at}>Not all were paid?</a> · <a href={`${at}/cancel`}>Cancel</a>
        </span>
      </p>
      <Form action={`${at}/paid`} class="inline">
        <Hidden values={{ via: "pay" }} />
        <Field
          name="reference"
          id={`reference-${file.id}`}
          label={<span class="visually-hidden">Reference, {fileText(file)}</span>}
          placeholder="Reference"
          maxlength={200}
        />
        <button type="submit" class="primary">
          Mark {theseText(file.count)} as paid · {moneyText(file)}
        </button>
      </Form>
    </div>
  );
}

function WalletNotes() {
  return (
    <details class="card prose">
      <summary>The file for {WALLET_SERVICE}</summary>
      <ul>
        <li>Upload it unchanged at {WALLET_SERVICE}. It takes 5,000 payouts in a file; the rest is in the next.</li>
        <li>
          Amounts have a decimal point. If your country uses a comma, {WALLET_SERVICE} asks for it at the upload, in
          quotes: <code>"5,45"</code>.
        </li>
        <li>Do not save it from a spreadsheet, which may change addresses and amounts.</li>
      </ul>
    </details>
  );
}
