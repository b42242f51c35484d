import type { ProgramRates } from "../../../../core/payouts/exchange-rates.ts";
import { TRANSFER_SERVICE } from "../../../../providers/registry.ts";
import type { FormFields, Problems } from "../../forms.ts";
import type { Sent } from "../../act.ts";
import { Actions, Field, Form, TextArea } from "../../parts/form.tsx";
import { When } from "../../parts/figures.tsx";
import { RATE_SOURCE_TEXTS } from "../../parts/statement.tsx";
import { Table } from "../../parts/table.tsx";
import { IfMay } from "../../rights.tsx";

/** A line of the field: `USD 1.0853`, or one pasted from JSON or a table. */
const LINE = /^[\s"'{]*([A-Za-z]{3})["']?[\s:;,=]+["']?([\d.]+)["']?[\s,;}]*$/;

/** The input for the API's schema. A line in another form, or of a currency again, gets a key that the schema refuses. */
export function ratesInput(fields: FormFields): { base: string; rates: Record<string, string> } {
  const rates: Record<string, string> = {};
  for (const line of linesOf(fields)) {
    const [, code = "", rate = ""] = LINE.exec(line) ?? [];
    const key = code.toUpperCase();
    rates[key === "" || Object.hasOwn(rates, key) ? line : key] = rate;
  }
  return { base: fields.text("base").toUpperCase(), rates };
}

function linesOf(fields: FormFields): string[] {
  return fields
    .raw("rates")
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => /[^\s{}]/.test(line));
}

/** Moves the problem of one rate to the field of all rates, with the line. */
function atField(problems: Problems | undefined): Problems | undefined {
  const [path, message] = Object.entries(problems?.fields ?? {}).find(([name]) => name.startsWith("rates.")) ?? [];
  if (!problems || path === undefined || message === undefined) return problems;
  const line = path.slice("rates.".length);
  return { ...problems, fields: { ...problems.fields, rates: `${line}: ${message}` } };
}

/** The exchange rates of payouts (OUT-37). */
export function ExchangeRates({ rates, at, sent }: { rates: ProgramRates; at: string; sent: Sent | undefined }) {
  const { base, payout_currency, rated_at } = rates;
  const values = {
    base: base ?? payout_currency ?? "",
    rates: Object.entries(rates.rates)
      .map(([code, rate]) => `${code} ${rate}`)
      .join("\n"),
  };
  return (
    <section class="card" id="rates">
      <h2>Exchange rates</h2>
      <div class="stack">
        <p>
          They convert what was earned in other currencies to {payout_currency}. A rate counts for 35 days, for payouts
          prepared from then on. If you give no rate, the one counts at which {TRANSFER_SERVICE} last converted a
          payment of yours, if your API key there may read it.
        </p>
        <Form
          action={at}
          problems={atField(sent?.problems)}
          values={sent?.fields ?? values}
          readable={true}
          class="stack"
        >
          <Field
            name="base"
            label="Base"
            required={true}
            maxlength={3}
            hint="The currency of which the rates give the value."
          />
          <TextArea
            name="rates"
            label="One unit of it is worth"
            rows={6}
            code={true}
            hint={
              <>
                One on each line: USD 1.0853. At most 7 digits. The list replaces yours
                {rated_at === null ? "" : " of "}
                {rated_at === null ? null : <When at={rated_at} only="day" />}.
              </>
            }
          />
          <IfMay right="manage">
            <Actions submit="Save" />
          </IfMay>
        </Form>
        <InForce rates={rates} />
      </div>
    </section>
  );
}

/** The rates with which payouts would be converted now. */
function InForce({ rates: { in_force, payout_currency } }: { rates: ProgramRates }) {
  if (in_force.length === 0) return null;
  return (
    <div>
      <h3>In force</h3>
      <Table
        label="Rates in force"
        columns={[
          { label: "Currency" },
          { label: `In ${payout_currency}`, align: "end" },
          { label: "From" },
          { label: "Of" },
        ]}
        rows={in_force.map(({ currency, rate, rate_source, rate_at }) => [
          currency,
          rate,
          RATE_SOURCE_TEXTS[rate_source],
          <When at={rate_at} only="day" />,
        ])}
      />
    </div>
  );
}
