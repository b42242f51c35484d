import { Hono, type Context } from "hono";
import type { Ctx, Program } from "../core/context.ts";
import { findClaimedProgram, receiveEvent } from "../core/inbound.ts";
import { providerSecrets } from "../core/provider-secrets.ts";
import type { AppEnv } from "../env.ts";
import { AppError, notFound } from "../lib/errors.ts";
import { readBody } from "../lib/request-body.ts";
import type { Provider } from "../providers/provider.ts";
import { providerA } from "../providers/provider-a.ts";
import { providerB } from "../providers/provider-b.ts";

const BODY_LIMIT = 1024 * 1024;

/** `POST /webhooks/provider_a|provider_b`: called by the payment providers, verified by their signatures. */
export const inbound = new Hono<AppEnv>()
  .post("/provider_a", (c) => receive(c, providerA))
  .post("/provider_b", (c) => receive(c, providerB));

/**
 * Raw bytes → program → signature → facts → ledger. 200 only after the facts are durable; the table of answers is
 * contract §5, "Inbound endpoints".
 */
async function receive(c: Context<AppEnv>, provider: Provider): Promise<Response> {
  const body = await readBody(c.req.raw, BODY_LIMIT);
  if (!body) throw new AppError("payload_too_large", "The body is at most 1 MiB.");
  const base: Ctx = { ...c.var.base, actor: "provider" };
  const json = parseJson(body);
  const claim = provider.claimedOwner(json.ok ? json.value : null);
  const ctx = await orUnavailable(() =>
    findClaimedProgram(base, provider.name, claim, c.req.query("program_id") ?? null),
  );
  if (!ctx) throw notFound("program");
  await verified(c, provider, ctx.program, body);
  if (!json.ok) throw new AppError("invalid_json", "The body is not valid JSON.");
  const parsed = provider.parse(json.value);
  if (!parsed.ok) {
    throw new AppError("validation_failed", "This is not the documented shape of the event.", {
      details: parsed.details,
    });
  }
  const { outcome, ignored } = await orUnavailable(() => receiveEvent(ctx, provider.name, parsed.event, json.text));
  return c.json({ received: true, outcome, ...(ignored === null ? {} : { reason: ignored }) });
}

async function verified(c: Context<AppEnv>, provider: Provider, program: Program, body: Uint8Array): Promise<void> {
  const { sealer, now } = c.var.base;
  const secrets = await providerSecrets({ sealer, now }, program, provider.name);
  if (secrets.length === 0) {
    throw new AppError("provider_not_configured", "This program has no signing secret for this provider yet.");
  }
  const header = provider.signature_headers.map((name) => c.req.header(name)).find((value) => value !== undefined);
  if (!(await provider.verify({ header: header ?? null, body, secrets, now }))) {
    throw new AppError("invalid_signature", "The signature does not match this body and time.");
  }
}

type Json = { ok: true; value: unknown; text: string } | { ok: false };

function parseJson(body: Uint8Array): Json {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body);
    return { ok: true, value: JSON.parse(text) as unknown, text };
  } catch {
    return { ok: false };
  }
}

/** Storage that fails is 503, so that the vendor sends the event again (contract §5). */
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
