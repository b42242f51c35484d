/** Two programs: the one that the requests come from, replaced now and then, and the one they must never reach. */
import { env } from "cloudflare:workers";
import { randomToken } from "../../src/lib/crypto.ts";
import { byVendor } from "../../src/providers/registry.ts";
import { setSecrets, webhookSecrets } from "../support/program.ts";
import { makeStocked, pageAddress, pageRoutes, type Stocked } from "../support/stocked.ts";
import { csrfIn, makeVisitor, signInOwner, signInPartner, type Visitor } from "../support/visitor.ts";
import { formsIn, type Form } from "./pages.ts";
import { place } from "./place.ts";
import type { Places } from "./places.ts";

export interface World {
  places: Places;
  /** The forms on the pages of the calling program. */
  forms: Form[];
  /** Texts that are in the other program alone: in no request, so in no answer. */
  marks: string[];
  other: Stocked;
}

export async function makeWorld(): Promise<World> {
  const mark = `mark${randomToken(9).replaceAll(/[-_]/g, "x")}`.toLowerCase();
  const other = await makeStocked({ name: `N${mark}`, note: `T${mark}` });
  await setSecrets(other.program.id, webhookSecrets(byVendor((name) => `whsec_${name}${mark}`)));
  const own = await makeOwn();
  return {
    places: { own: own.places, other: placesOf(other) },
    forms: await formsOf(own),
    marks: [mark, other.program.program.owner_email, other.partner.email],
    other,
  };
}

/** The world with a new program to call from: no limit is reached, and damage of an earlier request is repaired. */
export async function renewed(world: World): Promise<World> {
  const { places } = await makeOwn();
  return { ...world, places: { own: places, other: world.places.other } };
}

interface Own {
  stocked: Stocked;
  owner: Visitor;
  partner: Visitor;
  places: Record<string, string>;
}

async function makeOwn(): Promise<Own> {
  const stocked = await makeStocked();
  await readyForProviders(stocked);
  const owner = await signInOwner(stocked.program);
  const partner = await signInPartner(stocked.partner.email);
  const places = { ...placesOf(stocked), ...visitorPlaces("owner", owner), ...visitorPlaces("partner", partner) };
  return { stocked, owner, partner, places };
}

/** So that transfers get as far as the vendor, and a delivery can be sent again. */
async function readyForProviders({ program, partner, ids }: Stocked): Promise<void> {
  await setSecrets(program.id, { provider_a_api_key: "sk_test_fuzz" });
  await env.DB.batch([
    env.DB.prepare("update partners set payout_method = 'provider_a', provider_a_account_id = ? where id = ?").bind(
      `acct_${partner.id}`,
      partner.id,
    ),
    env.DB.prepare("update deliveries set status = 'failed', completed_at = created_at where id = ?").bind(
      ids["deliveries"],
    ),
  ]);
}

/** The forms on all pages, with words of `places.ts` for the ids. */
async function formsOf({ stocked, owner, partner, places }: Own): Promise<Form[]> {
  const found = new Map<string, Form>();
  const ids = Object.entries(places).filter(([, value]) => /^[a-z]{3,4}_\w{20,}$/.test(value));
  const shown = (text: string) => ids.reduce((all, [kind, id]) => all.replaceAll(id, place("own", kind)), text);
  const find = async (visitor: Visitor, address: string) => {
    const { body } = await visitor.get(address);
    for (const form of formsIn(shown(body), shown(address))) found.set(JSON.stringify(form), form);
  };
  for (const { method, path } of pageRoutes("dashboard", "portal")) {
    if (method !== "GET" || path.endsWith(".csv")) continue;
    await find(path.startsWith("/portal") ? partner : owner, pageAddress(path, stocked.ids));
  }
  await find(makeVisitor(), "/sign-in");
  // Signing out, ending sessions or a new key would end the session that the rest of the run needs.
  return [...found.values()].filter(({ action }) => !/sign-out|switch|api-key|sessions/.test(action));
}

function placesOf({ program, partner, ids }: Stocked): Record<string, string> {
  return {
    ...ids,
    program: program.id,
    slug: partner.slug,
    email: program.program.owner_email,
    key: program.api_key,
    operator: env.ADMIN_TOKEN,
  };
}

function visitorPlaces(name: string, { cookies, html }: Visitor): Record<string, string> {
  return {
    [`${name}_cookie`]: [...cookies].map(([key, value]) => `${key}=${value}`).join("; "),
    [`${name}_csrf`]: csrfIn(html),
  };
}

/**
 * Every row of every table that belongs to a program, but for what a stranger may leave there: the note that a delivery
 * with a wrong signature was refused (IN-11), and the e-mail about it (MAIL-11); and what the operator's call of the reconciler notes of every program.
 */
export async function dumpOf(program_id: string): Promise<string> {
  const { results: tables } = await env.DB.prepare(
    `select name from sqlite_master where type = 'table' and sql like '%program_id%' and name <> 'reconciliations'
      order by name`,
  ).all<{ name: string }>();
  const owned = [...tables.map(({ name }) => [name, "program_id"] as const), ["programs", "id"] as const];
  const rows = await env.DB.batch(
    owned.map(([name, owner]) => env.DB.prepare(`select * from ${name} where ${owner} = ?`).bind(program_id)),
  );
  const shown = owned.map(([name], i) => [
    name,
    ...((rows[i]?.results ?? []) as Record<string, unknown>[])
      .filter(({ type, kind }) => type !== "webhook.refused" && kind !== "webhooks_refused")
      .map((row) => JSON.stringify({ ...row, provider_a_refusals: null, provider_b_refusals: null, refusals: null }))
      .toSorted(),
  ]);
  return JSON.stringify(shown, null, 1);
}
