import { getTableColumns, sql, type InferSelectModel, type SQL } from "drizzle-orm";
import { reusable, runBatch, runRaw, type Database, type Rows, type Statement } from "../db/client.ts";
import { jsonObject } from "../db/json-object.ts";
import type { JsonText } from "../db/page.ts";
import { orNull, shaped, text, whole } from "../db/rows.ts";
import { programs } from "../db/schema.ts";
import type { SealedPlace } from "../db/sealed.ts";
import type { Databases } from "../db/shards.ts";
import { actors, type Actor } from "../domain/actor.ts";
import type { OwnHosts } from "../domain/own-host.ts";
import { AppError } from "../lib/errors.ts";
import type { Sealed } from "../lib/seal.ts";
import type { Archive } from "./click-archive.ts";
import type { PayoutDetailsNotice } from "./payout-details.ts";

export type Program = InferSelectModel<typeof programs>;
export type { Statement } from "../db/client.ts";

/**
 * What a read needs in addition to its input, before it is known who acts: nothing that is written to the audit log can be
 * done with it. Time comes in as `now` (ms) and chance through ids minted from it; nothing in core reads a clock.
 */
export interface BaseCtx {
  /** The database of `shard`. */
  db: Database;
  shard: number;
  /** The deployment's other databases (`core/shards.ts`). */
  databases: Databases;
  /** The bucket of clicks beyond their retention, where one is bound. */
  archive: Archive | null;
  now: number;
  /** Where no webhook is sent. */
  ownHosts: OwnHosts;
  /** Seals and opens secrets at rest. */
  sealer: Sealer;
  /** Puts wake-ups for these deliveries of a shard on the queue; losing them loses nothing, the sweep finds the rows. */
  wake: (delivery_ids: string[], shard: number) => void;
  /** Sends the e-mails about changed payout details, beside the reply. Neither throws nor makes anybody wait. */
  notify: (notice: PayoutDetailsNotice) => void;
}

/** What a verb needs in addition to its input: every event that it writes has this actor. */
export interface Ctx extends BaseCtx {
  actor: Actor;
}

/** The same context, with somebody who acts: the one way from a `BaseCtx` to a `Ctx`. */
export function actingAs<C extends BaseCtx>(ctx: C, actor: Actor): C & Ctx {
  return { ...ctx, actor };
}

/** Encrypts and decrypts secrets for storage (`lib/seal.ts` over the deployment's key). */
export interface Sealer {
  /** What begins every value that `seal` makes, and none of an older key or form. */
  mark(): Promise<string>;
  seal(plain: string, place: SealedPlace): Promise<Sealed>;
  open(sealed: Sealed, place: SealedPlace): Promise<string>;
  /** Null where `open` throws. */
  openOrNull(sealed: Sealed, place: SealedPlace): Promise<string | null>;
}

/**
 * A context that acts for one program. Until the first read the program is known only by the hash of the key that was
 * presented, and the look-up of the key travels in the same round trip as that read.
 */
export interface ProgramCtx extends Ctx {
  /** Set by the first `read`; reading it earlier is a mistake in the code. */
  program: Program;
  /** The program's id as SQL, usable in the first read already: `WHERE program_id = ${ctx.programId}`. */
  programId: SQL;
  /** Runs the statements in one round trip and returns their rows; authenticates on the first call. */
  read: Read;
  /** The same for a page of a list: one statement, also where the key is looked up. */
  readPage: <View>(parts: PageParts) => Promise<PageRead<View>>;
  /** Statements that store the reply beside the change it reports (`http/idempotency.ts`). */
  alongside?: (result: unknown) => Promise<Alongside>;
}

/** What is committed beside a change, and who is notified once it is: a commit that lost its race leaves nothing of it. */
export interface Alongside {
  statements: Statement[];
  committed: () => void;
}

export type Read = <const T extends readonly Statement[]>(...statements: T) => Promise<Rows<T>>;

export interface PageParts {
  /** A select of one number. */
  total: SQL;
  /** A select of JSON objects, as `object`, which begin with their id. */
  rows: SQL;
}

export interface PageRead<View> {
  total: number;
  /** Newest first. */
  texts: JsonText<View>[];
}

/** A context for a program that is already known: a session's, an inbound webhook's, a job's. */
export function forProgram(ctx: Ctx, program: Program): ProgramCtx {
  const read: Read = (...statements) => runBatch(ctx.db, statements);
  return { ...ctx, program, programId: sql`${program.id}`, read, readPage: (parts) => readPageBy(read, ctx.db, parts) };
}

/** None of a program's columns needs a conversion from what its JSON says. */
const PROGRAM_OBJECT = jsonObject<Program>(getTableColumns(programs));

/** A text and a total: one row for the whole, whose total is a number, and one for each object of the page. */
type PageRow = [text: string | null, total: number | null];

