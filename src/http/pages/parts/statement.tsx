import { MOST_LINES, type Statement, type StatementHead, type StatementLine } from "../../../core/payouts/statement.ts";
import type { Payout } from "../../../core/kernel/rows.ts";
import type { RateSource } from "../../../domain/exchange.ts";
import { TRANSFER_METHOD } from "../../../domain/partner.ts";
import { TRANSFER_SERVICE } from "../../../providers/registry.ts";
import { addUp } from "../../../domain/money.ts";
import type { Child } from "../../jsx.ts";
import { countryText } from "../locale.ts";
import { countText, Money, moneyText, When } from "./figures.tsx";
import { nameText } from "./shown-name.ts";
import { Table } from "./table.tsx";

/** The title of a statement's page: its number, if it is an invoice. */
export function statementTitle({ invoice_number }: Pick<StatementHead, "invoice_number">, without: string): string {
  return invoice_number === null ? without : `Self-billing invoice ${invoice_number}`;
}

/** The numbers, the parties and the VAT of a statement (OUT-34, OUT-35), for a list of facts. `to` without tax data. */
export function statementFacts(statement: StatementHead, to: string): ([Child, Child] | null)[] {
  const { payout, payer, payee, vat, invoice_number, credit_note_number, credited_at } = statement;
  return [
    invoice_number === null ? null : ["Invoice", <strong>{invoice_number}</strong>],
    credit_note_number === null
      ? null
      : [
          "Credit note",
          <>
            <strong>{credit_note_number}</strong>, <When at={credited_at} only="day" />: it cancels the invoice in full.
          </>,
        ],
    ["Payer", <Party of={payer} name={nameText(payer.name) || payout.program_id} />],
    ["Payee", <Party of={payee} name={nameText(payee.name) || to} />],
    vat === null
      ? null
      : [
          "VAT",
          <>
            {vat.treatment === "included" ? (
              <>
                {vat.rate}&nbsp;%: {moneyText({ amount_cents: vat.vat_cents, currency: payout.currency })} on{" "}
                {moneyText({ amount_cents: vat.net_cents, currency: payout.currency })}.{" "}
              </>
            ) : null}
            {vat.note}
          </>,
        ],
  ];
}

interface PartyProps {
  of: { address: string | null; country: string | null; tax_id: string | null };
  name: string;
}

function Party({ of: { address, country, tax_id }, name }: PartyProps) {
  const lines = [
    ...(address ?? "").split("\n").map((line) => nameText(line)),
    country === null ? "" : countryText(country),
    tax_id === null ? "" : `Tax id: ${nameText(tax_id)}`,
  ];
  return (
    <span>
      {name}
      {lines
        .filter((line) => line !== "")
        .map((line) => (
          <>
            <br />
            {line}
          </>
        ))}
    </span>
  );
}

const KIND_TEXTS: Record<StatementLine["kind"], string> = {
  sale: "Commission",
  lead: "Commission for a lead",
  manual: "Added by hand",
  clawback: "Correction",
};

/** The lines of a statement, with their sum if they are all of them and in one currency. */
export function StatementLines({ lines, next_cursor, payout }: Statement) {
  const amount_cents = addUp(lines.map((line) => line.amount_cents));
  const { currency } = payout;
  return (
    <>
      <Table
        label="Commissions and corrections"
        columns={[{ label: "Date" }, { label: "Kind" }, { label: "Id" }, { label: "Amount", align: "end" }]}
        rows={lines.map((line) => [
          <When at={line.created_at} only="day" />,
          KIND_TEXTS[line.kind],
          <code>{line.commission_id}</code>,
          <Money of={line} />,
        ])}
      />
      {next_cursor !== null ? (
        <p class="table-note">The first {countText(MOST_LINES)}; the file has all.</p>
      ) : payout.source_amounts === null ? (
        <p class="table-note">Sum: {moneyText({ amount_cents, currency })}</p>
      ) : null}
    </>
  );
}

/** Whose rate it is. */
export const RATE_SOURCE_TEXTS: Record<RateSource, string> = { owner: "you", [TRANSFER_METHOD]: TRANSFER_SERVICE };

/** How the amounts of each currency make up a payout (OUT-39); null for a payout as earned. */
export function Conversions({ payout }: { payout: Pick<Payout, "amount_cents" | "currency" | "source_amounts"> }) {
  if (payout.source_amounts === null) return null;
  const { currency } = payout;
  return (
    <section class="card flush">
      <h2>Conversion to {currency}</h2>
      <Table
        label={`Conversion to ${currency}`}
        columns={[
          { label: "Earned" },
          { label: "Rate", align: "end" },
          { label: "Of" },
          { label: "Paid", align: "end" },
        ]}
        rows={payout.source_amounts.map((part) => [
          <Money of={part} />,
          part.rate_at === null ? "–" : part.rate,
          part.rate_at === null ? "–" : <When at={part.rate_at} only="day" />,
          <Money of={{ amount_cents: part.converted_cents, currency }} />,
        ])}
      />
      <p class="table-note">
        Sum: {moneyText(payout)}. Each amount times its rate, rounded to the smallest unit of {currency}.
      </p>
    </section>
  );
}

/** `100.00 USD and 40.00 EUR`, of which a payout was made; null for a payout as earned. */
export function earnedText({ source_amounts }: Pick<Payout, "source_amounts">): string | null {
  return source_amounts === null ? null : new Intl.ListFormat("en").format(source_amounts.map(moneyText));
}

/** A payout's amount, after a conversion with its source amounts: `123.45 EUR`, `for 100.00 USD and 40.00 EUR`. */
export function EarnedFor({ of: payout }: { of: Pick<Payout, "amount_cents" | "currency" | "source_amounts"> }) {
  const earned = earnedText(payout);
  return (
    <span>
      <Money of={payout} />
      {earned === null ? null : <span class="second earned">for {earned}</span>}
    </span>
  );
}
