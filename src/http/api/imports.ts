import * as z from "zod";
import { decodeCsv } from "../../domain/csv-encoding.ts";
import { columnKey, importFields, IMPORT_KINDS, type ImportField, type ImportKind } from "../import/columns.ts";
import { dataParam, IMPORT_PRODUCT_IDS, LINK_PARAM_PATTERN } from "../import/product.ts";
import { invalidField } from "../../lib/errors.ts";
import { PROVIDER_NAMES } from "../../providers/registry.ts";
import { countRows, importFile, type ChooseColumns } from "../import/file.ts";
import { viewImport } from "../import/report.ts";
import { ok, raw, route } from "../route.ts";

/** The body limit in bytes; HTTP-13 has that of the others. */
export const IMPORT_BODY_LIMIT = 1024 * 1024;

export const importQuery = z.object({
  kind: z.enum(IMPORT_KINDS).describe("`partners`, or the `customers` they referred."),
  product: z.enum(IMPORT_PRODUCT_IDS).default("other").describe("The product that wrote the file."),
  dry_run: z.enum(["true", "false"]).default("false").describe("`true` shows what would happen and changes nothing."),
  param: z
    .string()
    .regex(LINK_PARAM_PATTERN, "A query parameter is 1 to 32 letters, digits, - or _.")
    .optional()
    .describe("The query parameter of the old links, where it is not the product's usual one."),
  status: z
    .enum(["invited", "active"])
    .default("invited")
    .describe("The state of new partners where the file has none."),
  provider: z
    .enum(PROVIDER_NAMES)
    .optional()
    .describe(
      "Whose payments the customers make: their ids are of its form. And whose promotion codes the file holds, where they do not say it.",
    ),
  columns: z
    .string()
    .max(8_192)
    .optional()
    .describe(
      'A JSON object of column names and the fields they hold, or null to leave one: `{"Tracking ID": "code"}`. Others are matched by their names.',
    ),
});

const importText = z
  .string()
  .describe("A CSV file with a header line: UTF-8, UTF-16 or Windows-1252; 1 MiB and 5,000 lines at most.");

/** `POST /api/v1/imports`: partners and their customers from another product's CSV export. */
export const imports = [
  route("POST /api/v1/imports", {
    operation: "createImport",
    tag: "Partners",
    // A file may contain payout details of many partners.
    scope: ["write", "payouts"],
    summary: "Import partners or their customers from another product",
    description:
      "The body is the CSV file as the product exports it, at most 1 MiB. Partners get the codes of their old links as slugs; a partner who already exists (by e-mail address) keeps everything and only gets what is missing. Customers are bound to the partner who referred them: their later payments are the partner's, unless the payment itself or the provider names another; earlier ones earn nothing. Valid lines are imported whatever the other lines are, and the same file again changes nothing.",
    query: importQuery,
    body: raw("ImportFile", ["text/csv"], importText),
    reply: ok("Import", "What happened to the lines, or with `dry_run=true`, what would happen."),
    handle: async ({ ctx, query, c }) => {
      const choose = chosenColumns(query.kind, query.columns);
      const file = decodeCsv(new Uint8Array(await c.req.arrayBuffer()));
      if (!file.ok) throw invalidField("body", file.message);
      const param = query.param ?? null;
      const order = { ...query, param, provider: query.provider ?? null };
      const dry_run = query.dry_run === "true";
      const imported = await importFile(ctx, order, file.text, choose, dry_run);
      if (!imported.ok) throw invalidField("body", imported.message);
      return viewImport({
        kind: query.kind,
        product: query.product,
        dry_run,
        data_param: dataParam(query.product, param),
        columns: imported.columns,
        rows: imported.rows,
        counts: countRows(imported.rows),
      });
    },
  }),
];

function chosenColumns(kind: ImportKind, json: string | undefined): ChooseColumns {
  if (json === undefined) return () => [];
  const fields = importFields(kind);
  const read = z
    .record(z.string(), z.enum(fields as [ImportField, ...ImportField[]]).nullable())
    .safeParse(parseJson(json));
  if (!read.success) {
    throw invalidField("columns", `This is a JSON object of column names and one of ${fields.join(", ")}, or null.`);
  }
  const chosen = new Map(Object.entries(read.data).map(([column, field]) => [columnKey(column), field]));
  return (columns) => {
    const keys = columns.map(columnKey);
    const unknown = Object.keys(read.data).find((column) => !keys.includes(columnKey(column)));
    if (unknown !== undefined) throw invalidField("columns", `The file has no column ${unknown}.`);
    return keys.map((key) => chosen.get(key));
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
