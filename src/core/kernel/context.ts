import { sql, type SQL } from "drizzle-orm";
import { reusable, runBatch, runRaw, type Database, type Rows, type Statement } from "../../db/client.ts";
import type { JsonText } from "../../db/page.ts";
import { orNull, shaped, text, whole } from "../../db/rows.ts";
import { programs } from "../../db/schema.ts";
import type { SealedPlace } from "../../db/sealed.ts";
import type { Databases } from "../../db/shards.ts";
import { actors, type Actor } from "../../domain/actor.ts";
import type { OwnHosts } from "../../domain/own-host.ts";
import { AppError } from "../../lib/errors.ts";
import { remember } from "../../lib/remembered.ts";
import type { Sealed } from "../../lib/seal.ts";
import { SECOND } from "../../lib/time.ts";
import type { Archive } from "./click-archive.ts";
import { CommitConflict, refuseIf } from "./conflict.ts";
import type { Mailer } from "./notices.ts";
import { PROGRAM_OBJECT, selectPrograms } from "./program-rows.ts";
import type { Program } from "./rows.ts";

export type { Statement } from "../../db/client.ts";

/**
 * What a read needs in addition to its input, before it is known who acts: nothing that is written to the audit log can be
 * done with it. Time comes in as `now` (ms) and chance through ids minted from it; nothing in core reads a clock.
 */
export interface BaseCtx {
  /** The database of `shard`. */
  db: Database;
  shard: number;
  /** The deployment's other databases (`core/kernel/shards.ts`). */
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
  /** Null where a deployment has no e-mail: then nobody is notified. */
  mailer: Mailer | null;
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

/** What is read in the name of one program, which is known by its id or by the hash of a key that was presented. */
export interface Reader extends BaseCtx {
  /** The program's id as SQL, usable in the first read already: `WHERE program_id = ${reader.programId}`. */
  programId: SQL;
  /** Runs the statements in one round trip and returns their rows; where a key is yet to be proven, that too. */
  read: Read;
  /** The same for a page of a list: one statement, also where the key is looked up. */
  readPage: <View>(parts: PageParts) => Promise<PageRead<View>>;
}

/** The bearer of a key. Only rows prove it: what acts for the program comes with them, and in no other way. */
export interface Unproven extends Reader {
  prove: Prove;
  /** Looks the key up where no read has done it yet. @throws `unauthorized` for an unknown key. */
  authenticate: () => Promise<void>;
  /** See `act`. */
  act: <T>(work: (ctx: ProgramCtx) => Promise<T>) => Promise<T>;
}

/** A context that acts for one program. */
export interface ProgramCtx extends Reader, Ctx {
  program: Program;
  /** Where no row has proven yet who acts: the guard that proves it beside the change, and what notes that it held. */
  assumed?: { holds: Statement; held: () => void };
  /** Statements that store the reply beside the change it reports (`http/idempotency.ts`). */
  alongside?: (result: unknown) => Promise<Alongside>;
}

/** What is committed beside a change, and who is notified once it is: a commit that lost its race leaves nothing of it. */
export interface Alongside {
  statements: Statement[];
  committed: () => void;
}

/** Who calls a verb: a bearer, or somebody who is known already. */
export type Caller = Unproven | ProgramCtx;

/**
 * The context in which the caller acts, and the rows of the statements; a key is looked up in the same round trip. Of a
 * caller who is known nothing is read where there are no statements. @throws `unauthorized` for an unknown key.
 */
export async function prove<const T extends readonly Statement[]>(
  caller: Caller,
  ...statements: T
): Promise<Proven<T>> {
  return "program" in caller ? [caller, ...(await caller.read(...statements))] : caller.prove(...statements);
}

/**
 * Does a change that one commit makes and that reads nothing before it. Of a key that this isolate knows of late the change
 * itself is what looks it up: the commit holds only where the key and its program are still what they were, and where they
 * are not, nothing was written and `work` runs again with what is read. So `work` may run twice, and says nothing of the
 * program before its commit. @throws `unauthorized` for an unknown key.
 */
export async function act<T>(caller: Caller, work: (ctx: ProgramCtx) => Promise<T>): Promise<T> {
  return "program" in caller ? work(caller) : caller.act(work);
}

type Prove = <const T extends readonly Statement[]>(...statements: T) => Promise<Proven<T>>;
export type Proven<T extends readonly Statement[]> = [ctx: ProgramCtx, ...rows: Rows<T>];

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
  selectPrograms(db).where(sql`${programs.api_key_hash} = ${sql.placeholder("api_key_hash")}`),
);

/** The programs of keys that this isolate has looked up of late, by the key's hash; their secrets only as they are sealed. */
const knownBearers = remember<string, Program>(1_000);
const REMEMBERED_MS = 10 * SECOND;

