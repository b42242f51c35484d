/**
 * One program to which everything happens, through every route of the service: the action that makes an event of each
 * type.
 */
import { env } from "cloudflare:workers";
import { AUDIT_EVENT_TYPES, VENDOR_NAMES, type ListedVendor } from "../../src/providers/registry.ts";
import { createLinkByHand } from "../../src/core/sessions/sign-in.ts";
import { baseContext } from "../../src/http/context.ts";
import { runCron } from "../../src/jobs.ts";
import { sale, report } from "./api.ts";
import { makeApplication } from "./applications.ts";
import { addPasskey, makeAuthenticator, removePasskeys } from "./authenticator.ts";
import { click, recorded } from "./clicks.ts";
import { create, ENDPOINT } from "./conformance.ts";
import { LIST_KEYS } from "./event-lists.ts";
import { sendImport } from "./imports.ts";
import { sendBody } from "./ledger.ts";
import { makeEndpoint } from "./outbound.ts";
import { makeCommissions } from "./payouts.ts";
import { callApi, makePartner, makeProgram, testContext, type TestProgram } from "./program.ts";
import { changeOwnDetails } from "./own-change.ts";
import { openVendor } from "./provider-a-api.ts";
import { saleAt } from "./sale.ts";
import type { CatalogueType } from "./event-payloads.ts";
import { openDestinations, withVendors, type PlayedVendors } from "./vendor-destinations.ts";
import { TEST_VENDORS } from "./vendors/index.ts";
import { followLink, makeVisitor, signInOwner, signInPartner, textOf, type Visitor } from "./visitor.ts";
import { callWith } from "./watched-database.ts";

interface World {
  program: TestProgram;
  partner: Awaited<ReturnType<typeof makePartner>>;
  /** The id of each vendor's event. */
  sales: Partial<Record<ListedVendor, string>>;
  application_ids: [string, string];
  code_id: string;
  flow_id: string;
  group_id: string;
  member_id: string;
  endpoint_id: string;
  key_id: string;
  vendors: PlayedVendors;
  patch: (path: string, body: unknown) => Promise<unknown>;
}

type OfVendor = `webhook.${ListedVendor}`;
const OF_VENDORS = Object.fromEntries(
  VENDOR_NAMES.map((name) => [`webhook.${name}`, (world: World) => sell(world, name)]),
) as Record<OfVendor, (world: World) => Promise<void>>;

async function sell({ program, partner, sales }: World, vendor: ListedVendor): Promise<void> {
  const body = saleAt(vendor, { ref: partner.slug, program: program.id });
  await sendBody(program, vendor, body);
  const event = JSON.parse(body) as Record<string, string>;
  sales[vendor] = event[TEST_VENDORS[vendor].id_field]!;
}

/**
 * The order matters: later actions change the results of earlier ones. A new type does not compile without its action.
 */
