import { getTableColumns, sql } from "drizzle-orm";
import { columnsOf, selectRows, text, whole } from "../../db/rows.ts";
import { partners } from "../../db/schema.ts";
import { emailKey } from "../../domain/email.ts";
import { slugKey, type PartnerStatus } from "../../domain/partner.ts";
import { AppError } from "../../lib/errors.ts";
import { bytesIn, runInSlices, partsOf } from "../../lib/slices.ts";
import { commit, type Write } from "../kernel/commit.ts";
import { selectGroups } from "../kernel/group-rows.ts";
import { CommitConflict } from "../kernel/conflict.ts";
import { prove, type Caller, type ProgramCtx, type Reader } from "../kernel/context.ts";
import type { Group, Partner } from "../kernel/rows.ts";
import { sealDetails } from "../kernel/sealed-details.ts";
import { alsoOfProgram } from "../kernel/tenant.ts";
import { countGiven, giveCodes, selectGiven } from "../partners/given-codes.ts";
import { takeDetails, takeRest } from "../payouts/take-details.ts";
import { changedPartner, completePartnerRows } from "../partners/change-destination.ts";
import { newPartner, partnerChanged, partnerCreated } from "../partners/partners.ts";
import {
  decidePartnerLines,
  type ChangedPartner,
  type KnownPartner,
  type PartnerLine,
  type PartnerVerdict,
  promotionKey,
} from "./partner-lines.ts";

export const MAX_IMPORT_LINES = 5_000;

/** The most partners or customers of one transaction: preparing its texts is one slice of work. */
export const IMPORT_CHUNK = 250;

/** The most lines of one look-up, because a bound text has a size limit. */
export const LOOK_UP_LINES = 1_000;

/** The most repetitions of a transaction after conflicts; at each, another transaction was committed. */
export const MAX_IMPORT_RACES = 100;

/**
 * Previews an import of these lines (`decidePartnerLines`). Partners are identified by their e-mail address. An
 * existing partner keeps everything, status and rate too: the import only fills in empty `PARTNER_TEXTS`, empty payout
 * details and further codes. A new partner without a state in the file gets `status`. Read-only.
 */
export async function previewPartners(
  caller: Caller,
  lines: readonly PartnerLine[],
  status: PartnerStatus,
): Promise<PartnerVerdict[]> {
  return (await decideLines(caller, lines, status)).verdicts;
}

/**
 * Imports the lines as previewed by `previewPartners`, with the audit events, some hundred partners in one transaction.
 * Returns the actual result of each line, which differs from the preview if others changed the same partners meanwhile.
 * If the import ends early, a rerun does the rest; a rerun of a whole import has no effect.
 */
export async function importPartners(
  caller: Caller,
  lines: readonly PartnerLine[],
  status: PartnerStatus,
): Promise<PartnerVerdict[]> {
  if (lines.length > MAX_IMPORT_LINES) {
    throw new AppError("validation_failed", `An import has at most ${MAX_IMPORT_LINES} lines.`);
  }
  const { verdicts, changed, metadataBytes } = await decideLines(caller, lines, status);
  const [ctx] = await prove(caller);
  const became = new Map(verdicts.map((verdict) => [verdict.line, verdict]));
  // Encoded twice: the body of a message is a text in the JSON list of messages.
  const bytesOf = ({ after, codes }: ChangedPartner) =>
    bytesIn(JSON.stringify(JSON.stringify(after))) +
    2 * (metadataBytes.get(after.id) ?? 0) +
    bytesIn(JSON.stringify(slugsOf(after, codes)));
  for (const chunk of partsOf(changed, IMPORT_CHUNK, bytesOf)) {
    for (const verdict of await store(ctx, chunk, status)) became.set(verdict.line, verdict);
  }
  return [...became.values()];
}

interface Judged {
  verdicts: PartnerVerdict[];
  changed: ChangedPartner[];
  /** The sizes of existing partners' metadata, by id. */
  metadataBytes: ReadonlyMap<string, number>;
}

