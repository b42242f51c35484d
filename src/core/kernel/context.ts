import { sql, type SQL } from "drizzle-orm";
import { runBatch, runRaw, type Database, type Rows, type Statement } from "../../db/client.ts";
import type { JsonText } from "../../db/page.ts";
import { nullable, selectRows, text, whole } from "../../db/rows.ts";
import type { SealedPlace } from "../../db/sealed.ts";
import type { Databases } from "../../db/shards.ts";
import { actors, type Actor } from "../../domain/actor.ts";
import type { OwnHosts } from "../../domain/own-host.ts";
import { missingScope, SCOPES, type Scope } from "../../domain/scope.ts";
import { AppError } from "../../lib/errors.ts";
import { remember } from "../../lib/remembered.ts";
import type { Sealed } from "../../lib/seal.ts";
import { SECOND } from "../../lib/time.ts";
import type { Archive } from "./click-archive.ts";
import { CommitConflict, refuseIf } from "./conflict.ts";
import { keyLookup, type Holder, type KeyLookup, type PresentedKey } from "./key-lookup.ts";
import type { CommitMails, NewMail, Notice, Occurred } from "./notices.ts";
import type { Program } from "./rows.ts";
import { lacksScope } from "./scopes.ts";

export type { Statement } from "../../db/client.ts";

/**
 * The context of a read, before the actor is known: it cannot write to the audit log. Time is passed in as `now` (ms)
 * and randomness through ids made from it; core never reads a clock.
 */
export interface BaseCtx {
  /** The database of `shard`. */
  db: Database;
  shard: number;
  /** The deployment's other databases (`core/kernel/shards.ts`). */
  databases: Databases;
  /** The bucket of clicks beyond their retention, if one is bound. */
  archive: Archive | null;
  now: number;
  /** Hosts to which no webhook is sent. */
  ownHosts: OwnHosts;
  /** Seals and opens secrets at rest. */
  sealer: Sealer;
  /** Queues wake-ups for a shard's deliveries; a lost one does no harm: the sweep finds the rows. */
  wake: (delivery_ids: string[], shard: number) => void;
  /** Null if the deployment has no e-mail: then no notices are stored. */
  mailer: Mailer | null;
}

/** The context of a verb: every event that it writes has this actor. */
export interface Ctx extends BaseCtx {
  actor: Actor;
}

/** The same context with an actor: the only way from a `BaseCtx` to a `Ctx`. */
export function actingAs<C extends BaseCtx>(ctx: C, actor: Actor): C & Ctx {
  return { ...ctx, actor };
}

/** Encrypts and decrypts secrets for storage (`lib/seal.ts` over the deployment's key). */
export interface Sealer {
  /** The prefix of every value that `seal` makes; values of older keys have another. */
  mark(): Promise<string>;
  /** The prefixes of every value that can be opened; single values may still be tampered with or misplaced. */
  openable(): Promise<string[]>;
  seal(plain: string, place: SealedPlace): Promise<Sealed>;
  /** Null without its key, at another place, or if tampered with: a deployment that lost a key goes on without it. */
  openOrNull(sealed: Sealed, place: SealedPlace): Promise<string | null>;
}

/** A context for reads of one program, which is identified by its id or by the hash of a presented key. */
export interface Reader extends BaseCtx {
  /** The program's id as SQL, usable already in the first read: `WHERE program_id = ${reader.programId}`. */
  programId: SQL;
  /** Runs the statements in one round trip, which also verifies a key that is not verified yet. */
  read: Read;
  /** The same for a page of a list: one statement, even with the lookup of the key. */
  readPage: <View>(parts: PageParts) => Promise<PageRead<View>>;
  /** Whether the actor has the scope: a key by its scopes, once verified; any other actor has all. */
  may: (scope: Scope) => boolean;
}

/** The bearer of a key. Only rows verify it, and only with them does it act for the program. */
export interface Unproven extends Reader {
  prove: Prove;
  /** Looks the key up unless a read has. @throws `unauthorized` if unknown, `forbidden` if it lacks a scope */
  authenticate: () => Promise<void>;
  /** See `act`. */
  act: <T>(work: (ctx: ProgramCtx) => Promise<T>) => Promise<T>;
}

export interface ProgramCtx extends Reader, Ctx {
  program: Program;
  /** When the acting API key ends (ISO 8601); null for one without an end, and for any other actor. */
  key_ends_at: string | null;
  /** Before any row has verified the actor: the guard that does so with the change, and its callback. */
  assumed?: { holds: Statement; held: () => void };
  /** Statements that store the reply beside the change it reports (`http/idempotency.ts`). */
  alongside?: (result: unknown) => Promise<Alongside>;
}

/** The e-mails of a deployment (`core/mails`, `http/mails`). */
export interface Mailer {
  /** Writes the e-mails of a notice, one for each reader. */
  compose: (notice: Notice) => Promise<NewMail[]>;
  /** The part of a commit that stores the e-mails about it. */
  plan: (ctx: ProgramCtx, occurrences: readonly Occurred[], mails: CommitMails) => Promise<MailPlan>;
  /** Has the due e-mails of a program sent, beside the reply. A lost wake-up does no harm. */
  wake: (program_id: string) => void;
}

