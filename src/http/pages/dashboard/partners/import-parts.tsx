import { MAX_IMPORT_LINES } from "../../../../core/imports/partners.ts";
import { importFields, type ImportField, type ImportKind, type MatchedColumn } from "../../../import/columns.ts";
import { importProduct, IMPORT_PRODUCT_IDS } from "../../../import/product.ts";
import type { ImportRow, ReadColumn, RowOutcome } from "../../../import/report.ts";
import type { ImportOrder } from "../../../import/line.ts";
import { DETAIL_LABELS } from "../../parts/payout-fields.tsx";
import { importLabels } from "../../../../resources/field.ts";
import { PARTNER } from "../../../../resources/partner.ts";
import { providerName, PROVIDER_NAMES } from "../../../../providers/registry.ts";
import { CopyBlock } from "../../parts/copy.tsx";
import { Field, SelectField, TextArea } from "../../parts/form.tsx";
import { Badge, countText, plural } from "../../parts/figures.tsx";
import { Notice } from "../../parts/notice.tsx";
import { Table } from "../../parts/table.tsx";

const PARTNERS_EXAMPLE = `email,code,first_name,last_name,commission_pct
ada@example.com,ada,Ada,Lovelace,25
grace@example.com,grace,Grace,Hopper,`;

const CUSTOMERS_EXAMPLE = `customer_id,customer_email,partner_code
cus_N1a2b3,buyer@example.com,ada
,other@example.com,grace`;

const KINDS: Record<ImportKind, string> = {
  partners: "Partners (affiliates, promoters)",
  customers: "Customers referred by partners",
};

/** The kind of the file and how to read it. */
export function OrderFields({ order }: { order: ImportOrder }) {
  return (
    <>
      <SelectField
        name="product"
        label="The file is from"
        value={order.product}
        options={IMPORT_PRODUCT_IDS.map((value) => ({ value, label: importProduct(value).name }))}
      />
      <SelectField
        name="kind"
        label="Content"
        value={order.kind}
        options={Object.entries(KINDS).map(([value, label]) => ({ value, label }))}
        hint="Import the partners first."
      />
      <SelectField
        name="status"
        label="Status of new partners, if the file has none"
        value={order.status}
        options={[
          { value: "invited", label: "invited until they first sign in" },
          { value: "active", label: "active at once" },
        ]}
      />
      <ProviderField order={order} />
      <Field
        name="param"
        label="Query parameter of the old links"
        value={order.param}
        placeholder="via"
        maxlength={32}
        hint="Only if it is not the product's default: the word between ? and = in a link."
      />
    </>
  );
}

function ProviderField({ order }: { order: ImportOrder }) {
  return (
    <SelectField
      name="provider"
      label="Provider of the customers and promotion codes"
      value={order.provider ?? ""}
      options={[
        { value: "", label: "from each line" },
        ...PROVIDER_NAMES.map((value) => ({ value, label: providerName(value) })),
      ]}
      hint="Ids in another form are ignored, and the e-mail address is used. A promotion code may begin with its provider."
    />
  );
}

export function FileFields({ csv }: { csv: string }) {
  return (
    <>
      <Field name="file" label="CSV file" type="file" accept=".csv,text/csv,text/plain" />
      <TextArea name="csv" label="Or paste it here" value={csv} rows={8} code={true} />
    </>
  );
}

export function HowItLooks() {
  return (
    <section class="card">
      <h2>File format</h2>
      <p>
        As the product exports it: columns are matched by their names, and you can change the match. Unneeded columns
        are ignored. Your own file has <code>email</code> and <code>code</code>, the word in the partner's links:
      </p>
      <CopyBlock label="Partners" text={PARTNERS_EXAMPLE} />
      <p>Customers are identified by the payment provider's id, or by their e-mail address, if payments have one:</p>
      <CopyBlock label="Customers" text={CUSTOMERS_EXAMPLE} />
      <p class="muted small">
        Separated by commas, semicolons or tabs; at most {plural(MAX_IMPORT_LINES, "line")} and 1 MiB at a time.
        Existing partners keep everything; only missing details and further codes are added.
      </p>
    </section>
  );
}

const FIELD_LABELS = {
  ...DETAIL_LABELS,
  ...importLabels(PARTNER),
  name: "Full name",
  code: "Partner's code or link",
  group: "Group",
  promotion_codes: "Promotion codes",
  customer_id: "Customer's id at the provider",
  customer_email: "Customer's e-mail",
  partner_email: "Partner's e-mail",
} satisfies Record<ImportField, string>;

