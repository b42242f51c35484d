/** Creates the destination of a vendor's webhooks at the vendor, and stores its secret (IN-20). */
import { and, eq, sql } from "drizzle-orm";
import { programs, providerConnections } from "../../db/schema.ts";
import type { VendorName } from "../../domain/provider-name.ts";
import { webhookUrl } from "../../domain/webhook-url.ts";
import { AppError, invalidField, notFound } from "../../lib/errors.ts";
import type { Destination, DestinationAnswer, VendorDestinations } from "../../providers/destinations.ts";
import type { Vendor } from "../../providers/provider.ts";
import { vendorNamed } from "../../providers/registry.ts";
import { nextStamp } from "../../lib/time.ts";
import { commit, type Occurrence } from "../kernel/commit.ts";
import { connectionOf, type Connection } from "../kernel/connections.ts";
import { forProgram, prove, type Caller, type ProgramCtx } from "../kernel/context.ts";
import { selectPrograms } from "../kernel/program-rows.ts";
import {
  changedSecrets,
  fingerprint,
  isOutOfMode,
  openApiKey,
  openCurrentSecret,
  secretsChanged,
} from "../kernel/provider-secrets.ts";
import { untilWon } from "../kernel/races.ts";
import { claimDestination, destinationText, type Claim, type KnownDestination } from "./destination-claim.ts";

/** The vendor's API for destinations in this deployment; null for a vendor without one. */
export type DestinationsOf = (provider: Vendor) => VendorDestinations | null;

export interface DestinationInput {
  provider: string;
  /** `PUBLIC_URL`. */
  origin: string;
  /** Whether a stored secret that belongs to no destination at this address may be replaced by that of a new one. */
  replace: boolean;
}

export interface MadeDestination {
  provider: VendorName;
  /** The vendor's id. */
  destination_id: string;
  url: string;
  outcome: "created" | "updated" | "unchanged";
  /** Event types that the destination did not receive before; all of them if it is new. */
  event_types_added: string[];
  /** Whether it receives only the events of the vendor's test mode. */
  test: boolean;
  /**
   * `stored` now; `kept` from before, this destination's; `unverified`: pasted, and the vendor does not show its own.
   */
  secret: "stored" | "kept" | "unverified";
  /** Others at the same address that the vendor did not remove. */
  not_removed: number;
  /** Active destinations at addresses of other programs here: they all receive the account's events. */
  other_programs: number;
}

/**
 * Creates the program's webhook destination at the vendor with its API key, or adds the required types to the one at
 * its address. If the vendor returns a secret, it is sealed and stored in the transaction of the event. Then the
 * destinations at the same address whose secret was never stored are removed: so the next call can continue after an
 * aborted one. @throws `not_found` for an unknown provider; `provider_not_configured` without an API key;
 * `already_exists` if the secret of another destination is stored and `replace` is not given; `invalid_transition` if
 * another call is doing the same; `validation_failed` with the vendor's reason, and for a test-mode key that would
 * replace the secret of a program that counts only live payments; `provider_unavailable` if the vendor gives no reason.
 */
export async function makeDestination(
  caller: Caller,
  { provider: name, origin, replace }: DestinationInput,
  destinationsOf: DestinationsOf,
): Promise<MadeDestination> {
  const [known, [program]] = await prove(
    caller,
    selectPrograms(caller.db).where(sql`${programs.id} = ${caller.programId}`),
  );
  if (!program) throw notFound("program");
  const provider = vendorNamed(name);
  if (!provider) throw notFound("provider");
  const destinations = destinationsOf(provider);
  if (!destinations) {
    throw new AppError("provider_not_configured", "The address can only be entered at this provider by hand.");
  }
  const ctx = forProgram(known, program);
  if (connectionOf(program, provider.name).api_key === null) {
    throw new AppError("provider_not_configured", "This program has no API key for this provider yet.");
  }
  const claim = await claimDestination(ctx, provider.name);
  try {
    const api_key = await openApiKey(ctx, provider.name);
    if (api_key === null) throw invalidField(`${provider.name}_api_key`, "The stored API key can no longer be used.");
    const { needed, better } = provider.wanted_events;
    const types = [...needed, ...better].map(({ type }) => type);
    const url = webhookUrl(origin, program.id, provider.name);
    return await makeAt({ ctx, provider, vendor: destinations, api_key, claim, url, types }, replace);
  } finally {
    await claim.release();
  }
}