/** Statements before and after the writes of a commit. */
export interface MailPlan {
  before: Statement[];
  after: Statement[];
  /** Whether it stores e-mails that are due at once. */
  isDue: boolean;
  /** Called if the commit lost a race. @throws `rate_limited` if the program's budget of invitations was the reason. */
  explainRefusal: () => Promise<void>;
}

/** Committed together with a change, and notified once it is: a commit that lost its race writes no part of it. */
export interface Alongside {
  statements: Statement[];
  committed: () => void;
}

/** The caller of a verb: a bearer, or an actor that is known already. */
export type Caller = Unproven | ProgramCtx;

/**
 * The caller's context and the statements' rows, in one round trip at most. @throws `unauthorized` for an unknown key
 */
export async function prove<const T extends readonly Statement[]>(
  caller: Caller,
  ...statements: T
): Promise<Proven<T>> {
  return "program" in caller ? [caller, ...(await caller.read(...statements))] : caller.prove(...statements);
}

/**
 * Makes a change with one commit and without a read before it. For a key that this isolate looked up recently the
 * change itself verifies it: the commit is valid only if the key and its program are unchanged; otherwise no row was
 * written and `work` runs again with the read state. So `work` may run twice, and must not report the program before
 * its commit. @throws `unauthorized` for an unknown key.
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
  const readPage: Reader["readPage"] = (parts) => readPageBy(read, ctx.db, parts);
  return { ...ctx, program, programId: sql`${program.id}`, read, readPage, may: () => true, key_ends_at: null };
}

type PageRow = [text: string | null, total: number | null];

function pageOfRows<View>(rows: readonly PageRow[]): PageRead<View> {
  const texts = rows.flatMap(([text, total]) => (total === null && text !== null ? [text] : []));
  // The parts of a union have no guaranteed order; objects begin with their ids, which sort by age.
  return { total: wholeOf(rows)?.[1] ?? 0, texts: texts.toSorted((a, b) => (a < b ? 1 : -1)) };
}

function wholeOf(rows: readonly PageRow[]): PageRow | undefined {
  return rows.find(([, total]) => total !== null);
}

async function readPageBy<View>(read: Read, db: Database, { total, rows }: PageParts): Promise<PageRead<View>> {
  const [found] = await read(
    selectRows(
      db,
      { text: nullable(text), total: nullable(whole) },
      sql`select null as text, (${total}) as total union all select object, null from (${rows})`,
    ),
  );
  return pageOfRows(found.map((row): PageRow => [row.text, row.total]));
}

/** The holders of keys that this isolate looked up recently, by the key's hash; secrets only in sealed form. */
const knownHolders = remember<string, Holder>(1_000);
const REMEMBERED_MS = 10 * SECOND;

/** The same context, whose commit is valid only while the key belongs to this program, and so verifies it. */
function assuming(ctx: ProgramCtx, same: SQL, onHeld: (ctx: ProgramCtx) => void): ProgramCtx {
  const holds = ctx.db.run(refuseIf(sql`not exists (${same})`));
  return { ...ctx, assumed: { holds, held: () => onHeld(ctx) } };
}

/** Null if a guard of the commit failed: no row was written. */
async function unlessRefused<T>(work: () => Promise<T>): Promise<{ result: T } | null> {
  try {
    return { result: await work() };
  } catch (error) {
    if (error instanceof CommitConflict && error.kind === "lost_race") return null;
    throw error;
  }
}

/** A page and the holder of the key in one statement. */
async function readPageOfKey(db: Database, key: KeyLookup, parts: PageParts) {
  const rows = await runRaw<PageRow>(
    db,
    sql`${key.selectText(parts.total)}
      union all select object, null from (${parts.rows})`,
  );
  const [text] = wholeOf(rows) ?? [];
  return { holder: text ? key.holderOf(text) : undefined, rows };
}

/** A key's holder by the primary, and rows of a replica; null if that does not answer or know the key. */
async function askBoth(primary: Database, copy: Database, key: KeyLookup, statements: readonly Statement[]) {
  const sameKey = selectRows(primary, { id: nullable(text) }, sql`select ${key.programId} as id`);
  const [[found], copied] = await Promise.all([
    runBatch(primary, [key.select(primary)]),
    runBatch(copy, [sameKey, ...statements]).catch(() => null),
  ]);
  const holder = key.holderIn(found);
  const [seen, ...rows]: readonly unknown[] = copied ?? [];
  const isSame = holder !== undefined && (seen as { id: string | null }[] | undefined)?.[0]?.id === holder.program.id;
  return { holder, rows: isSame ? rows : null };
}

/** Called once, by the read that looks the key up. */
export interface Bearer {
  onFound: (holder: Holder) => void;
  /** Called before the 401; an error that it throws is answered instead. */
  onUnknown: () => Promise<void>;
}