function pageOfRows<View>(rows: readonly PageRow[]): PageRead<View> {
  const texts = rows.flatMap(([text, total]) => (total === null && text !== null ? [text] : []));
  // The parts of a union come in no promised order; objects begin with their ids, which sort by age.
  return { total: wholeOf(rows)?.[1] ?? 0, texts: texts.toSorted((a, b) => (a < b ? 1 : -1)) };
}

function wholeOf(rows: readonly PageRow[]): PageRow | undefined {
  return rows.find(([, total]) => total !== null);
}

async function readPageBy<View>(read: Read, db: Database, { total, rows }: PageParts): Promise<PageRead<View>> {
  const [found] = await read(
    shaped(
      db,
      { text: orNull(text), total: orNull(whole) },
      sql`select null as text, (${total}) as total union all select object, null from (${rows})`,
    ),
  );
  return pageOfRows(found.map((row): PageRow => [row.text, row.total]));
}

const programOfKey = reusable((db) =>
  db
    .select()
    .from(programs)
    .where(sql`${programs.api_key_hash} = ${sql.placeholder("api_key_hash")}`),
);

/** Called once, by the read that looks the key up, whatever form it has. */
export interface Bearer {
  onFound: (program: Program) => void;
  /** Before the 401; what it throws is answered instead. */
  onUnknown: () => Promise<void>;
}

/** A copy of the database that serves reads. */
export interface Copy {
  db: Database;
  /** Called with each database of which the reply may show something, once the reply has it. */
  onShown: (of: "copy" | "primary") => void;
}

/**
 * A context for the bearer of an API key, by the key's SHA-256. The first read finds the program and the rows at once;
 * an unknown key answers 401 whatever else was read. So a read is one round trip.
 *
 * With a `copy` of the database its reads go there, and the key is looked up on the primary meanwhile: a key that was
 * replaced a moment ago is dead however old the copy is, and rows that the copy gave are used only where it knows the
 * same key for the same program. Where it does not, or does not answer, the rows are read on the primary, and so is all
 * that follows: a request never goes back in time. The program's own row is the primary's.
 */
export function forApiKey(ctx: BaseCtx, api_key_hash: string, bearer: Bearer, copy: Copy | null = null): ProgramCtx {
  const programId = sql`(select id from programs where api_key_hash = ${api_key_hash})`;
  let found: Program | undefined;
  const accept = async (program: Program | undefined): Promise<Program> => {
    if (!program) {
      await bearer.onUnknown();
      throw new AppError("unauthorized", "The API key is not valid.");
    }
    found = program;
    bearer.onFound(program);
    bound.programId = sql`${program.id}`;
    return program;
  };
  let isCopyGood = copy !== null;
  const readPrimary: Read = async (...statements) => {
    const rows = await runBatch(ctx.db, statements);
    if (statements.length > 0) copy?.onShown("primary");
    return rows;
  };
  const readCopy = async (db: Database, statements: readonly Statement[]) => {
    const rows = await runBatch(db, statements);
    copy?.onShown("copy");
    return rows as never;
  };
  const read: Read = async (...statements) => {
    if (found) return copy && isCopyGood ? readCopy(copy.db, statements) : readPrimary(...statements);
    const lookup = programOfKey(ctx.db, { api_key_hash });
    if (!copy || statements.length === 0) {
      const [bearers, ...rows]: readonly unknown[] = await runBatch(ctx.db, [lookup, ...statements]);
      await accept((bearers as Program[])[0]);
      return rows as never;
    }
    const sameKey = shaped(ctx.db, { id: text }, sql`select id from programs where api_key_hash = ${api_key_hash}`);
    const [[bearers], copied]: [readonly unknown[], readonly unknown[] | null] = await Promise.all([
      runBatch(ctx.db, [lookup]),
      runBatch(copy.db, [sameKey, ...statements]).catch(() => null),
    ]);
    const { id } = await accept((bearers as Program[])[0]);
    const [seen, ...rows] = copied ?? [];
    if ((seen as { id: string }[] | undefined)?.[0]?.id === id) {
      copy.onShown("copy");
      return rows as never;
    }
    // The copy did not answer, or has not heard of this key yet: then what it gave is nobody's.
    isCopyGood = false;
    return readPrimary(...statements);
  };
  const known = (): Program => {
    if (!found) throw new Error("the program is read before it is known");
    return found;
  };
  const bound: ProgramCtx = {
    ...ctx,
    programId,
    get program(): Program {
      copy?.onShown("primary");
      return known();
    },
    get actor(): Actor {
      return actors.apiKey(known());
    },
    read,
    async readPage(parts) {
      if (found || copy) return readPageBy(read, ctx.db, parts);
      const rows = await runRaw<PageRow>(
        ctx.db,
        sql`select ${PROGRAM_OBJECT}, (${parts.total}) from programs where api_key_hash = ${api_key_hash}
          union all select object, null from (${parts.rows})`,
      );
      const [program] = wholeOf(rows) ?? [];
      await accept(program ? (JSON.parse(program) as Program) : undefined);
      return pageOfRows(rows);
    },
  };
  return bound;
}