/** The state of a call: the program as it was read when the call began. */
interface Making {
  ctx: ProgramCtx;
  provider: Vendor;
  vendor: VendorDestinations;
  api_key: string;
  claim: Claim;
  url: string;
  types: string[];
}

async function makeAt(making: Making, replace: boolean): Promise<MadeDestination> {
  const { ctx, provider, vendor, api_key, url, types } = making;
  const all = valueOf(making, await vendor.list(api_key));
  const here = all.filter((one) => URL.parse(one.url)?.href === new URL(url).href);
  const stored = await openCurrentSecret(ctx, ctx.program, provider.name);
  const own = await ownOf(making, here, stored);
  // A test-mode destination would end the program's live payments.
  if (!own && stored !== null && isOutOfMode(ctx.program, vendor, api_key)) {
    throw invalidField(`${provider.name}_api_key`, OF_TEST_MODE);
  }
  if (!own && stored !== null && !replace) {
    throw new AppError(
      "already_exists",
      `The stored signing secret belongs to no webhook address that the provider shows for this program with this API key: it may belong to another address or mode. You can replace it; it then stays valid for 24 hours.`,
    );
  }
  const found = own?.destination ?? here.find(({ secret }) => secret !== null);
  const wanted = found && { ...found, types: found.types && [...new Set([...found.types, ...types])] };
  const isAsWanted = found?.is_active === true && found.types?.length === wanted?.types?.length;
  const destination =
    !found || isAsWanted
      ? (found ?? valueOf(making, await vendor.make(api_key, { url, program_id: ctx.program.id, types })))
      : valueOf(making, await vendor.change(api_key, found.id, wanted?.types ?? ["*"]));
  const secret = own?.secret ?? "stored";
  const isStored = await store(making, { destination, secret, before: found ?? null });
  if (!isStored) {
    if (!found) await vendor.remove(api_key, destination.id);
    throw new AppError("invalid_transition", "The signing secret or the API key has changed. Try again.");
  }
  const others = here.filter(({ id, made_for }) => id !== destination.id && (!own || made_for === ctx.program.id));
  let not_removed = 0;
  for (const { id } of others) if ((await vendor.remove(api_key, id)).outcome === "failed") not_removed++;
  const had = found?.types ?? (found ? types : []);
  return {
    ...{ provider: provider.name, destination_id: destination.id, url, secret, not_removed, test: destination.test },
    other_programs: all.filter((one) => one.is_active && isOfAnother(one.url, url)).length,
    outcome: !found ? "created" : isAsWanted && secret !== "stored" ? "unchanged" : "updated",
    event_types_added: types.filter((type) => !had.includes(type)),
  };
}

/** Whether a URL is the webhook address of another program in this deployment; `own` is this program's. */
function isOfAnother(url: string, own: string): boolean {
  const [at, here] = [URL.parse(url), new URL(own)];
  return at?.origin === here.origin && at.pathname === here.pathname && at.search !== here.search;
}

/** The destination of the stored secret; null if it does not exist. */
async function ownOf(
  { ctx, claim: { known } }: Making,
  here: readonly Destination[],
  stored: string | null,
): Promise<{ destination: Destination; secret: "kept" | "unverified" } | null> {
  if (stored === null) return null;
  const isKnown = known !== null && known.secret === (await fingerprint(ctx.program.id, stored));
  const kept = here.find(({ id, secret }) => (secret === null ? isKnown && id === known.id : secret === stored));
  if (kept) return { destination: kept, secret: "kept" };
  // The owner did not paste the secret of a destination that this service made without storing its secret.
  const pasted = isKnown
    ? undefined
    : here.find(({ secret, made_for }) => secret === null && made_for !== ctx.program.id);
  return pasted ? { destination: pasted, secret: "unverified" } : null;
}

const OF_TEST_MODE =
  "The stored API key is a test-mode key, but this program only counts live payments. The signing secret has not changed. Store a live-mode API key.";

interface Stored {
  destination: Destination;
  secret: MadeDestination["secret"];
  /** As it was before this call; null for a new one. */
  before: Destination | null;
}