async function foundBy(bearer: Bearer, holder: Holder | undefined): Promise<Holder> {
  if (!holder) {
    await bearer.onUnknown();
    throw new AppError("unauthorized", "The API key is not valid.");
  }
  bearer.onFound(holder);
  return holder;
}

/** The scope that a key lacks for its presented purpose. */
function lacking({ further }: PresentedKey, { key }: Holder): Scope | undefined {
  return key ? missingScope(further?.needs ?? SCOPES, key.scopes) : undefined;
}

function holdersContext(ctx: BaseCtx, { program, key }: Holder, reads: Pick<Reader, "read" | "readPage">): ProgramCtx {
  const actor = key ? actors.furtherKey(key) : actors.apiKey(program);
  const may = (scope: Scope) => key === null || key.scopes.includes(scope);
  const key_ends_at = key?.expires_at ?? null;
  return { ...actingAs(ctx, actor), ...reads, program, programId: sql`${program.id}`, may, key_ends_at };
}

/** A replica of the database that serves reads. */
export interface Copy {
  db: Database;
  /** Called with each database that contributes to the reply, once it has. */
  onShown: (of: "copy" | "primary") => void;
}

/**
 * A context for the bearer of an API key, by the key's SHA-256. The first read finds the program and the rows at once;
 * an unknown key answers 401 and one that lacks a scope 403, before any other result: the statements of such a key
 * neither find nor write rows, because they match no program. So a read is one round trip.
 *
 * With a `copy` of the database its reads go there, and the key is looked up on the primary meanwhile: a key that was
 * just replaced is dead for a replica of any age, and rows from the replica are used only if it knows the same key for
 * the same program. If it does not, or does not answer, these and all later rows are read on the primary: a request
 * never goes back in time. The program's own row is the primary's.
 */
export function forApiKey(ctx: BaseCtx, presented: PresentedKey, bearer: Bearer, copy: Copy | null = null): Unproven {
  const lookup = keyLookup(presented, ctx.now);
  let [proven, refused]: [ProgramCtx?, AppError?] = [];
  const accept = async (found: Holder | undefined): Promise<ProgramCtx> => {
    const holder = await foundBy(bearer, found);
    const missing = lacking(presented, holder);
    if (missing) throw (refused = lacksScope(missing));
    knownHolders.set(presented.hash, holder, ctx.now + REMEMBERED_MS);
    return (proven = holdersContext(ctx, holder, { read, readPage }));
  };
  let isCopyGood = copy !== null;
  const readKnown = async (statements: readonly Statement[]): Promise<readonly unknown[]> => {
    if (statements.length === 0) return [];
    const from = isCopyGood ? copy : null;
    const rows = await runBatch(from?.db ?? ctx.db, statements);
    copy?.onShown(from ? "copy" : "primary");
    return rows;
  };
  /** The verified context, and the rows. */
  const ask = async (statements: readonly Statement[]): Promise<[ProgramCtx, ...unknown[]]> => {
    if (proven) return [proven, ...(await readKnown(statements))];
    if (!copy || statements.length === 0) {
      const [found, ...rows]: readonly unknown[] = await runBatch(ctx.db, [lookup.select(ctx.db), ...statements]);
      return [await accept(lookup.holderIn(found)), ...rows];
    }
    const { holder, rows } = await askBoth(ctx.db, copy.db, lookup, statements);
    const known = await accept(holder);
    if (rows) {
      copy.onShown("copy");
      return [known, ...rows];
    }
    // The replica did not answer, or does not know this key yet: then its rows must not be used.
    isCopyGood = false;
    return [known, ...(await readKnown(statements))];
  };
  const read: Read = async (...statements) => (await ask(statements)).slice(1) as never;
  const readPage: Reader["readPage"] = async (parts) => {
    if (proven || copy) return readPageBy(read, ctx.db, parts);
    const { holder, rows } = await readPageOfKey(ctx.db, lookup, parts);
    await accept(holder);
    return pageOfRows(rows);
  };
  return {
    ...ctx,
    programId: lookup.programId,
    read,
    readPage,
    may: (scope) => proven?.may(scope) ?? false,
    async prove(...statements) {
      const found = await ask(statements);
      // The program's own row may be shown.
      copy?.onShown("primary");
      return found as never;
    },
    async authenticate() {
      if (refused) throw refused;
      await ask([]);
    },
    async act(work) {
      // The changed rows may be shown.
      copy?.onShown("primary");
      const known = proven ? undefined : knownHolders.get(presented.hash, ctx.now);
      if (!known || lacking(presented, known)) return work((await ask([]))[0]);
      const own = holdersContext(ctx, known, { read, readPage });
      const assumed = assuming(own, lookup.selectSame(known), (held) => (proven = held));
      const done = await unlessRefused(() => work(assumed));
      return done ? done.result : work((await ask([]))[0]);
    },
  };
}