async function decideLines(caller: Caller, lines: readonly PartnerLine[], status: PartnerStatus): Promise<Judged> {
  const known = {
    partners: new Map<string, KnownPartner>(),
    holders: new Map<string, string>(),
    counts: new Map<string, number>(),
  };
  const metadataBytes = new Map<string, number>();
  const [groups] = await caller.read(selectGroups(caller));
  for (const part of partsOf(lines, LOOK_UP_LINES)) {
    const [rows, holders] = await caller.read(...lookUp(caller, part));
    const carried = part.flatMap((line) => line.promotion_codes);
    if (carried.length > 0) {
      const ids = rows.map(({ id }) => id);
      const [given, counts] = await caller.read(selectGiven(caller, carried), countGiven(caller, ids));
      for (const { partner_id, ...code } of given) known.holders.set(promotionKey(code), partner_id);
      for (const { partner_id, n } of counts) known.counts.set(partner_id, n);
    }
    for (const { metadata_bytes, ...row } of rows) {
      known.partners.set(emailKey(row.email), row);
      metadataBytes.set(row.id, metadata_bytes);
    }
    for (const { slug_key, partner_id } of holders) known.holders.set(slug_key, partner_id);
  }
  const [ctx] = await prove(caller);
  const judged = decidePartnerLines(lines, { ...known, groups: idsOf(groups) }, (input, own) => ({
    ...newPartner(ctx, input),
    status: own ?? status,
  }));
  return { ...(await runInSlices(judged)), metadataBytes };
}

function idsOf(groups: readonly Group[]): ReadonlyMap<string, string> {
  return new Map(groups.map(({ slug, id }) => [slugKey(slug), id]));
}

/** Selects the partners with the lines' addresses, and the holders of the lines' codes. */
function lookUp(ctx: Reader, lines: readonly PartnerLine[]) {
  const emails = JSON.stringify(lines.map(({ input }) => emailKey(input.email)));
  const codes = JSON.stringify(lines.flatMap((line) => line.codes.map(slugKey)));
  const { metadata: _, ...known } = columnsOf(partners);
  const read = sql.raw(
    Object.keys(known)
      .map((name) => `partners.${name} as ${name}`)
      .join(", "),
  );
  return [
    selectRows(
      ctx.db,
      { ...known, metadata_bytes: whole },
      sql`select distinct ${read},
        coalesce(length(cast(${partners.metadata} as blob)), 0) as metadata_bytes
      from json_each(${emails}) j cross join ${partners}
        on ${partners.program_id} = ${ctx.programId} and lower(${partners.email}) = j.value`,
    ),
    selectRows(
      ctx.db,
      { partner_id: text, slug_key: text },
      sql`select distinct s.partner_id, s.slug_key
      from json_each(${codes}) j
      cross join partner_slugs s on s.program_id = ${ctx.programId} and s.slug_key = j.value`,
    ),
  ] as const;
}

/** Writes a chunk. Returns the new verdicts of its lines if they had to be decided again. */
async function store(
  ctx: ProgramCtx,
  chunk: readonly ChangedPartner[],
  status: PartnerStatus,
): Promise<PartnerVerdict[]> {
  const lines = chunk.flatMap((partner) => partner.lines);
  let changed = chunk;
  let verdicts: PartnerVerdict[] = [];
  for (let races = 0; changed.length > 0; races++) {
    try {
      const { rest, ...plan } = await planOf(ctx, changed, await readMetadata(ctx, changed));
      await commit(ctx, plan);
      await takeRest(ctx, { rest });
      break;
    } catch (error) {
      // Another request changed one of them meanwhile: decided again, that line is known, completed or refused.
      if (!(error instanceof CommitConflict) || races >= MAX_IMPORT_RACES) throw error;
      ({ verdicts, changed } = await decideLines(ctx, lines, status));
    }
  }
  return verdicts;
}

