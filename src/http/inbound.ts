import { Hono, type Context } from "hono";
import { actingAs, type Ctx, type ProgramCtx } from "../core/kernel/context.ts";
import {
  knownProgram,
  locateByClaim,
  openProgramOrNull,
  verifyBy,
  type KnownProgramCtx,
  type Verdict,
} from "../core/inbound/locate.ts";
import type { Received } from "../core/inbound/receive.ts";
import { takeEvent } from "../core/inbound/take-event.ts";
import { readThin, type Understood, type Unread } from "../core/inbound/thin.ts";
import { providerSecrets } from "../core/kernel/provider-secrets.ts";
import { actors } from "../domain/actor.ts";
import type { UnreadReason } from "../domain/refusal.ts";
import { isProgramId, shardOfProgram } from "../domain/shard.ts";
import type { AppEnv } from "../env.ts";
import { AppError, notFound } from "../lib/errors.ts";
import { remember } from "../lib/remembered.ts";
import { HOUR, MINUTE } from "../lib/time.ts";
import type { Vendor } from "../providers/provider.ts";
import { VENDORS } from "../providers/registry.ts";
import { readsOf } from "./connect.ts";
import { logUnowned, noteRefused, noteRefusedUnread } from "./refused-webhooks.ts";
import { countWrongSecret, isGuesser, refuseGuesser } from "./rate-limit.ts";
import { checkBody, checkUnread } from "./unverified-body.ts";

/** `POST /webhooks/<provider>`: called by the payment providers, verified by their signatures. */
export const inbound = new Hono<AppEnv>();
for (const provider of VENDORS) inbound.post(`/${provider.name}`, (c) => receive(c, provider));

interface Arrival {
  c: Context<AppEnv>;
  base: Ctx;
  provider: Vendor;
  /** The signature header; null if it is missing. */
  header: string | null;
  /** The program in the URL; null if the provider's events may name it. */
  program_id: string | null;
}

/** A body whose signature fits a secret of this program. */
interface Verified {
  ctx: ProgramCtx | KnownProgramCtx;
  body: Uint8Array;
  json: Json;
}

/**
 * Checks in this order: header, limits, program, raw bytes, signature, facts, ledger. A stranger's request is refused
 * at the earliest possible step, before the cost of the later ones. 200 only after the facts are durable; for the
 * replies see IN-2 to IN-4.
 */
async function receive(c: Context<AppEnv>, provider: Vendor): Promise<Response> {
  const arrival = await checkUnread(c.req, async () => {
    const arriving = arrivalOf(c, provider);
    await refuseByHeader(arriving);
    refuseByLimits(arriving);
    return arriving;
  });
  const verified = await readVerified(arrival);
  const taken =
    (await take(arrival, verified)) ??
    // The remembered program was outdated: read it and verify again.
    (await take(arrival, await verifyByRead(arrival, verified.ctx.program.id, async () => verified.body)));
  if (!taken) throw new Error("a program that was read is never remembered");
  const { outcome, ignored } = taken;
  return c.json({ received: true, outcome, ...(ignored === null ? {} : { reason: ignored }) });
}

/** Null if the program is remembered and outdated; then the event was not stored. */
async function take(arrival: Arrival, { ctx, body, json }: Verified): Promise<Received | null> {
  const { c, provider, header } = arrival;
  const understood = json.ok ? await understand(arrival, ctx, json) : null;
  if (understood && "parsed" in understood && understood.parsed.ok) {
    const { value, text, parsed } = understood;
    const claim = provider.claimedOwner(value);
    const proof = { header, signed: body };
    return orUnavailable(() =>
      takeEvent(ctx, { provider: provider.name, event: parsed.event, body: text, claim, proof }),
    );
  }
  const reason = understood && "reason" in understood ? understood.reason : null;
  // If the provider itself fails, reading the program again does not help.
  if ("unchanged" in ctx && (reason === null || reason in OWNERS)) return null;
  noteRefused(c, provider.name, reason ?? "unparsable", ctx);
  if (understood && "reason" in understood) throw unread(understood);
  if (!understood) throw new AppError("invalid_json", "The body is not valid JSON.");
  const details = understood.parsed.ok ? [] : understood.parsed.details;
  throw new AppError("validation_failed", "This is not the documented shape of the event.", { details });
}

