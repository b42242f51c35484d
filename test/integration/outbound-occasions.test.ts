/**
 * The occasions of each webhook (HOOK-15), for each way into the service. A new event type of the catalogue does not compile
 * until each way lists its occasion, or that it has no occasion.
 */
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { approveDueCommissions } from "../../src/core/commissions/auto-approve.ts";
import { generateMonthlyPayouts } from "../../src/core/payouts/month.ts";
import { OUTBOUND_EVENT_TYPES, type OutboundEventType } from "../../src/domain/event.ts";
import { VENDOR_NAMES } from "../../src/providers/registry.ts";
import { deliveriesOf } from "../support/conformance.ts";
import { makeEndpoint } from "../support/outbound.ts";
import { send } from "../support/every-event.ts";
import {
  NEW,
  pending,
  idOf,
  well,
  activated,
  activatedByForm,
  signedIn,
  type Occasions,
  type Scene,
  type Way,
} from "../support/occasions.ts";
import { PLAYED_ELSEWHERE, SENDING_NOTHING } from "../support/unsent-routes.ts";
import { routeOf, WRITING } from "../support/writing-routes.ts";
import { sendImport } from "../support/imports.ts";
import { serveAll } from "../support/jobs.ts";
import { sendA, sendBody } from "../support/ledger.ts";
import {
  makeCommissions,
  makeExport,
  makeOpenPayout,
  makePayingProgram,
  clientOf,
  makePayout,
  playOutside,
  reconcileAt,
} from "../support/payouts.ts";
import { CALLS, makePartner, programContext, testContext } from "../support/program.ts";
import { transferReversed } from "../support/provider-a-changes.ts";
import { reconcileRound } from "../support/reconcile.ts";
import { chargeRefunded, sessionCompleted } from "../support/provider-a.ts";
import { saidRefund, saidSale, saleAt } from "../support/sale.ts";
import { signInOwner, signInPartner } from "../support/visitor.ts";
import {
  MONTH,
  RATE_TYPED,
  ofPartner,
  ofProgram,
  ofFlow,
  ofGroup,
  ofNewFlow,
  applied,
  appliedByForm,
  refused,
  importByForm,
  ofPayout,
  ofClaim,
  takenBack,
  paid,
  NOWHERE,
  APPLICATIONS,
  applicant,
  proved,
} from "../support/occasion-acts.ts";

afterEach(() => vi.restoreAllMocks());