/** The matched field of each column, to be changed; open at once if a choice is required. */
export function ColumnChoices(props: { order: ImportOrder; columns: readonly MatchedColumn[]; open: boolean }) {
  const { order, columns, open } = props;
  const left = columns.filter(({ field }) => field === null).length;
  const options = [
    { value: "", label: "left out" },
    ...importFields(order.kind).map((value) => ({ value, label: FIELD_LABELS[value] })),
  ];
  return (
    <details class="card" open={open ? true : undefined}>
      <summary>
        {countText(columns.length - left)} of {plural(columns.length, "column")} matched
      </summary>
      <div class="fields two spaced">
        {columns.map(({ column, field }, i) => (
          <SelectField name={`column_${i}`} label={column || "without a name"} value={field} options={options} />
        ))}
        <ProviderField order={order} />
      </div>
    </details>
  );
}

/** Columns with ignored cells; a partner whose rate is ignored earns another rate. */
export function UnreadCells({ columns, when }: { columns: readonly ReadColumn[]; when: "before" | "after" }) {
  const unread = columns.filter((column) => column.unread > 0);
  if (unread.length === 0) return null;
  const rates = unread.reduce((sum, { field, unread: count }) => sum + (field === "commission_pct" ? count : 0), 0);
  const cells = unread.map(({ column, unread: count }) => `${column} (${countText(count)})`).join(", ");
  return (
    <Notice tone="warn">
      <p>
        Cells that cannot be read {when === "before" ? "are" : "were"} left out: {cells}. See the lines below.
        {when === "before" ? " Correct them, or choose another use of the column." : ""}
      </p>
      {rates > 0 ? (
        <p>
          {plural(rates, "commission rate")} cannot be read: a new partner without a rate of their own earns the
          program's.
        </p>
      ) : null}
    </Notice>
  );
}

const STATES: Record<RowOutcome, string> = {
  ...{ added: "active", completed: "active", unchanged: "known", left_out: "known", refused: "failed" },
};

const NOT_TAKEN = { left_out: "left out", refused: "error" };
/** Texts before and after the import. */
const OUTCOMES: Record<ImportKind, Record<"before" | "after", Record<RowOutcome, string>>> = {
  partners: {
    before: { added: "will be added", completed: "completes a partner", unchanged: "unchanged", ...NOT_TAKEN },
    after: { added: "added", completed: "completed a partner", unchanged: "unchanged", ...NOT_TAKEN },
  },
  customers: {
    before: { added: "will be assigned", completed: "will be assigned", unchanged: "already assigned", ...NOT_TAKEN },
    after: { added: "bound", completed: "bound", unchanged: "already assigned", ...NOT_TAKEN },
  },
};

/** A page stays small; the counts above it are exact. */
const SHOWN = 100;

const ORDER: Record<RowOutcome, number> = { refused: 0, left_out: 1, added: 2, completed: 3, unchanged: 4 };

/** Lines with errors first, then those with ignored cells, because people look for these. */
export function Rows(props: { kind: ImportKind; rows: readonly ImportRow[]; when: "before" | "after" }) {
  const { kind, rows, when } = props;
  const isUnread = ({ notes }: ImportRow) => notes.some((note) => note.kind === "unread");
  const rankOf = (row: ImportRow) => (isUnread(row) ? Math.min(1, ORDER[row.outcome]) : ORDER[row.outcome]);
  const sorted = rows.toSorted((a, b) => rankOf(a) - rankOf(b) || a.line - b.line);
  return (
    <>
      <Table
        label="Lines of the file"
        columns={[
          { label: "Line" },
          { label: when === "before" ? "Result" : "Result" },
          { label: kind === "partners" ? "E-mail" : "Customer", grow: true },
          { label: kind === "partners" ? "Code" : "Partner" },
        ]}
        rows={sorted.slice(0, SHOWN).map(({ line, outcome, column, message, notes, who, code }) => [
          String(line),
          <span>
            <Badge state={STATES[outcome]} label={OUTCOMES[kind][when][outcome]} />
            {message === null ? null : (
              <span class="second">
                {column === null ? "" : `${column}: `}
                {message}
              </span>
            )}
            {notes.map((note) => (
              <span class="second">
                {note.kind === "unread" ? `${note.column}: ` : ""}
                {note.message}
              </span>
            ))}
          </span>,
          who || "–",
          code ? <code>{code}</code> : "–",
        ])}
      />
      {rows.length > SHOWN ? (
        <p class="table-note">
          {SHOWN} of {plural(rows.length, "line")}, those with errors first.
        </p>
      ) : null}
    </>
  );
}