async function understand({ c, provider }: Arrival, ctx: ProgramCtx, json: JsonBody): Promise<Understood> {
  const { value, text } = json;
  const thin = provider.thinOf?.(value) ?? null;
  if (thin) return readThin(ctx, provider, { value, text }, thin, readsOf(c.env)(provider));
  return { value, text, parsed: provider.parse(value) };
}

/** Problems that the owner must fix; the provider then sends the event again. */
const OWNERS: Partial<Record<UnreadReason, string>> = {
  no_api_key: "This event only has a reference to its data, and the program has no API key to read it yet.",
  api_key_refused:
    "This event only has a reference to its data, and the provider does not accept the program's API key.",
  permission_missing:
    "This event only has a reference to its data, and the program's API key lacks the permission to read it.",
  test_key: "This event only has a reference to its data in live mode, and the program's API key is a test-mode key.",
};

const RETRY_SECONDS = 60;

/** The answer to an event that could not be read in full (IN-18). */
function unread({ reason, retry_after_ms }: Unread): AppError {
  const message = OWNERS[reason];
  if (message !== undefined) return new AppError("provider_not_configured", message);
  return new AppError("provider_unavailable", "This event only has a reference to its data, which could not be read.", {
    retryAfter: retry_after_ms === null ? RETRY_SECONDS : Math.ceil(retry_after_ms / 1000),
  });
}

/** Continues if the caller hangs up: its place is freed at once, and it counts as a failure. */
function readVerified(arrival: Arrival): Promise<Verified> {
  const { c, program_id } = arrival;
  const verifying = checkBody(
    c.req,
    (read) => (program_id === null ? verifyUnnamed(arrival, read) : verifyNamed(arrival, program_id, read)),
    () => countWrongSecret(c, program_id ?? UNNAMED),
  );
  c.executionCtx.waitUntil(verifying.catch(() => undefined));
  return verifying;
}

/** @throws `not_found` if the URL does not name a possible program. */
function arrivalOf(c: Context<AppEnv>, provider: Vendor): Arrival {
  const program_id = c.req.query("program_id") ?? null;
  if (program_id === null ? !provider.claims_programs : !isProgramId(program_id)) throw unknownProgram(c, provider);
  const header = provider.signature_headers.map((name) => c.req.header(name)).find((value) => value !== undefined);
  const base = actingAs(c.var.base, actors.provider(provider.name));
  return { c, base, provider, header: header ?? null, program_id };
}

/**
 * Failures are counted by network and by program, because a provider sends for many programs from the same addresses:
 * one program with a wrong secret must not block the others. All failures without an existing program share one count,
 * because a stranger can name any number of programs.
 */
const UNNAMED = "no program";
const UNKNOWN = "unknown programs";

/** Whether a program with this id exists, as far as this isolate has looked. */
const looked = remember<string, boolean>(10_000);

/** The form and the time of the signature header are checked before the body is read (IN-5). */
async function refuseByHeader(arrival: Arrival): Promise<void> {
  const { c, provider, header, program_id } = arrival;
  const problem = provider.whyRefused({ header, now: c.var.now });
  if (problem === null) return;
  if (program_id !== null && looked.get(program_id, c.var.now) !== false) {
    noteRefusedUnread(c, provider.name, problem, program_id, () => openProgram(arrival, program_id));
  }
  // A request without a signature is not a guess.
  if (header !== null) await countWrongSecret(c, program_id ?? UNNAMED);
  throw invalidSignature(problem === "time" ? "The signature is of another time." : "A signature is missing.");
}

function refuseByLimits({ c, provider, program_id }: Arrival): void {
  if (program_id === null) return refuseGuesser(c, UNNAMED);
  refuseGuesser(c, program_id);
  const isHere = looked.get(program_id, c.var.now);
  if (isHere === false) throw unknownProgram(c, provider);
  // The shared count of unknown programs must not block a program that exists.
  if (isHere === undefined) refuseGuesser(c, UNKNOWN);
}

type Read = () => Promise<Uint8Array>;