const OCCASIONS: Record<OutboundEventType, Record<Way, Occasions | null>> = {
  "commission.created": {
    ...NOWHERE,
    api: {
      "one by hand": async ({ api, partner_id }) => {
        return () => api("POST", "/commissions", { partner_id, amount_cents: 500, note: "bonus" });
      },
      "a payment is decided again": async (scene) => {
        const id = await refused(scene);
        return () => scene.api("POST", `/payments/${id}/reprocess`);
      },
      "a sale is said by the owner's server": async ({ api, slug }) => {
        return () => api("POST", "/track/sale", saidSale(slug));
      },
      "the code of a payment is given to a partner": async ({ api, program, partner_id }) => {
        const discounts = [{ promotion_code: "promo_1", coupon: null }];
        await well(sendA(program, sessionCompleted({ ref: null, object: { discounts } })));
        const code = { code: "GIVEN", provider: "provider_a", provider_code_id: "promo_1" };
        return () => api("POST", `/partners/${partner_id}/codes`, code);
      },
      ...activated,
    },
    dashboard: {
      "one by hand": async ({ owner, partner_id }) => {
        return () => send(owner, "/dashboard/commissions/new", { partner_id, amount: "5.00", note: "bonus" });
      },
      "a payment is decided again": async (scene) => {
        const id = await refused(scene);
        return () => send(scene.owner, `/dashboard/payments/${id}`, {}, "/reprocess");
      },
      ...activatedByForm,
    },
    portal: signedIn,
    provider: {
      ...Object.fromEntries(
        VENDOR_NAMES.map((name) => [
          `a payment at ${name}`,
          async ({ program, slug }: Scene) => {
            const sale = saleAt(name, { ref: slug, program: program.id });
            return () => well(sendBody(program, name, sale));
          },
        ]),
      ),
    },
  },
  "commission.updated": {
    ...NOWHERE,
    api: {
      "one is approved": async (scene) => {
        const id = idOf(await pending(scene));
        return () => scene.api("PATCH", `/commissions/${id}`, { status: "approved" });
      },
      "one is rejected": async (scene) => {
        const id = idOf(await pending(scene));
        return () => scene.api("PATCH", `/commissions/${id}`, { status: "rejected", reason: "no" });
      },
      "one is approved with others": async (scene) => {
        const id = idOf(await pending(scene));
        return () => scene.api("POST", "/commissions/bulk", { ids: [id], status: "approved" });
      },
      "the partner's rate is changed since before it": applied(ofPartner),
      "the program's rate is changed since before it": applied(ofProgram),
      "the rate of the partner's group is changed since before it": applied(ofGroup),
      "a flow is changed since before it": applied(ofFlow),
      "a flow is added since before it": applied(ofNewFlow, "POST"),
      "a refund is said by the owner's server": async ({ api, slug }) => {
        await api("POST", "/track/sale", saidSale(slug));
        return () => api("POST", "/track/refund", saidRefund(slug));
      },
    },
    dashboard: {
      "one is approved": async (scene) => {
        const id = idOf(await pending(scene));
        return () => send(scene.owner, `/dashboard/commissions/${id}`, { status: "approved" });
      },
      "one is approved with others": async (scene) => {
        const id = idOf(await pending(scene));
        await scene.owner.get("/dashboard/commissions");
        return () => scene.owner.post("/dashboard/commissions/bulk", { ids: [id], status: "approved" });
      },
      "all that match are approved": async (scene) => {
        await pending(scene);
        const page = "/dashboard/commissions/matching?move=approve";
        const { body } = await scene.owner.get(page);
        const hidden = [...body.matchAll(/<input type="hidden" name="(seen_at|plain|flagged)" value="([^"]+)"/g)];
        const seen = Object.fromEntries(hidden.map(([, name = "", value = ""]) => [name, value]));
        return () => send(scene.owner, page, seen);
      },
      "the program's rate is changed since before it": appliedByForm(async ({ program: { program } }) => [
        "/dashboard/settings",
        { name: program.name, default_commission_pct: "50" },
      ]),
      "the partner's rate is changed since before it": appliedByForm(async ({ partner_id }) => [
        `/dashboard/partners/${partner_id}/edit`,
        { commission_pct: "50" },
      ]),
      "the rate of the partner's group is changed since before it": appliedByForm(async (scene) => {
        const [path] = await ofGroup(scene);
        const fields = { name: "Default", commission_pct: "50", hold_days: "", apply: "yes" };
        return [`/dashboard/partners${path}`, fields];
      }),
      "a flow is changed since before it": appliedByForm(async (scene) => {
        const [path] = await ofFlow(scene);
        return [`/dashboard${path}`, RATE_TYPED];
      }),
      "a flow is added since before it": appliedByForm(async () => ["/dashboard/flows/new", RATE_TYPED]),
    },
    provider: {
      "a refund": async ({ program, slug }) => {
        const payment_intent = `pi_${slug}`;
        await well(sendA(program, sessionCompleted({ ref: slug, payment_intent })));
        return () => well(sendA(program, chargeRefunded({ payment_intent, refunded: 1_000 })));
      },
    },
    job: {
      "one is approved by time": async (scene) => {
        await scene.api("PATCH", "/programs/me", { auto_approve_days: 1 });
        await pending(scene);
        return () => serveAll(approveDueCommissions(testContext(Date.now() + MONTH)));
      },
    },
  },
  "claim.created": {
    ...NOWHERE,
    portal: {
      "a sale is missing": async ({ program }) => {
        const { email } = await makePartner(program);
        const visitor = await signInPartner(email);
        return () => send(visitor, "/portal/claims", { order_id: "lost" });
      },
    },
  },
  "claim.granted": {
    ...NOWHERE,
    api: { "one is granted": ofClaim(({ api }, id, payment_id) => api("POST", `/claims/${id}/grant`, { payment_id })) },
    dashboard: {
      "one is granted": ofClaim(({ owner }, id, payment_id) => {
        return send(owner, `/dashboard/claims/${id}`, { payment_id }, "/grant");
      }),
    },
  },
  "claim.declined": {
    ...NOWHERE,
    api: { "one is declined": ofClaim(({ api }, id) => api("POST", `/claims/${id}/decline`)) },
    dashboard: {
      "one is declined": ofClaim(({ owner }, id) => send(owner, `/dashboard/claims/${id}`, {}, "/decline")),
    },
  },
  "partner.created": {
    ...NOWHERE,
    api: {
      "one is added":
        async ({ api }) =>
        () =>
          api("POST", "/partners", NEW),
    },
    dashboard: {
      "one is added": async ({ owner }) => {
        return () => send(owner, "/dashboard/partners/new", NEW);
      },
    },
    visitor: { "an application becomes one": proved("auto") },
    import: {
      "one is in the file": async ({ program }) => {
        return () => well(sendImport(program, { kind: "partners" }, `email,slug\n${NEW.email},${NEW.slug}\n`));
      },
      "one is in the file of a form": async (scene) => {
        return () => importByForm(scene, `email,slug\n${NEW.email},${NEW.slug}\n`);
      },
    },
  },
  "partner.updated": {
    ...NOWHERE,
    api: {
      "one is changed": async ({ api, partner_id }) => {
        return () => api("PATCH", `/partners/${partner_id}`, { first_name: "New" });
      },
      "its payout details are set":
        async ({ api, partner_id }) =>
        () =>
          api("PUT", `/partners/${partner_id}/payout-details`, { method: "provider_a", account: "acct_1Set" }),
      "one is deactivated": async ({ program, partner_id }) => {
        return () => well(program.api("DELETE", `/api/v1/partners/${partner_id}`));
      },
      "its connected account is begun": async (scene) => {
        const { id } = await makePartner(scene.program);
        return () => scene.api("POST", `/partners/${id}/provider-a-account`, { country: "DE" });
      },
      "its connected account is forgotten": async ({ api, partner_id, account_id }) => {
        return () => api("POST", `/partners/${partner_id}/provider-a-account/forget`, { account_id });
      },
      ...activated,
    },
    dashboard: {
      "one is changed": async ({ owner, program }) => {
        const { id, email, slug } = await makePartner(program);
        return () => send(owner, `/dashboard/partners/${id}/edit`, { email, slug, first_name: "New" });
      },
      "one is deactivated": async ({ owner, partner_id }) => {
        return () => send(owner, `/dashboard/partners/${partner_id}`, {}, "/deactivate");
      },
      "its connected account is forgotten": async ({ owner, partner_id, account_id }) => {
        return () => send(owner, `/dashboard/partners/${partner_id}`, { account_id }, "/forget-account");
      },
      ...activatedByForm,
    },
    portal: {
      "details are changed": async ({ program }) => {
        const { email } = await makePartner(program);
        const visitor = await signInPartner(email);
        return () => send(visitor, "/portal/details", { payout_method: "wallet", payout_email: email });
      },
      "its connected account is begun": async ({ program }) => {
        const { email } = await makePartner(program, { payout_method: "provider_a" });
        const visitor = await signInPartner(email);
        await visitor.get("/portal/details");
        // The page links to the provider.
        return () => well(visitor.post("/portal/details/provider-a-account", { country: "DE" }));
      },
      ...signedIn,
    },
    import: {
      "a name is filled in": async ({ program }) => {
        const { email, slug } = await makePartner(program);
        const file = `email,slug,first_name\n${email},${slug},Jane\n`;
        return () => well(sendImport(program, { kind: "partners" }, file));
      },
    },
  },
  "applications.received": { ...NOWHERE, visitor: { "an address is proved": proved("review") } },
  "applications.approved": {
    ...NOWHERE,
    api: {
      "one is approved": applicant(({ api }, id) => api("POST", `/applications/${id}/approve`)),
      "one is approved with others": applicant(({ api }, id) =>
        api("POST", "/applications/bulk", { ids: [id], status: "approved" }),
      ),
    },
    dashboard: {
      "one is approved": applicant(({ owner }, id) => send(owner, `${APPLICATIONS}/${id}`, {}, "/approve")),
      "one is approved with others": applicant(({ owner }, ids) =>
        send(owner, APPLICATIONS, { ids, status: "approved" }, "/chosen/confirmed"),
      ),
    },
    visitor: { "an address is proved where nobody need approve": proved("auto") },
  },
  "applications.declined": {
    ...NOWHERE,
    api: { "one is declined": applicant(({ api }, id) => api("POST", `/applications/${id}/decline`, { note: "no" })) },
    dashboard: {
      "one is declined": applicant(({ owner }, id) => send(owner, `${APPLICATIONS}/${id}`, { note: "no" }, "/decline")),
    },
  },
  "payout.generated": {
    ...NOWHERE,
    api: {
      "what is owed is prepared": async ({ api, program, partner_id }) => {
        await makeCommissions(program, partner_id, [{}]);
        return () => api("POST", "/payouts/generate", {});
      },
    },
    dashboard: {
      "what is owed is prepared": async ({ owner, program, partner_id }) => {
        await makeCommissions(program, partner_id, [{}]);
        const period_end = new Date().toISOString();
        await owner.get("/dashboard/payouts/new");
        // The page shows the result without a redirect.
        return () => well(owner.post("/dashboard/payouts/new", { period_end }));
      },
    },
    job: {
      "a month is over": async ({ program, partner_id }) => {
        await makeCommissions(program, partner_id, [{}]);
        return () => serveAll(generateMonthlyPayouts(testContext(Date.now() + MONTH)));
      },
    },
  },
  "payout.paid": {
    ...NOWHERE,
    api: {
      "one is marked as paid": ofPayout(({ api }, id) => api("POST", `/payouts/${id}/mark-paid`, { reference: "1" })),
      "one is paid by a transfer": ofPayout(({ api }, id) => api("POST", `/payouts/${id}/pay`)),
      "its file is marked as paid": ofPayout(({ api }, id) => api("POST", `/payouts/exports/${id}/paid`), makeExport),
      "its transfer is said to be made": ofPayout(({ api }, id) => {
        return api("POST", `/payouts/${id}/conclude`, { made: true, reference: "tr_1" });
      }, makeOpenPayout),
    },
    dashboard: {
      "one is marked as paid": ofPayout(({ owner }, id) => {
        return send(owner, `/dashboard/payouts/${id}`, { reference: "1" }, "/mark-paid");
      }),
      "one is paid by a transfer": ofPayout(({ owner }, id) => send(owner, `/dashboard/payouts/${id}`, {}, "/pay")),
      "its transfer is said to be made": ofPayout(({ owner }, id) => {
        return send(owner, `/dashboard/payouts/${id}`, { reference: "tr_1" }, "/was-made");
      }, makeOpenPayout),
      "one is marked as paid with others": ofPayout(async ({ owner }, id) => {
        await owner.get("/dashboard/payouts");
        await owner.post("/dashboard/payouts/chosen/confirmed", { ids: id, move: "mark_paid", reference: "1" });
      }),
    },
    job: {
      "a transfer that was left open is found": async (scene) => {
        const { id } = await makePayout(scene);
        scene.vendor.faults.push("drop_reply");
        await scene.api("POST", `/payouts/${id}/pay`);
        return () => reconcileAt(scene.vendor, Date.now() + 3_600_000);
      },
    },
  },
  "payout.returned": {
    ...NOWHERE,
    api: {
      "the owner reports it": ofPayout(
        ({ api }, id) => api("POST", `/payouts/${id}/returned`, { reason: "closed" }),
        paid,
      ),
    },
    dashboard: {
      "the owner reports it": ofPayout(({ owner }, id) => {
        return send(owner, `/dashboard/payouts/${id}`, { reason: "closed" }, "/returned");
      }, paid),
    },
    provider: {
      "the vendor reverses its transfer": async (scene) => {
        const transfer = await takenBack(scene);
        return () => well(sendA(scene.program, transferReversed(transfer)));
      },
    },
    job: {
      "the vendor shows the transfer as reversed": async (scene) => {
        await takenBack(scene);
        return () => reconcileRound(programContext(scene.program), clientOf(scene.vendor), true);
      },
    },
  },
};