const MADE_BY: Record<CatalogueType, (world: World) => Promise<unknown>> = {
  "partner.created": async (world) => {
    world.partner = await makePartner(world.program, { payout_email: "wanda@example.com" });
  },
  "partner.updated": ({ patch, partner }) =>
    patch(`/partners/${partner.id}`, { payout_email: "walter@example.com", first_name: "Wanda" }),
  "partner.hold_released": ({ program, partner }) => program.api("POST", `/api/v1/partners/${partner.id}/release-hold`),
  "partner.deleted": async ({ program }) => {
    const gone = await makePartner(program);
    await program.api("DELETE", `/api/v1/partners/${gone.id}`);
  },
  "partner.invited": async ({ program }) => {
    const { id } = await makePartner(program, {}, "invited");
    await program.api("POST", `/api/v1/partners/${id}/invite`);
  },
  "applications.received": async (world) => {
    world.application_ids = [await makeApplication(world.program), await makeApplication(world.program)];
  },
  "applications.approved": ({ program, application_ids: [id] }) =>
    program.api("POST", `/api/v1/applications/${id}/approve`),
  "applications.declined": ({ program, application_ids: [, id] }) =>
    program.api("POST", `/api/v1/applications/${id}/decline`),
  "code.created": async (world) => {
    const input = { code: "WANDA20", provider: VENDOR_NAMES[0] };
    await create(world.program, `/api/v1/partners/${world.partner.id}/codes`, input);
  },
  "code.moved": async (world) => {
    const other = await makePartner(world.program);
    const input = { code: "Wanda20", provider: VENDOR_NAMES[0], move: true };
    world.code_id = (await create(world.program, `/api/v1/partners/${other.id}/codes`, input))["id"];
  },
  "code.deleted": ({ program, code_id }) => program.api("DELETE", `/api/v1/codes/${code_id}`),
  "flow.created": async (world) => {
    const flow = await create(world.program, "/api/v1/flows", { name: "x", action_type: "flat", action_value: 1_000 });
    world.flow_id = flow["id"];
  },
  "flow.updated": ({ patch, flow_id }) => patch(`/flows/${flow_id}`, { action_value: 2_000 }),
  "flow.deleted": ({ program, flow_id }) => program.api("DELETE", `/api/v1/flows/${flow_id}`),
  "group.created": async (world) => {
    world.group_id = (await create(world.program, "/api/v1/groups", { name: "Club", slug: "club" }))["id"];
  },
  "group.updated": ({ patch, group_id }) => patch(`/groups/${group_id}`, { commission_pct: 40 }),
  "group.deleted": ({ program, group_id }) => program.api("DELETE", `/api/v1/groups/${group_id}`),
  "webhook_endpoint.created": async (world) => {
    const endpoint = await create(world.program, "/api/v1/webhooks", ENDPOINT);
    world.endpoint_id = endpoint["id"];
  },
  "webhook_endpoint.updated": async ({ program, patch, endpoint_id }) => {
    await patch(`/webhooks/${endpoint_id}`, { description: "new" });
    await program.api("POST", `/api/v1/webhooks/${endpoint_id}/rotate-secret`);
  },
  "webhook_endpoint.deleted": ({ program, endpoint_id }) => program.api("DELETE", `/api/v1/webhooks/${endpoint_id}`),
  "destination.created": async (world) => {
    world.vendors = openDestinations();
    await world.patch("/programs/me", { provider_a_api_key: LIST_KEYS.provider_a });
    await makeDestination(world, { replace: true });
  },
  "destination.updated": async (world) => {
    Object.assign(world.vendors.at.provider_a[0]!, { types: ["invoice.paid"] });
    await makeDestination(world, {});
    await world.patch("/programs/me", { provider_a_api_key: null });
  },
  "account_link.created": async ({ program, patch }) => {
    const { id } = await makePartner(program);
    const provider_a_api_key = LIST_KEYS.provider_a;
    await patch("/programs/me", { provider_a_api_key });
    const link = () => program.api("POST", `/api/v1/partners/${id}/provider-a-account`);
    await withVendors(openVendor({ keys: [provider_a_api_key] }), link);
    await patch("/programs/me", { provider_a_api_key: null });
  },
  ...OF_VENDORS,
  "webhook.api": ({ program, partner }) => report(program, "sale", sale({ ref: partner.slug })),
  "commission.created": ({ program, partner }) =>
    create(program, "/api/v1/commissions", { partner_id: partner.id, amount_cents: 500, note: "by hand" }),
  "webhook.refused": ({ program }) =>
    callWith({}, `/webhooks/provider_a?program_id=${program.id}`, { method: "POST", body: "{}" }),
  "commission.updated": () => fire("17 3 * * *"),
  "customers.imported": ({ program, partner }) =>
    sendImport(program, { kind: "customers" }, `customer_id,partner_code\ncus_1,${partner.slug}\n`),
  click: async ({ program, partner }) => {
    await click({ program_id: program.id, ref: partner.slug, landing: "/", referrer: "" });
    await recorded();
  },
  "claim.created": async ({ partner }) => {
    const portal = await signInPartner(partner.email);
    await send(portal, "/portal/claims", { order_id: "order-1" });
    await send(portal, "/portal/claims", { order_id: "order-2" });
  },
  "claim.granted": async (world) => {
    const id = await openClaim(world.program);
    await world.program.api("POST", `/api/v1/claims/${id}/grant`, { payment_id: await paymentOf(world) });
  },
  "claim.declined": async ({ program }) =>
    program.api("POST", `/api/v1/claims/${await openClaim(program)}/decline`, { note: "no" }),
  "payout.generated": ({ program }) => program.api("POST", "/api/v1/payouts/generate", {}),
  "payout_details.read": ({ program, partner }) => program.api("GET", `/api/v1/partners/${partner.id}/payout-details`),
  "payout_details.asked": async ({ program }) => {
    const { id } = await makePartner(program);
    await program.api("POST", "/api/v1/partners/ask-payout-details", { ids: [id] });
  },
  "tax_data.read": ({ program, partner }) => program.api("GET", `/api/v1/partners/${partner.id}/tax-data`),
  "payout.exported": ({ program }) => program.api("GET", "/api/v1/payouts/export.csv?status=pending"),
  "exchange_rates.updated": ({ program }) =>
    program.api("PUT", "/api/v1/rates", { base: "EUR", rates: { USD: 1.0853 } }),
  "list.exported": async ({ program }) => (await signInOwner(program)).get("/dashboard/partners/list.csv"),
  "payout.paid": async ({ program }) =>
    program.api("POST", `/api/v1/payouts/${await pendingPayout(program)}/mark-paid`, { reference: "bank 1" }),
  "payout.returned": async ({ program }) => {
    const paid = await program.api<{ data: { id: string }[] }>("GET", "/api/v1/payouts?status=paid");
    await program.api("POST", `/api/v1/payouts/${paid.body.data[0]!.id}/returned`, { reason: "Account closed" });
  },
  "payout.updated": async ({ program, partner }) => {
    await makeCommissions(program, partner.id, [{}]);
    await program.api("POST", "/api/v1/payouts/generate", {});
    await program.api("POST", `/api/v1/payouts/${await pendingPayout(program)}/cancel`);
  },
  "program.updated": ({ patch }) => patch("/programs/me", { min_payout_cents: 7, provider_a_api_key: "rk_test_1" }),
  "member.added": async (world) => {
    const member = await create(world.program, "/api/v1/members", { email: "kim@shop.example", role: "viewer" });
    world.member_id = member["id"];
  },
  "member.changed": ({ patch, member_id }) => patch(`/members/${member_id}`, { role: "finance" }),
  "member.removed": ({ program, member_id }) => program.api("DELETE", `/api/v1/members/${member_id}`),
  "partner.signed_in": async ({ program, partner }) => {
    await changeOwnDetails(program, partner.email, { payout_method: "wallet", payout_email: "zoe@example.com" });
  },
  "member.signed_in": ({ program }) => signInOwner(program),
  "portal_link.created": ({ program, partner }) => program.api("POST", `/api/v1/partners/${partner.id}/portal-links`),
  "session.ended": async ({ program }) => (await signInOwner(program)).post("/sign-out"),
  "session.all_ended": async ({ program }) =>
    send(await signInOwner(program), "/dashboard/settings/sessions", {}, "/end-all"),
  "passkey.added": async ({ program }) => addPasskey(await signInOwner(program), await makeAuthenticator()),
  "passkey.removed": async ({ program }) => {
    const visitor = await signInOwner(program);
    await addPasskey(visitor, await makeAuthenticator());
    await removePasskeys(visitor);
  },
  "sign_in.failed": async ({ program }) => {
    const { token } = await createLinkByHand(testContext(), program.program.owner_email);
    for (let use = 0; use < 2; use++) await followLink(makeVisitor(), token);
  },
  "reconciliation.failed": async (world) => {
    await env.DB.prepare("update balances set amount_cents = amount_cents + 1 where partner_id = ?")
      .bind(world.partner.id)
      .run();
    await reconcile(world);
  },
  "reconciliation.repaired": (world) => reconcile(world, "balances"),
  "api_key.created": async (world) => {
    const made = { name: "Reporting", scopes: ["read"] };
    world.key_id = (await world.program.api<{ id: string }>("POST", "/api/v1/api-keys", made)).body.id;
  },
  "api_key.deleted": ({ program, key_id }) => program.api("DELETE", `/api/v1/api-keys/${key_id}`),
  "api_key.regenerated": async (world) => {
    const { program } = world;
    const path = `/admin/programs/${program.id}/api-key`;
    const { body } = await callApi<{ api_key: string }>("test-admin-token", "POST", path);
    world.program = { ...program, api: (...args) => callApi(body.api_key, ...args) };
  },
};

