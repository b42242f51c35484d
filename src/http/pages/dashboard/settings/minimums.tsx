import { LARGEST } from "../../../../domain/money.ts";
import type { Minimums } from "../../../../domain/payout.ts";
import { MAX_MIN_PAYOUTS } from "../../../../domain/program.ts";
import { moneyValue, parseMoney, type FormFields, type Problems } from "../../forms.ts";
import { Field, useProblems } from "../../parts/form.tsx";

/** A row of the form: a currency and its minimum payout, with the currency's decimals. */
interface MinimumRow {
  currency: string;
  amount: string;
}

const SPARE_ROWS = 2;
const NO_ROW: MinimumRow = { currency: "", amount: "" };
const nameOf = (i: number, part: keyof MinimumRow) => `min_payouts.${i}.${part}`;

/** The input, or else the stored minimums. */
export function minimumRows({ min_payouts }: Minimums, fields?: FormFields): MinimumRow[] {
  return (
    typedRows(fields) ??
    Object.entries(min_payouts).map(([currency, amount]) => ({ currency, amount: moneyValue(amount, currency) }))
  );
}

/** The rows with any input; undefined if the form does not have them. */
function typedRows(fields: FormFields | undefined): MinimumRow[] | undefined {
  if (!fields?.has(nameOf(0, "currency"))) return undefined;
  return Array.from({ length: MAX_MIN_PAYOUTS }, (_, i) => ({
    currency: fields.text(nameOf(i, "currency")).toUpperCase(),
    amount: fields.text(nameOf(i, "amount")),
  })).filter(({ currency, amount }) => currency !== "" || amount !== "");
}

/** The key of a row in the API's input. A currency of an earlier row gets one that the API's schema refuses. */
function keyOf(rows: readonly MinimumRow[], i: number): string {
  const { currency } = rows[i]!;
  return rows.findIndex((row) => row.currency === currency) === i ? currency : `${currency} ${i}`;
}

/** The input for the API's schema. */
export function minimumsInput(fields: FormFields): Record<string, number> | undefined {
  const rows = typedRows(fields);
  if (rows === undefined) return undefined;
  return Object.fromEntries(rows.map(({ currency, amount }, i) => [keyOf(rows, i), parseMoney(amount, currency)]));
}

export function minimumsText(of: Minimums): string {
  return minimumRows(of)
    .map(({ currency, amount }) => `${amount} ${currency}`)
    .join(", ");
}

/** Minimum payouts in other currencies (OUT-19). */
export function MinimumFields({ rows }: { rows: readonly MinimumRow[] }) {
  const problems = useProblems();
  const shown = [...rows, ...Array.from({ length: SPARE_ROWS }, () => NO_ROW)].slice(0, MAX_MIN_PAYOUTS);
  return (
    <fieldset>
      <legend>Minimum payout in other currencies</legend>
      <div class="rows">
        {shown.map((row, i) => (
          <MinimumFieldsRow row={row} index={i} problems={rowProblems(problems, rows, i)} />
        ))}
      </div>
      <p class="hint">Other currencies: the same number as above.</p>
    </fieldset>
  );
}

/** The problem of a row, as one of its currency or its amount; that of all rows is at the first. */
function rowProblems(problems: Problems | undefined, rows: readonly MinimumRow[], i: number): Problems {
  const row = rows[i];
  const key = row && keyOf(rows, i);
  const own = key === undefined ? undefined : problems?.fields[`min_payouts.${key}`];
  const message = own ?? (i === 0 ? problems?.fields["min_payouts"] : undefined);
  if (message === undefined) return { message: "", fields: {} };
  const given = row ? parseMoney(row.amount, row.currency) : 0;
  const part = given >= 0 && given <= LARGEST ? "currency" : "amount";
  const said = row && key !== row.currency ? "This currency has a row already." : message;
  return { message: "", fields: { [nameOf(i, part)]: said } };
}

interface MinimumFieldsRowProps {
  row: MinimumRow;
  index: number;
  problems: Problems;
}

function MinimumFieldsRow({ row, index, problems }: MinimumFieldsRowProps) {
  const label = (text: string) => <span class="visually-hidden">{`Minimum ${index + 1}: ${text}`}</span>;
  return (
    <div class="pair">
      <Field
        name={nameOf(index, "currency")}
        label={label("currency")}
        value={row.currency}
        problems={problems}
        {...(index === 0 ? { placeholder: "EUR" } : {})}
        maxlength={3}
      />
      <Field
        name={nameOf(index, "amount")}
        label={label("amount")}
        value={row.amount}
        problems={problems}
        inputmode="decimal"
      />
    </div>
  );
}