/** The same context, whose commit holds only where the key is still this program's; that it held proves the key. */
function assuming(ctx: ProgramCtx, api_key_hash: string, onHeld: (ctx: ProgramCtx) => void): ProgramCtx {
  const { id, updated_at } = ctx.program;
  const same = sql`select 1 from programs
    where api_key_hash = ${api_key_hash} and id = ${id} and updated_at = ${updated_at}`;
  const holds = ctx.db.run(refuseIf(sql`not exists (${same})`));
  return { ...ctx, assumed: { holds, held: () => onHeld(ctx) } };
}

/** Null where a guard of the commit did not hold: nothing was written. */
async function unlessRefused<T>(work: () => Promise<T>): Promise<{ result: T } | null> {
  try {
    return { result: await work() };
  } catch (error) {
    if (error instanceof CommitConflict && error.kind === "lost_race") return null;
    throw error;
  }
}

/** A page and the program of the key in one statement. */
async function readPageOfKey(db: Database, api_key_hash: string, parts: PageParts) {
  const rows = await runRaw<PageRow>(
    db,
    sql`select ${PROGRAM_OBJECT}, (${parts.total}) from programs where api_key_hash = ${api_key_hash}
      union all select object, null from (${parts.rows})`,
  );
  const [program] = wholeOf(rows) ?? [];
  return { program: program ? (JSON.parse(program) as Program) : undefined, rows };
}

/** The program of a key by the primary, and the rows of a copy; null where it does not answer, or knows the key for no such program. */
async function askBoth(primary: Database, copy: Database, api_key_hash: string, statements: readonly Statement[]) {
  const sameKey = shaped(primary, { id: text }, sql`select id from programs where api_key_hash = ${api_key_hash}`);
  const [[[program]], copied] = await Promise.all([
    runBatch(primary, [programOfKey(primary, { api_key_hash })]),
    runBatch(copy, [sameKey, ...statements]).catch(() => null),
  ]);
  const [seen, ...rows]: readonly unknown[] = copied ?? [];
  const isSame = program !== undefined && (seen as { id: string }[] | undefined)?.[0]?.id === program.id;
  return { program, rows: isSame ? rows : null };
}

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
export function forApiKey(ctx: BaseCtx, api_key_hash: string, bearer: Bearer, copy: Copy | null = null): Unproven {
  let proven: ProgramCtx | undefined;
  const contextOf = (program: Program): ProgramCtx => {
    return { ...actingAs(ctx, actors.apiKey(program)), program, programId: sql`${program.id}`, read, readPage };
  };
  const accept = async (program: Program | undefined): Promise<ProgramCtx> => {
    if (!program) {
      await bearer.onUnknown();
      throw new AppError("unauthorized", "The API key is not valid.");
    }
    bearer.onFound(program);
    knownBearers.set(api_key_hash, program, ctx.now + REMEMBERED_MS);
    return (proven = contextOf(program));
  };
  let isCopyGood = copy !== null;
  const readKnown = async (statements: readonly Statement[]): Promise<readonly unknown[]> => {
    if (statements.length === 0) return [];
    const from = isCopyGood ? copy : null;
    const rows = await runBatch(from?.db ?? ctx.db, statements);
    copy?.onShown(from ? "copy" : "primary");
    return rows;
  };
  /** The proven context, and the rows. */
  const ask = async (statements: readonly Statement[]): Promise<[ProgramCtx, ...unknown[]]> => {
    if (proven) return [proven, ...(await readKnown(statements))];
    if (!copy || statements.length === 0) {
      const lookup = programOfKey(ctx.db, { api_key_hash });
      const [bearers, ...rows]: readonly unknown[] = await runBatch(ctx.db, [lookup, ...statements]);
      return [await accept((bearers as Program[])[0]), ...rows];
    }
    const { program, rows } = await askBoth(ctx.db, copy.db, api_key_hash, statements);
    const known = await accept(program);
    if (rows) {
      copy.onShown("copy");
      return [known, ...rows];
    }
    // The copy did not answer, or has not heard of this key yet: then what it gave is nobody's.
    isCopyGood = false;
    return [known, ...(await readKnown(statements))];
  };
  const read: Read = async (...statements) => (await ask(statements)).slice(1) as never;
  const readPage: Reader["readPage"] = async (parts) => {
    if (proven || copy) return readPageBy(read, ctx.db, parts);
    const { program, rows } = await readPageOfKey(ctx.db, api_key_hash, parts);
    await accept(program);
    return pageOfRows(rows);
  };
  return {
    ...ctx,
    programId: sql`(select id from programs where api_key_hash = ${api_key_hash})`,
    read,
    readPage,
    async prove(...statements) {
      const found = await ask(statements);
      // The program's own row may be shown.
      copy?.onShown("primary");
      return found as never;
    },
    authenticate: async () => void (await ask([])),
    async act(work) {
      // What was changed may be shown.
      copy?.onShown("primary");
      const known = proven ? undefined : knownBearers.get(api_key_hash, ctx.now);
      const assumed = known && assuming(contextOf(known), api_key_hash, (held) => (proven = held));
      const done = assumed && (await unlessRefused(() => work(assumed)));
      return done ? done.result : work((await ask([]))[0]);
    },
  };
}