/** The cron's jobs over the one database of the tests. */
async function fire(cron: string): Promise<void> {
  const ctx = baseContext(env, Date.now(), () => {});
  const outbound = { db: ctx.db, now: Date.now, wake: async () => {} };
  await runCron(cron, [{ env, ctx, outbound }]);
}

function makeDestination({ program, vendors }: World, body: object) {
  return withVendors(vendors, () => program.api("POST", "/api/v1/integrations/provider_a/destination", body));
}

function reconcile({ program }: World, repair?: string) {
  return callApi("test-admin-token", "POST", "/admin/reconcile", { program_id: program.id, repair });
}

async function pendingPayout(program: TestProgram): Promise<string> {
  const { body } = await program.api<{ data: { id: string }[] }>("GET", "/api/v1/payouts?status=pending");
  return body.data[0]!.id;
}

async function openClaim(program: TestProgram): Promise<string> {
  const { body } = await program.api<{ data: { id: string }[] }>("GET", "/api/v1/claims?status=open");
  return body.data[0]!.id;
}

async function paymentOf({ program, partner }: World): Promise<string> {
  const path = `/api/v1/payments?partner_id=${partner.id}`;
  return (await program.api<{ data: { id: string }[] }>("GET", path)).body.data[0]!.id;
}

/** A form of a page, as a person sends it. */
export async function send(visitor: Visitor, page: string, fields: Record<string, string>, action = ""): Promise<void> {
  await visitor.get(page);
  const reply = await visitor.post(`${page}${action}`, fields);
  if (reply.status !== 303) throw new Error(`${page}: ${reply.status} ${textOf(reply.body)}`);
}

/**
 * Runs all actions; an endpoint is subscribed to everything from the start. `unmade` are the types without an event
 * after their action. `before` is the program as it was before its key was replaced.
 */
export async function liveThroughAll() {
  const program = await makeProgram({ auto_approve_days: 0 });
  await makeEndpoint(program, "https://all.example/");
  const patch = (path: string, body: unknown) => program.api("PATCH", `/api/v1${path}`, body);
  const world = { program, patch, sales: {} } as World;
  const unmade: CatalogueType[] = [];
  const types = Object.keys(MADE_BY) as CatalogueType[];
  const count = async (type: CatalogueType) =>
    env.DB.prepare("select count(*) from events where program_id = ? and type = ?")
      .bind(program.id, type)
      .first<number>("count(*)");
  for (const type of types) {
    const before = await count(type);
    await MADE_BY[type](world);
    if ((await count(type)) === before) unmade.push(type);
  }
  if (types.length !== AUDIT_EVENT_TYPES.length) throw new Error("not every type of the catalogue was tried");
  return { ...world, before: program.program, owner: await signInOwner(world.program), unmade };
}