const CASES = OUTBOUND_EVENT_TYPES.flatMap((type) =>
  (Object.entries(OCCASIONS[type]) as [Way, Occasions | null][]).flatMap(([way, occasions]) =>
    Object.entries(occasions ?? {}).map(([what, occasion]) => [type, way, what, occasion] as const),
  ),
);

const played = new Set<string>();
let cases = 0;

describe("each occasion of a webhook is an event that is sent (HOOK-15)", () => {
  it.each(CASES)("%s, %s: %s", async (type, _way, _what, occasion) => {
    const paying = await makePayingProgram();
    const { program, vendor, partner_id } = paying;
    playOutside(vendor);
    const api: Scene["api"] = async (method, path, body) => {
      const reply = await program.api<{ id: string }>(method, `/api/v1${path}`, body);
      expect([reply.status < 300, reply.body]).toEqual([true, reply.body]);
      return reply.body;
    };
    const { slug } = (await api("GET", `/partners/${partner_id}`)) as unknown as { slug: string };
    const act = await occasion({ ...paying, slug, api, owner: await signInOwner(program) });
    const { id: endpoint } = await makeEndpoint(program, "https://one.example/", [type]);
    const { id: everything } = await makeEndpoint(program, "https://all.example/");
    const before = CALLS.length;
    await act();
    for (const call of CALLS.slice(before)) played.add(routeOf(call) ?? call);
    cases++;
    const toAll = (await deliveriesOf(program, everything)).filter(({ event }) => event === type);
    const sent = await deliveriesOf(program, endpoint);
    expect(sent.map(({ event }) => event)).toEqual([type]);
    expect(toAll.map(({ event_id }) => event_id)).toEqual(sent.map(({ event_id }) => event_id));
    const { results } = await env.DB.prepare("select type from events where id = ?").bind(sent[0]!.event_id).all();
    expect(results).toHaveLength(1);
  });

  it("is asked for of every route that writes", ({ skip }) => {
    skip(cases < CASES.length, "not all were played");
    const unplayed = WRITING.filter((route) => !played.has(route));
    expect(unplayed.toSorted()).toEqual(
      [...Object.values(SENDING_NOTHING), ...Object.values(PLAYED_ELSEWHERE)].flat().toSorted(),
    );
  });
});