/** Writes the secret and the events; false if the program's secret, its key or the claim has changed. */
function store({ ctx: begun, provider, claim }: Making, { destination, secret, before }: Stored): Promise<boolean> {
  const { name } = provider;
  const seen = connectionOf(begun.program, name);
  return untilWon(async () => {
    const [[program]] = await begun.read(selectPrograms(begun.db).where(sql`${programs.id} = ${begun.program.id}`));
    const kept = program && connectionOf(program, name);
    const isSeen = kept?.webhook_secret === seen.webhook_secret && kept.api_key === seen.api_key;
    if (!program || !isSeen || kept.destination !== claim.text) return false;
    const ctx = forProgram(begun, program);
    const values = secret === "stored" ? await secretOf(ctx, provider, destination) : {};
    const after = { ...program, connections: { ...program.connections, [name]: { ...kept, ...values } } };
    const changes = secretsChanged(program, after);
    const occurrences = [
      ...happened(provider, destination, before),
      ...(secret === "stored"
        ? [
            {
              type: "program.updated" as const,
              changes,
              payload: { program_id: program.id, changed: Object.keys(changes) },
            },
          ]
        : []),
    ];
    if (occurrences.length === 0) return true;
    const stamp = nextStamp(program.updated_at, ctx.now);
    await commit(ctx, {
      writes: [
        {
          statement: ctx.db
            .update(programs)
            .set({ updated_at: stamp })
            .where(and(eq(programs.id, program.id), eq(programs.updated_at, program.updated_at))),
          expect: 1,
        },
        {
          statement: ctx.db
            .update(providerConnections)
            .set({ ...values, destination: values.destination ?? destinationText(claim.known) })
            .where(
              and(
                eq(providerConnections.program_id, program.id),
                eq(providerConnections.provider, name),
                eq(providerConnections.destination, claim.text),
              ),
            ),
          expect: 1,
        },
      ],
      occurrences,
    });
    return true;
  });
}

/** The columns that store a destination's sealed secret, and the destination it belongs to. */
async function secretOf(ctx: ProgramCtx, { name }: Vendor, { id, secret }: Destination): Promise<Partial<Connection>> {
  const changes = await changedSecrets(ctx, ctx.program, { [`${name}_webhook_secret`]: secret });
  const known: KnownDestination = { id, secret: await fingerprint(ctx.program.id, secret ?? "") };
  return { ...changes.get(name), destination: destinationText(known) };
}

/** The events of the changes at the vendor. */
function happened({ name }: Vendor, after: Destination, before: Destination | null): Occurrence[] {
  const { id, url, test, types, is_active } = after;
  const payload = { provider: name, destination_id: id, url, event_types: types === null ? ["*"] : [...types], test };
  if (!before) return [{ type: "destination.created", payload }];
  const changes = {
    ...(types?.length === before.types?.length ? {} : { event_types: [before.types, types] as [unknown, unknown] }),
    ...(is_active === before.is_active ? {} : { active: [before.is_active, is_active] as [unknown, unknown] }),
  };
  return Object.keys(changes).length > 0 ? [{ type: "destination.updated", changes, payload }] : [];
}

const RETRY_AFTER_SECONDS = 30;

/** The value of the vendor's answer. @throws an error with the vendor's reason if it refused. */
function valueOf<T>({ provider, vendor }: Making, answer: DestinationAnswer<T>): T {
  if (answer.outcome === "done") return answer.value;
  const { text, name } = provider;
  const vendorText = `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
  const refused = (message: string) => invalidField(`${name}_api_key`, message);
  switch (answer.reason) {
    case "api_key_refused":
      throw refused(`${vendorText} does not accept the stored API key: it may be revoked or expired.`);
    case "permission_missing":
      throw refused(`${vendorText} does not let the API key do this: it needs ${vendor.permission}.`);
    case "refused":
      throw refused(`${vendorText} refuses it: ${answer.message ?? "it gives no reason."}`);
    case "rate_limited":
    case "unavailable":
    case "unreadable": {
      const seconds = answer.retry_after_ms === null ? RETRY_AFTER_SECONDS : Math.ceil(answer.retry_after_ms / 1000);
      throw new AppError("provider_unavailable", `${vendorText} ${PASSING[answer.reason]}`, { retryAfter: seconds });
    }
  }
}

const PASSING = {
  rate_limited: "limits requests at the moment. Nothing was changed here; try again later.",
  unavailable: "did not answer, or failed. Try again: we then find anything that it created.",
  unreadable: "gave an unreadable answer. Try again: we then find anything that it created.",
};