async function planOf(
  ctx: ProgramCtx,
  changed: readonly ChangedPartner[],
  metadata: ReadonlyMap<string, Partner["metadata"]>,
) {
  const added: Partner[] = [];
  const completed: { before: Partner; after: Partner }[] = [];
  const further = new Map<string, { further_slugs?: string[] }>();
  for (const { before, after: decided, codes, bank } of changed) {
    const after = bank ? { ...decided, ...(await sealDetails(ctx, decided.id, bank)) } : decided;
    const further_slugs = codes.filter((key) => key !== slugKey(after.slug));
    if (further_slugs.length > 0) further.set(after.id, { further_slugs });
    const kept = { metadata: metadata.get(after.id) ?? null };
    if (before) {
      const whole = { ...before, ...kept };
      completed.push({ before: whole, after: changedPartner(ctx, whole, { ...after, ...kept }) });
    } else added.push({ ...after, ...kept });
  }
  const slugs = changed.flatMap(({ after, codes }) => slugsOf(after, codes));
  const writes: Write[] = [];
  if (added.length > 0) writes.push({ statement: insertPartners(ctx, added), expect: added.length });
  if (completed.length > 0) writes.push(completePartnerRows(ctx, completed));
  if (slugs.length > 0) writes.push({ statement: claimSlugs(ctx, slugs), expect: slugs.length });
  const given = giveCodes(
    ctx,
    changed.flatMap(({ after, promotion_codes }) => promotion_codes.map((one) => ({ ...one, partner_id: after.id }))),
  );
  const taken = await takeDetails(
    ctx,
    completed.map(({ after }) => after),
  );
  writes.push(...given.writes, ...taken.writes);
  const occurrences = [
    ...added.map((partner) => partnerCreated(partner, further.get(partner.id))),
    ...completed.map(({ before, after }) =>
      partnerChanged(before, after, taken, "partner.updated", further.get(after.id)),
    ),
    ...given.occurrences,
    ...taken.occurrences,
  ];
  return { writes, occurrences, rest: taken.rest };
}

function slugsOf({ id }: KnownPartner, codes: readonly string[]) {
  return codes.map((slug_key) => ({ id, slug_key }));
}

/** The metadata for the webhooks, by the partner's id. */
async function readMetadata(ctx: ProgramCtx, changed: readonly ChangedPartner[]) {
  const ids = changed.flatMap(({ before }) => (before ? [before.id] : []));
  if (ids.length === 0) return new Map<string, Partner["metadata"]>();
  const { id, metadata } = partners;
  const [rows] = await ctx.read(
    ctx.db
      .select({ id, metadata })
      .from(partners)
      .where(
        sql`${id} in (select value from json_each(${JSON.stringify(ids)})) and ${alsoOfProgram(ctx, partners.program_id)}`,
      ),
  );
  return new Map(rows.map((row) => [row.id, row.metadata]));
}

/** Binds all rows as one parameter, because a statement takes at most a hundred. */
function insertPartners(ctx: ProgramCtx, rows: readonly Partner[]) {
  const { program_id: _, accounts_forgotten: _none, ...columns } = getTableColumns(partners);
  const names = sql.raw(Object.keys(columns).join(", "));
  const values = sql.raw(
    Object.keys(columns)
      .map((column) => `value ->> '${column}'`)
      .join(", "),
  );
  return ctx.db.run(sql`insert into partners (program_id, ${names})
    select ${ctx.program.id}, ${values} from json_each(${JSON.stringify(rows)})`);
}

function claimSlugs(ctx: ProgramCtx, slugs: readonly { id: string; slug_key: string }[]) {
  return ctx.db.run(sql`insert into partner_slugs (program_id, slug_key, partner_id)
    select ${ctx.program.id}, value ->> 'slug_key', value ->> 'id' from json_each(${JSON.stringify(slugs)})`);
}