/**
 * Verifies the signature before the body is parsed if the URL names the program (IN-5). First by this isolate's copy of
 * the program, which the database confirms when the event is stored. Without a copy, and before any refusal, by the
 * database.
 */
async function verifyNamed(arrival: Arrival, program_id: string, read: Read): Promise<Verified> {
  const known = knownProgram(arrival.base, arrival.provider.name, program_id);
  if (!known) return verifyByRead(arrival, program_id, read);
  const body = await read();
  if ((await verify(arrival, known, body)) === "verified") return { ctx: known, body, json: parseJson(body) };
  return verifyByRead(arrival, program_id, async () => body);
}

async function verifyByRead(arrival: Arrival, program_id: string, read: Read): Promise<Verified> {
  const ctx = await openProgram(arrival, program_id);
  if (!ctx) {
    await countWrongSecret(arrival.c, UNKNOWN);
    throw unknownProgram(arrival.c, arrival.provider);
  }
  const secrets = await providerSecrets(ctx, ctx.program, arrival.provider.name);
  if (secrets.length === 0) throw await refused(arrival, ctx, "not_configured");
  const body = await read();
  const verdict = await verify(arrival, ctx, body);
  if (verdict !== "verified") throw await refused(arrival, ctx, verdict);
  return { ctx, body, json: parseJson(body) };
}

async function verifyUnnamed(arrival: Arrival, read: Read): Promise<Verified> {
  const { c, base, provider, header } = arrival;
  const body = await read();
  const json = parseJson(body);
  const claim = provider.claimedOwner(json.ok ? json.value : null);
  if (claim.program_id !== null && isProgramId(claim.program_id) && isGuesser(c, claim.program_id)) {
    // The body had to be read to find its program: count that, so that repeated attempts are refused before the read.
    await countWrongSecret(c, UNNAMED);
    refuseGuesser(c, claim.program_id);
  }
  const proof = { header, signed: body };
  const found = await orUnavailable(() => locateByClaim(base, { provider: provider.name, claim, proof }));
  if (found?.verdict === "verified") return { ctx: found.ctx, body, json };
  if (found) throw await refused(arrival, found.ctx, found.verdict);
  await countWrongSecret(c, UNNAMED);
  throw unknownProgram(c, provider);
}

async function openProgram({ base, provider }: Arrival, program_id: string): Promise<ProgramCtx | null> {
  const ctx = await orUnavailable(() => openProgramOrNull(base, provider.name, program_id));
  const { now, databases } = base;
  if (databases.open(shardOfProgram(program_id))) looked.set(program_id, ctx !== null, now + (ctx ? HOUR : MINUTE));
  return ctx;
}

function verify({ provider, header }: Arrival, ctx: ProgramCtx, body: Uint8Array): Promise<Verdict> {
  return verifyBy(ctx, { provider: provider.name, proof: { header, signed: body } });
}

/** Counts and reports a refusal by this program; returns the error to throw. */
async function refused(
  { c, provider }: Arrival,
  ctx: ProgramCtx,
  verdict: Exclude<Verdict, "verified">,
): Promise<AppError> {
  noteRefused(c, provider.name, verdict, ctx);
  await countWrongSecret(c, ctx.program.id);
  if (verdict === "wrong_signature") return invalidSignature("The signature does not match this body and time.");
  return new AppError("provider_not_configured", "This program has no signing secret for this provider yet.");
}

function unknownProgram(c: Context<AppEnv>, provider: Vendor): AppError {
  logUnowned(c, provider.name, "unknown_program");
  return notFound("program");
}

function invalidSignature(message: string): AppError {
  return new AppError("invalid_signature", message);
}

type JsonBody = { ok: true; value: unknown; text: string };
type Json = JsonBody | { ok: false };

function parseJson(body: Uint8Array): Json {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body);
    return { ok: true, value: JSON.parse(text) as unknown, text };
  } catch {
    return { ok: false };
  }
}

/** Turns a storage failure into 503, so that the vendor sends the event again (IN-4). */
async function orUnavailable<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw new AppError("storage_unavailable", "The event could not be stored; send it again.", {
      retryAfter: 30,
      cause: error,
    });
  }
}
