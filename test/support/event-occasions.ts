/**
 * The occasions of each webhook (HOOK-15), for each way into the service. A new event type of the catalogue does not compile
 * until each way lists its occasion, or that it has no occasion.
 */
import { approveDueCommissions } from "../../src/core/commissions/auto-approve.ts";
import { generateMonthlyPayouts } from "../../src/core/payouts/month.ts";
import type { OutboundEventType } from "../../src/domain/event.ts";
import { VENDOR_NAMES } from "../../src/providers/registry.ts";
import { send } from "./every-event.ts";
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
} from "./occasions.ts";
import { sendImport } from "./imports.ts";
import { serveAll } from "./jobs.ts";
import { sendA, sendBody } from "./ledger.ts";
import { makeCommissions, makeExport, makeOpenPayout, clientOf, makePayout, reconcileAt } from "./payouts.ts";
import { changeOwnDetails } from "./own-change.ts";
import { makePartner, programContext, testContext } from "./program.ts";
import { transferReversed } from "./provider-a-changes.ts";
import { reconcileRound } from "./reconcile.ts";
import { chargeRefunded, sessionCompleted } from "./provider-a.ts";
import { saidRefund, saidSale, saleAt } from "./sale.ts";
import { signInPartner } from "./visitor.ts";
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
  paidExport,
  postResults,
  sendResults,
  NOWHERE,
  APPLICATIONS,
  applicant,
  proved,
} from "./occasion-acts.ts";

export const OCCASIONS: Record<OutboundEventType, Record<Way, Occasions | null>> = {
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
      "the program's rate is changed since before it": appliedByForm(async () => [
        "/dashboard/settings/commissions",
        { default_commission_pct: "50" },
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
      "its tax data are set":
        async ({ api, partner_id }) =>
        () =>
          api("PUT", `/partners/${partner_id}/tax-data`, {
            ...{ legal_name: "Jane Doe", address: "Main St. 1", country: "DE", kind: "private" },
          }),
      "one is deactivated": async ({ program, partner_id }) => {
        return () => well(program.api("DELETE", `/api/v1/partners/${partner_id}`));
      },
      "its connected account is begun": async (scene) => {
        const { id } = await makePartner(scene.program);
        return () => scene.api("POST", `/partners/${id}/provider-a-account`, { country: "DE" });
      },
      "the hold of its payouts is released": async ({ api, program, partner_id }) => {
        await program.api("PATCH", `/api/v1/partners/${partner_id}`, { payout_email: "held@wallet.example" });
        return () => api("POST", `/partners/${partner_id}/release-hold`);
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
      "the hold of its payouts is released": async ({ owner, program, partner_id }) => {
        await program.api("PATCH", `/api/v1/partners/${partner_id}`, { payout_email: "held@wallet.example" });
        return () => send(owner, `/dashboard/partners/${partner_id}`, {}, "/release-hold");
      },
      "its connected account is forgotten": async ({ owner, partner_id, account_id }) => {
        return () => send(owner, `/dashboard/partners/${partner_id}`, { account_id }, "/forget-account");
      },
      ...activatedByForm,
    },
    portal: {
      "details are changed": async ({ program }) => {
        const { email } = await makePartner(program);
        return () => changeOwnDetails(program, email, { payout_method: "wallet", payout_email: email });
      },
      "a link is added": async ({ program }) => {
        const { email } = await makePartner(program);
        await well(program.api("PATCH", "/api/v1/programs/me", { partner_links: true }));
        const visitor = await signInPartner(email);
        return () => send(visitor, "/portal/assets", { slug: "a-link-of-its-own" }, "/links");
      },
      "its connected account is begun": async ({ program }) => {
        const { email } = await makePartner(program, { payout_method: "provider_a" });
        // The page links to the provider.
        return () =>
          changeOwnDetails(program, email, { country: "DE" }, { path: "/portal/details/provider-a-account" });
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
        return () => owner.post("/dashboard/payouts/new", { period_end });
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
      "a result file reports it": ofPayout(({ program }, id) => sendResults(program, id, "ACSC"), makeExport),
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
      "a result file reports it": ofPayout(({ owner }, id) => postResults(owner, id, "ACSC"), makeExport),
      "its file is marked as paid": ofPayout(async ({ owner }, id) => {
        await owner.get(`/dashboard/payouts/exports/${id}`);
        await owner.post(`/dashboard/payouts/exports/${id}/paid`, { reference: "1" });
      }, makeExport),
      "one is marked as paid with others": ofPayout(async ({ owner }, id) => {
        await owner.get("/dashboard/payouts");
        const seen_at = new Date().toISOString();
        await owner.post("/dashboard/payouts/matching?move=mark_paid", { ids: id, seen_at, reference: "1" });
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
      "a result file reports it": ofPayout(({ program }, id) => sendResults(program, id, "RJCT"), paidExport),
    },
    dashboard: {
      "the owner reports it": ofPayout(({ owner }, id) => {
        return send(owner, `/dashboard/payouts/${id}`, { reason: "closed" }, "/returned");
      }, paid),
      "a result file reports it": ofPayout(({ owner }, id) => postResults(owner, id, "RJCT"), paidExport),
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
