// Made by npm run build:client from the OpenAPI document.
import type { Hono } from "hono";
import type { ApplyGlobalResponse } from "hono/client";
import type { BlankEnv } from "hono/types";
import type { JSONValue } from "hono/utils/types";

/** The API as `hc<AffiliateApi>(url)` of `hono/client` calls it: each route with its input and its replies. */
export type AffiliateApi = ApplyGlobalResponse<Hono<BlankEnv, Routes, "/">, Refusals>;

/** Any route may refuse; `reply.ok` distinguishes the two. */
type Refusals = {
  [Status in 400 | 401 | 403 | 404 | 405 | 409 | 413 | 415 | 422 | 429 | 500 | 503]: { json: ApiError };
};

type Json<Input, Output, Status extends number> = {
  input: Input;
  output: Output;
  outputFormat: "json";
  status: Status;
};
type File<Input, Status extends number> = { input: Input; output: string; outputFormat: "body"; status: Status };

type Routes = {
  "/api/v1/api-keys": {
    $get: Json<{}, ApiKeyList, 200>;
    $post: Json<{ json: ApiKeyCreate }, ApiKeyWithText, 201>;
  };
  "/api/v1/api-keys/:id": {
    $delete: Json<{ param: { id: string } }, Deleted, 200>;
  };
  "/api/v1/programs/me": {
    $get: Json<{}, Program, 200>;
    $patch: Json<{ json: ProgramUpdate }, Program, 200>;
  };
  "/api/v1/integrations/status": {
    $get: Json<{}, Integrations, 200>;
  };
  "/api/v1/integrations/script": {
    $get: Json<{ query: { url?: string | undefined } }, Installation, 200>;
  };
  "/api/v1/integrations/:provider/reconcile": {
    $post: Json<{ param: { provider: string }; json?: ListRead | undefined }, ListReading, 200>;
  };
  "/api/v1/integrations/:provider/destination": {
    $post: Json<{ param: { provider: string }; json?: DestinationMake | undefined }, Destination, 200 | 201>;
  };
  "/api/v1/partners": {
    $post: Json<{ json: PartnerCreate }, Partner, 201>;
    $get: Json<
      {
        query: {
          page?: string | undefined;
          per_page?: string | undefined;
          cursor?: string | undefined;
          status?: "invited" | "active" | "deactivated" | undefined;
          group_id?: string | undefined;
          search?: string | undefined;
        };
      },
      PartnerList,
      200
    >;
  };
  "/api/v1/partners/:id": {
    $get: Json<{ param: { id: string } }, PartnerWithStats, 200>;
    $patch: Json<{ param: { id: string }; json: PartnerUpdate }, Partner, 200>;
    $delete: Json<{ param: { id: string } }, Partner, 200>;
  };
  "/api/v1/partners/:id/balance": {
    $get: Json<{ param: { id: string } }, BalanceList, 200>;
  };
  "/api/v1/partners/:id/entries": {
    $get: Json<
      {
        param: { id: string };
        query: { page?: string | undefined; per_page?: string | undefined; cursor?: string | undefined };
      },
      EntryList,
      200
    >;
  };
  "/api/v1/partners/:id/release-hold": {
    $post: Json<{ param: { id: string }; json?: Nothing | undefined }, Partner, 200>;
  };
  "/api/v1/partners/:id/invite": {
    $post: Json<{ param: { id: string }; json?: Nothing | undefined }, Partner, 200>;
  };
  "/api/v1/partners/:id/payout-details": {
    $get: Json<{ param: { id: string } }, PayoutDetails, 200>;
    $put: Json<{ param: { id: string }; json: PayoutDetailsSet }, PayoutDetails, 200>;
  };
  "/api/v1/partners/ask-payout-details": {
    $post: Json<{ json?: PayoutDetailsAsk | undefined }, PayoutDetailsAsked, 200>;
  };
  "/api/v1/partners/:id/tax-data": {
    $get: Json<{ param: { id: string } }, TaxData, 200>;
    $put: Json<{ param: { id: string }; json: TaxDataSet }, TaxData, 200>;
  };
  "/api/v1/groups": {
    $post: Json<{ json: GroupCreate }, Group, 201>;
    $get: Json<{}, GroupList, 200>;
  };
  "/api/v1/groups/:id": {
    $get: Json<{ param: { id: string } }, Group, 200>;
    $patch: Json<{ param: { id: string }; json: GroupUpdate }, Group, 200>;
    $delete: Json<{ param: { id: string } }, Deleted, 200>;
  };
  "/api/v1/partners/:id/provider-a-account": {
    $post: Json<{ param: { id: string }; json?: OnboardingStart | undefined }, Onboarding, 200 | 201>;
  };
  "/api/v1/partners/:id/provider-a-account/forget": {
    $post: Json<{ param: { id: string }; json: AccountForget }, Partner, 200>;
  };
  "/api/v1/partners/:id/portal-links": {
    $post: Json<{ param: { id: string }; json?: Nothing | undefined }, SignInLink, 201>;
  };
  "/api/v1/applications": {
    $get: Json<
      {
        query: {
          page?: string | undefined;
          per_page?: string | undefined;
          cursor?: string | undefined;
          status?: "pending" | "approved" | "declined" | undefined;
          from?: string | undefined;
          to?: string | undefined;
        };
      },
      ApplicationList,
      200
    >;
  };
  "/api/v1/applications/bulk": {
    $post: Json<{ json: ApplicationsDecide }, ApplicationsDecided, 200>;
  };
  "/api/v1/applications/:id": {
    $get: Json<{ param: { id: string } }, Application, 200>;
  };
  "/api/v1/applications/:id/approve": {
    $post: Json<{ param: { id: string }; json?: Nothing | undefined }, ApplicationData, 200>;
  };
  "/api/v1/applications/:id/decline": {
    $post: Json<{ param: { id: string }; json?: ApplicationDecline | undefined }, ApplicationData, 200>;
  };
  "/api/v1/partners/:id/codes": {
    $get: Json<{ param: { id: string } }, CodeList, 200>;
    $post: Json<{ param: { id: string }; json: CodeCreate }, Code, 201>;
  };
  "/api/v1/codes/summary": {
    $get: Json<
      { query: { from?: string | undefined; to?: string | undefined; partner_id?: string | undefined } },
      CodeSummary,
      200
    >;
  };
  "/api/v1/codes/export.csv": {
    $get: File<{}, 200>;
  };
  "/api/v1/codes/:id": {
    $get: Json<{ param: { id: string } }, Code, 200>;
    $delete: Json<{ param: { id: string } }, Deleted, 200>;
  };
  "/api/v1/imports": {
    $post: Json<
      {
        query: {
          kind: "partners" | "customers";
          product?:
            | "rewardful"
            | "firstpromoter"
            | "tolt"
            | "dub"
            | "affonso"
            | "leaddyno"
            | "post_affiliate_pro"
            | "tapfiliate"
            | "partnerstack"
            | "refersion"
            | "other"
            | undefined;
          dry_run?: "true" | "false" | undefined;
          param?: string | undefined;
          status?: "invited" | "active" | undefined;
          provider?: "api" | "provider_a" | "provider_b" | undefined;
          columns?: string | undefined;
        };
      },
      Import,
      200
    >;
  };
  "/api/v1/products": {
    $get: Json<{}, ProductList, 200>;
  };
  "/api/v1/flows": {
    $post: Json<{ json: FlowCreate }, SavedFlow, 201>;
    $get: Json<{}, FlowList, 200>;
  };
  "/api/v1/flows/simulate": {
    $post: Json<{ json: FlowSimulate }, Simulation, 200>;
  };
  "/api/v1/flows/:id": {
    $get: Json<{ param: { id: string } }, Flow, 200>;
    $patch: Json<{ param: { id: string }; json: FlowUpdate }, SavedFlow, 200>;
    $delete: Json<{ param: { id: string } }, Deleted, 200>;
  };
  "/api/v1/clicks/summary": {
    $get: Json<
      { query: { from?: string | undefined; to?: string | undefined; partner_id?: string | undefined } },
      ClickSummary,
      200
    >;
  };
  "/api/v1/events": {
    $get: Json<
      {
        query: {
          page?: string | undefined;
          per_page?: string | undefined;
          cursor?: string | undefined;
          type?:
            | "click"
            | "commission.created"
            | "commission.updated"
            | "partner.created"
            | "partner.updated"
            | "partner.deleted"
            | "partner.invited"
            | "partner.hold_released"
            | "payout_details.read"
            | "payout_details.asked"
            | "tax_data.read"
            | "applications.received"
            | "applications.approved"
            | "applications.declined"
            | "code.created"
            | "code.moved"
            | "code.deleted"
            | "claim.created"
            | "claim.granted"
            | "claim.declined"
            | "payout.generated"
            | "payout.updated"
            | "payout.paid"
            | "payout.returned"
            | "payout.exported"
            | "exchange_rates.updated"
            | "list.exported"
            | "webhook.api"
            | "webhook.provider_a"
            | "webhook.provider_b"
            | "webhook.refused"
            | "destination.created"
            | "destination.updated"
            | "flow.created"
            | "flow.updated"
            | "flow.deleted"
            | "group.created"
            | "group.updated"
            | "group.deleted"
            | "webhook_endpoint.created"
            | "webhook_endpoint.updated"
            | "webhook_endpoint.deleted"
            | "program.updated"
            | "api_key.regenerated"
            | "api_key.created"
            | "api_key.deleted"
            | "member.added"
            | "member.changed"
            | "member.removed"
            | "partner.signed_in"
            | "member.signed_in"
            | "portal_link.created"
            | "account_link.created"
            | "session.ended"
            | "session.all_ended"
            | "passkey.added"
            | "passkey.removed"
            | "sign_in.failed"
            | "customers.imported"
            | "reconciliation.failed"
            | "reconciliation.repaired"
            | undefined;
          from?: string | undefined;
          to?: string | undefined;
        };
      },
      EventList,
      200
    >;
  };
  "/api/v1/events/:id": {
    $get: Json<{ param: { id: string } }, Event, 200>;
  };
  "/api/v1/webhooks": {
    $post: Json<{ json: EndpointCreate }, EndpointWithSecret, 201>;
    $get: Json<{}, EndpointList, 200>;
  };
  "/api/v1/webhooks/:id": {
    $get: Json<{ param: { id: string } }, EndpointWithDeliveries, 200>;
    $patch: Json<{ param: { id: string }; json: EndpointUpdate }, Endpoint, 200>;
    $delete: Json<{ param: { id: string } }, Deleted, 200>;
  };
  "/api/v1/webhooks/:id/deliveries": {
    $get: Json<
      {
        param: { id: string };
        query: {
          page?: string | undefined;
          per_page?: string | undefined;
          cursor?: string | undefined;
          status?: "pending" | "delivering" | "succeeded" | "failed" | "blocked" | undefined;
        };
      },
      DeliveryList,
      200
    >;
  };
  "/api/v1/webhooks/:id/rotate-secret": {
    $post: Json<{ param: { id: string }; json?: Nothing | undefined }, EndpointWithNewSecret, 200>;
  };
  "/api/v1/webhooks/:id/test": {
    $post: Json<{ param: { id: string }; json?: Nothing | undefined }, Delivery, 201>;
  };
  "/api/v1/webhooks/:id/deliveries/:delivery_id/redeliver": {
    $post: Json<{ param: { id: string; delivery_id: string }; json?: Nothing | undefined }, Delivery, 201>;
  };
  "/api/v1/webhooks/:id/recover": {
    $post: Json<{ param: { id: string }; json: Recover }, Recovered, 200>;
  };
  "/api/v1/members": {
    $get: Json<{}, MemberList, 200>;
    $post: Json<{ json: MemberCreate }, Member, 201>;
  };
  "/api/v1/members/:id": {
    $patch: Json<{ param: { id: string }; json: MemberUpdate }, Member, 200>;
    $delete: Json<{ param: { id: string } }, Deleted, 200>;
  };
  "/api/v1/payments": {
    $get: Json<
      {
        query: {
          page?: string | undefined;
          per_page?: string | undefined;
          cursor?: string | undefined;
          search?: string | undefined;
          outcome?:
            | "commission"
            | "no_ref"
            | "unknown_ref"
            | "unknown_code"
            | "partner_not_active"
            | "partner_deactivated"
            | "zero_amount"
            | "unpaid"
            | "merged"
            | "test_mode"
            | "no_flow"
            | "too_large"
            | "claimed_elsewhere"
            | undefined;
          provider?: "api" | "provider_a" | "provider_b" | undefined;
          partner_id?: string | undefined;
          from?: string | undefined;
          to?: string | undefined;
        };
      },
      PaymentList,
      200
    >;
  };
  "/api/v1/payments/:id": {
    $get: Json<{ param: { id: string } }, PaymentWithTrace, 200>;
  };
  "/api/v1/payments/:id/reprocess": {
    $post: Json<{ param: { id: string }; json?: Nothing | undefined }, PaymentWithTrace, 200>;
  };
  "/api/v1/track/lead": {
    $post: Json<{ json: LeadReport }, Received, 200>;
  };
  "/api/v1/track/sale": {
    $post: Json<{ json: SaleReport }, Received, 200>;
  };
  "/api/v1/track/refund": {
    $post: Json<{ json: RefundReport }, Received, 200>;
  };
  "/api/v1/commissions": {
    $get: Json<
      {
        query: {
          page?: string | undefined;
          per_page?: string | undefined;
          cursor?: string | undefined;
          status?: "pending" | "approved" | "paid" | "rejected" | undefined;
          partner_id?: string | undefined;
          payout_id?: string | undefined;
          provider?: "api" | "provider_a" | "provider_b" | undefined;
          flagged?: "true" | "false" | undefined;
          from?: string | undefined;
          to?: string | undefined;
        };
      },
      CommissionList,
      200
    >;
    $post: Json<{ json: CommissionCreate }, Commission, 201>;
  };
  "/api/v1/commissions/bulk": {
    $post: Json<{ json: CommissionBulk }, BulkResults, 200>;
  };
  "/api/v1/commissions/:id": {
    $get: Json<{ param: { id: string } }, Commission, 200>;
    $patch: Json<{ param: { id: string }; json: CommissionUpdate }, Commission, 200>;
  };
  "/api/v1/claims": {
    $get: Json<
      {
        query: {
          page?: string | undefined;
          per_page?: string | undefined;
          cursor?: string | undefined;
          status?: "open" | "granted" | "declined" | undefined;
          partner_id?: string | undefined;
        };
      },
      ClaimList,
      200
    >;
  };
  "/api/v1/claims/:id": {
    $get: Json<{ param: { id: string } }, ClaimWithPayments, 200>;
  };
  "/api/v1/claims/:id/grant": {
    $post: Json<{ param: { id: string }; json?: ClaimGrant | undefined }, Claim, 200>;
  };
  "/api/v1/claims/:id/decline": {
    $post: Json<{ param: { id: string }; json?: ClaimDecline | undefined }, Claim, 200>;
  };
  "/api/v1/payouts/exports": {
    $post: Json<{ json: PayoutExportCreate }, PayoutExportMade, 201>;
    $get: Json<
      {
        query: {
          page?: string | undefined;
          per_page?: string | undefined;
          cursor?: string | undefined;
          status?: "open" | "paid" | "canceled" | undefined;
        };
      },
      PayoutExportList,
      200
    >;
  };
  "/api/v1/payouts/exports/:id": {
    $get: Json<{ param: { id: string } }, PayoutExport, 200>;
  };
  "/api/v1/payouts/exports/:id/file": {
    $get: File<{ param: { id: string } }, 200>;
  };
  "/api/v1/payouts/exports/:id/paid": {
    $post: Json<{ param: { id: string }; json?: PayoutExportPaid | undefined }, PayoutExport, 200>;
  };
  "/api/v1/payouts/exports/:id/cancel": {
    $post: Json<{ param: { id: string }; json?: Nothing | undefined }, PayoutExport, 200>;
  };
  "/api/v1/payouts/exports/:id/results": {
    $post: Json<{ param: { id: string }; query: { dry_run?: "true" | "false" | undefined } }, PayoutResults, 200>;
  };
  "/api/v1/payouts/:id/statement": {
    $get: Json<
      { param: { id: string }; query: { format?: "json" | "csv" | undefined; cursor?: string | undefined } },
      Statement,
      200
    >;
  };
  "/api/v1/rates": {
    $get: Json<{}, ExchangeRates, 200>;
    $put: Json<{ json: ExchangeRatesSet }, ExchangeRates, 200>;
  };
  "/api/v1/payouts": {
    $get: Json<
      {
        query: {
          page?: string | undefined;
          per_page?: string | undefined;
          cursor?: string | undefined;
          status?: "pending" | "processing" | "paid" | "failed" | "canceled" | "returned" | undefined;
          method?: "wallet" | "provider_a" | "bank_transfer" | "crypto" | undefined;
          currency?: string | undefined;
          partner_id?: string | undefined;
          from?: string | undefined;
          to?: string | undefined;
        };
      },
      PayoutList,
      200
    >;
  };
  "/api/v1/payouts/generate": {
    $post: Json<{ json?: PayoutGenerate | undefined }, PayoutGeneration, 200>;
  };
  "/api/v1/payouts/export.csv": {
    $get: File<
      {
        query: {
          status?: "pending" | "processing" | "paid" | "failed" | "canceled" | "returned" | undefined;
          format?: "generic" | "wallet" | undefined;
          currency?: string | undefined;
        };
      },
      200
    >;
  };
  "/api/v1/payouts/:id": {
    $get: Json<{ param: { id: string } }, PayoutWithCommissions, 200>;
  };
  "/api/v1/payouts/:id/pay": {
    $post: Json<{ param: { id: string }; json?: Nothing | undefined }, Payout, 200>;
  };
  "/api/v1/payouts/:id/mark-paid": {
    $post: Json<{ param: { id: string }; json?: PayoutMarkPaid | undefined }, Payout, 200>;
  };
  "/api/v1/payouts/:id/conclude": {
    $post: Json<{ param: { id: string }; json: PayoutConclude }, Payout, 200>;
  };
  "/api/v1/payouts/:id/returned": {
    $post: Json<{ param: { id: string }; json: PayoutReturned }, Payout, 200>;
  };
  "/api/v1/payouts/:id/cancel": {
    $post: Json<{ param: { id: string }; json?: Nothing | undefined }, Payout, 200>;
  };
  "/api/v1/customers/erase": {
    $post: Json<{ json: CustomerErase }, Erased, 200>;
  };
};

export type ApiKeyCreate = {
  name: string;
  scopes: ("read" | "write" | "payouts" | "keys")[];
  expires_at?: string | null | undefined;
};

export type ProgramUpdate = {
  name?: string | undefined;
  domain?: string | null | undefined;
  currency?: string | undefined;
  default_commission_pct?: number | undefined;
  payout_term?: string | undefined;
  min_payout_cents?: number | undefined;
  min_payouts?:
    | {
        [name: string]: number;
      }
    | undefined;
  payout_currency?: string | null | undefined;
  self_billing?: "off" | "on" | undefined;
  self_billing_prefix?: string | undefined;
  payer_name?: string | null | undefined;
  payer_address?: string | null | undefined;
  payer_country?: string | null | undefined;
  payer_tax_id?: string | null | undefined;
  require_tax_data?: boolean | undefined;
  cookie_days?: number | undefined;
  attribution?: "last" | "first" | undefined;
  code_precedence?: "link" | "code" | undefined;
  auto_approve_days?: number | null | undefined;
  payout_change_hold_days?: number | undefined;
  live_only?: boolean | undefined;
  brand_color?: string | null | undefined;
  time_zone?: string | undefined;
  applications?: "off" | "review" | "auto" | undefined;
  slug?: string | null | undefined;
  questions?: string[] | null | undefined;
  terms?: string | null | undefined;
  sale_amounts?: "shown" | "hidden" | undefined;
  partner_links?: boolean | undefined;
  assets?:
    | {
        name: string;
        kind: "banner" | "text" | "link";
        content: string;
      }[]
    | null
    | undefined;
  debtor_name?: string | null | undefined;
  debtor_iban?: string | null | undefined;
  debtor_bic?: string | null | undefined;
  apply_from?: string | undefined;
  provider_a_webhook_secret?: string | null | undefined;
  provider_b_webhook_secret?: string | null | undefined;
  provider_a_api_key?: string | null | undefined;
  provider_b_api_key?: string | null | undefined;
};

export type ListRead = {
  since?: string | undefined;
};

export type DestinationMake = {
  replace?: boolean | undefined;
};

export type PartnerCreate = {
  email: string;
  first_name?: string | null | undefined;
  last_name?: string | null | undefined;
  slug: string;
  commission_pct?: number | null | undefined;
  payout_method?: "wallet" | "provider_a" | "bank_transfer" | "crypto" | null | undefined;
  payout_email?: string | null | undefined;
  metadata?: {} | null | undefined;
  group_id?: string | undefined;
};

export type PartnerUpdate = {
  email?: string | undefined;
  first_name?: string | null | undefined;
  last_name?: string | null | undefined;
  slug?: string | undefined;
  status?: "invited" | "active" | "deactivated" | undefined;
  commission_pct?: number | null | undefined;
  payout_method?: "wallet" | "provider_a" | "bank_transfer" | "crypto" | null | undefined;
  payout_email?: string | null | undefined;
  metadata?: {} | null | undefined;
  group_id?: string | undefined;
  apply_from?: string | undefined;
};

export type Nothing = {};

export type PayoutDetailsSet = {
  method: "wallet" | "provider_a" | "bank_transfer" | "crypto" | null;
  email?: string | null | undefined;
  account?: string | null | undefined;
  account_holder?: string | null | undefined;
  country?: string | null | undefined;
  currency?: string | null | undefined;
  iban?: string | null | undefined;
  bic?: string | null | undefined;
  account_number?: string | null | undefined;
  routing_number?: string | null | undefined;
  sort_code?: string | null | undefined;
  bsb?: string | null | undefined;
  network?: string | null | undefined;
  address?: string | null | undefined;
};

export type PayoutDetailsAsk = {
  ids?: string[] | undefined;
};

export type TaxDataSet = {
  legal_name: string;
  address: string;
  country: string;
  kind: "business" | "private";
  tax_id?: string | null | undefined;
  vat_rate?: number | null | undefined;
};

export type GroupCreate = {
  name: string;
  slug: string;
  commission_pct?: number | null | undefined;
  hold_days?: number | null | undefined;
};

export type GroupUpdate = {
  name?: string | undefined;
  commission_pct?: number | null | undefined;
  hold_days?: number | null | undefined;
  is_default?: boolean | undefined;
  apply_from?: string | undefined;
};

export type OnboardingStart = {
  return_url?: string | undefined;
  refresh_url?: string | undefined;
  country?: string | undefined;
};

export type AccountForget = {
  account_id: string;
};

export type ApplicationsDecide = {
  ids: string[];
  status: "approved" | "declined";
  note?: string | undefined;
};

export type ApplicationDecline = {
  note?: string | undefined;
};

export type CodeCreate = {
  provider: "provider_a" | "provider_b";
  code: string;
  provider_code_id?: string | null | undefined;
  move?: boolean | undefined;
};

export type ImportFile = string;

export type FlowCreate = {
  name: string;
  event?: "transaction_completed" | "lead_created" | undefined;
  action_type: "percentage" | "flat";
  action_value: number;
  conditions?:
    | {
        field:
          | "txn_amount_cents"
          | "customer_email"
          | "partner_slug"
          | "provider"
          | "partner_group"
          | "currency"
          | "product_id"
          | "payment_number"
          | "months_since_first_payment"
          | "new_customer"
          | "ref_source";
        op: "eq" | "neq" | "gt" | "gte" | "lt" | "lte" | "contains" | "in" | "not_in";
        value: number | string | boolean | (number | string | boolean)[];
      }[]
    | undefined;
  priority?: number | undefined;
  active?: boolean | undefined;
  hold_days?: number | null | undefined;
  starts_at?: string | null | undefined;
  ends_at?: string | null | undefined;
  currency?: string | null | undefined;
  base?: "payment" | "matching_items" | undefined;
  apply_from?: string | undefined;
};

export type FlowSimulate = {
  flow?:
    | {
        name?: string | undefined;
        event?: "transaction_completed" | "lead_created" | undefined;
        action_type?: "percentage" | "flat" | undefined;
        action_value?: number | undefined;
        conditions?:
          | {
              field:
                | "txn_amount_cents"
                | "customer_email"
                | "partner_slug"
                | "provider"
                | "partner_group"
                | "currency"
                | "product_id"
                | "payment_number"
                | "months_since_first_payment"
                | "new_customer"
                | "ref_source";
              op: "eq" | "neq" | "gt" | "gte" | "lt" | "lte" | "contains" | "in" | "not_in";
              value: number | string | boolean | (number | string | boolean)[];
            }[]
          | undefined;
        priority?: number | undefined;
        active?: boolean | undefined;
        hold_days?: number | null | undefined;
        starts_at?: string | null | undefined;
        ends_at?: string | null | undefined;
        currency?: string | null | undefined;
        base?: "payment" | "matching_items" | undefined;
      }
    | undefined;
  flow_id?: string | undefined;
  partner_id?: string | undefined;
  group_id?: string | undefined;
  commission_pct?: number | null | undefined;
  default_commission_pct?: number | undefined;
  apply_from?: string | undefined;
  last: number;
};

export type FlowUpdate = {
  name?: string | undefined;
  event?: "transaction_completed" | "lead_created" | undefined;
  action_type?: "percentage" | "flat" | undefined;
  action_value?: number | undefined;
  conditions?:
    | {
        field:
          | "txn_amount_cents"
          | "customer_email"
          | "partner_slug"
          | "provider"
          | "partner_group"
          | "currency"
          | "product_id"
          | "payment_number"
          | "months_since_first_payment"
          | "new_customer"
          | "ref_source";
        op: "eq" | "neq" | "gt" | "gte" | "lt" | "lte" | "contains" | "in" | "not_in";
        value: number | string | boolean | (number | string | boolean)[];
      }[]
    | undefined;
  priority?: number | undefined;
  active?: boolean | undefined;
  hold_days?: number | null | undefined;
  starts_at?: string | null | undefined;
  ends_at?: string | null | undefined;
  currency?: string | null | undefined;
  base?: "payment" | "matching_items" | undefined;
  apply_from?: string | undefined;
};

export type EndpointCreate = {
  url: string;
  events: (
    | "commission.created"
    | "commission.updated"
    | "partner.created"
    | "partner.updated"
    | "applications.received"
    | "applications.approved"
    | "applications.declined"
    | "claim.created"
    | "claim.granted"
    | "claim.declined"
    | "payout.generated"
    | "payout.paid"
    | "payout.returned"
    | "*"
  )[];
  description?: string | null | undefined;
};

export type EndpointUpdate = {
  url?: string | undefined;
  events?:
    | (
        | "commission.created"
        | "commission.updated"
        | "partner.created"
        | "partner.updated"
        | "applications.received"
        | "applications.approved"
        | "applications.declined"
        | "claim.created"
        | "claim.granted"
        | "claim.declined"
        | "payout.generated"
        | "payout.paid"
        | "payout.returned"
        | "*"
      )[]
    | undefined;
  description?: string | null | undefined;
  active?: boolean | undefined;
};

export type Recover = {
  since: string;
};

export type MemberCreate = {
  email: string;
  role: "owner" | "finance" | "viewer";
};

export type MemberUpdate = {
  role?: "owner" | "finance" | "viewer" | undefined;
};

export type LeadReport = {
  external_id: string;
  ref: string;
  click_id?: string | undefined;
  customer: {
    id?: string | undefined;
    email?: string | undefined;
  };
  occurred_at?: string | undefined;
};

export type SaleReport = {
  external_id: string;
  ref?: string | undefined;
  click_id?: string | undefined;
  customer?:
    | {
        id?: string | undefined;
        email?: string | undefined;
      }
    | undefined;
  amount_cents: number;
  currency: string;
  net_of_tax: true;
  items?:
    | {
        product_id: string;
        amount_cents: number;
      }[]
    | undefined;
  occurred_at?: string | undefined;
};

export type RefundReport = {
  external_id: string;
  sale_external_id: string;
  amount_cents: number;
  occurred_at?: string | undefined;
};

export type CommissionCreate = {
  partner_id: string;
  amount_cents: number;
  currency?: string | undefined;
  note: string;
};

export type CommissionBulk = {
  ids?: string[] | undefined;
  filter?:
    | {
        status?: "pending" | "approved" | "paid" | "rejected" | undefined;
        partner_id?: string | undefined;
        payout_id?: string | undefined;
        provider?: "api" | "provider_a" | "provider_b" | undefined;
        flagged?: boolean | undefined;
        from?: string | undefined;
        to?: string | undefined;
      }
    | undefined;
  status: "pending" | "approved" | "paid" | "rejected";
  reason?: string | undefined;
  include_flagged?: boolean | undefined;
};

export type CommissionUpdate = {
  status?: "pending" | "approved" | "paid" | "rejected" | undefined;
  reason?: string | undefined;
  flagged?: boolean | undefined;
};

export type ClaimGrant = {
  payment_id?: string | undefined;
};

export type ClaimDecline = {
  note?: string | null | undefined;
};

export type PayoutExportCreate = {
  format: "wallet" | "bank" | "wise" | "sepa";
  currency: string;
  retry?: boolean | undefined;
};

export type PayoutExportPaid = {
  reference?: string | null | undefined;
  except?: string[] | undefined;
};

export type PayoutResultFile = string;

export type ExchangeRatesSet = {
  base: string;
  rates: {
    [name: string]: number | string;
  };
};

export type PayoutGenerate = {
  period_start?: string | undefined;
  period_end?: string | undefined;
  dry_run?: boolean | undefined;
  require_details?: boolean | undefined;
};

export type PayoutMarkPaid = {
  reference?: string | null | undefined;
};

export type PayoutConclude = {
  made: boolean;
  reference?: string | null | undefined;
};

export type PayoutReturned = {
  reason: string;
};

export type CustomerErase = {
  email: string;
};

export type ProgramCreate = {
  name: string;
  owner_email: string;
  domain?: string | null | undefined;
  currency?: string | undefined;
};

export type SignInLinkCreate = {
  email: string;
};

export type Reconcile = {
  program_id?: string | undefined;
  next?: string | undefined;
  repair?: "balances" | undefined;
};

export type ProviderAEvent = {
  id: string;
  type: string;
  created: number | string;
  data?:
    | {
        object: {
          [name: string]: JSONValue;
        };
        [name: string]: JSONValue | undefined;
      }
    | undefined;
  [name: string]: JSONValue | undefined;
};

export type ProviderBEvent = {
  event_id: string;
  event_type: string;
  occurred_at: string;
  data?:
    | {
        [name: string]: JSONValue;
      }
    | undefined;
  [name: string]: JSONValue | undefined;
};

export type Click = {
  program_id: string;
  ref: string;
  landing?: string | undefined;
  referrer?: string | undefined;
  sub?: string | undefined;
  id?: string | undefined;
};

export type ApiError = {
  error: {
    code:
      | "invalid_json"
      | "unauthorized"
      | "invalid_signature"
      | "forbidden"
      | "not_found"
      | "method_not_allowed"
      | "already_exists"
      | "invalid_transition"
      | "payout_held"
      | "idempotency_conflict"
      | "provider_not_configured"
      | "payload_too_large"
      | "unsupported_media_type"
      | "validation_failed"
      | "rate_limited"
      | "internal_error"
      | "storage_unavailable"
      | "not_configured"
      | "provider_unavailable";
    message: string;
    details?:
      | {
          path: string;
          message: string;
        }[]
      | undefined;
    request_id: string;
  };
};

export type Health = {
  status: "ok";
  jobs?:
    | {
        behind: {
          job: string;
          database: string;
          since: string;
          left: number;
          failed: number;
        }[];
      }
    | undefined;
  databases?:
    | {
        filling: {
          database: string;
          percent: number;
        }[];
      }
    | undefined;
};

export type Program = {
  id: string;
  name: string;
  owner_email: string;
  domain: string | null;
  currency: string;
  default_commission_pct: number;
  payout_term: string;
  min_payout_cents: number;
  min_payouts: {
    [name: string]: number;
  };
  payout_currency: string | null;
  self_billing: "off" | "on";
  self_billing_prefix: string;
  payer_name: string | null;
  payer_address: string | null;
  payer_country: string | null;
  payer_tax_id: string | null;
  require_tax_data: boolean;
  cookie_days: number;
  attribution: "last" | "first";
  code_precedence: "link" | "code";
  auto_approve_days: number | null;
  payout_change_hold_days: number;
  live_only: boolean;
  brand_color: string | null;
  time_zone: string;
  applications: "off" | "review" | "auto";
  slug: string | null;
  questions: string[];
  terms: string | null;
  terms_version: number;
  sale_amounts: "shown" | "hidden";
  partner_links: boolean;
  assets: {
    name: string;
    kind: "banner" | "text" | "link";
    content: string;
  }[];
  debtor_name: string | null;
  debtor_iban: string | null;
  debtor_bic: string | null;
  api_key_last4: string;
  api_key_last_used_at: string | null;
  created_at: string;
  updated_at: string;
  provider_a_webhook_secret_set: boolean;
  provider_b_webhook_secret_set: boolean;
  provider_a_api_key_set: boolean;
  provider_b_api_key_set: boolean;
};

export type ProgramList = {
  data: Program[];
  total: number;
  page: number;
  per_page: number;
  next_cursor: string | null;
};

export type ProgramWithKey = {
  program: Program;
  api_key: string;
};

export type ApiKeyList = {
  data: {
    id: string;
    program_id: string;
    name: string;
    scopes: ("read" | "write" | "payouts" | "keys")[];
    last4: string;
    created_at: string;
    expires_at: string | null;
    last_used_at: string | null;
  }[];
};

export type ApiKeyWithText = {
  id: string;
  program_id: string;
  name: string;
  scopes: ("read" | "write" | "payouts" | "keys")[];
  last4: string;
  created_at: string;
  expires_at: string | null;
  last_used_at: string | null;
  api_key: string;
};

export type SignInLink = {
  url: string;
  expires_at: string;
};

export type Resealing = {
  resealed: number;
  left: number;
  unreadable: {
    program_id: string;
    field: string;
    id: string;
  }[];
};

export type Integrations = {
  provider_a: {
    configured: boolean;
    webhook_secret_set: boolean;
    last_event_at: string | null;
    is_last_event_test: boolean;
    last_connected_event_at?: string | undefined;
    event_types: {
      type: string;
      need: "required" | "recommended" | "none";
      last_seen_at: string | null;
    }[];
    refused: number;
    last_refusal: {
      at: string;
      reason:
        | "no_signature"
        | "wrong_signature"
        | "time"
        | "not_configured"
        | "unparsable"
        | "no_api_key"
        | "api_key_refused"
        | "permission_missing"
        | "rate_limited"
        | "unavailable"
        | "unreadable"
        | "refused"
        | "test_key";
    } | null;
    api_key_set: boolean;
    complete_from: string | null;
    complete_until: string | null;
    recovered: number;
    is_reading: boolean;
    read_failure: {
      reason:
        | "api_key_refused"
        | "permission_missing"
        | "rate_limited"
        | "unavailable"
        | "unreadable"
        | "refused"
        | "test_key"
        | "not_stored";
      at: string;
      since: string;
    } | null;
    unanswered: {
      reason: "api_key_refused" | "permission_missing" | "rate_limited" | "unavailable" | "unreadable" | "refused";
      at: string;
      since: string;
    } | null;
    unparsable: {
      event_id: string;
      event_type: string | null;
      occurred_at: string;
      problem: string;
      at: string;
      since: string;
    }[];
  };
  provider_b: {
    configured: boolean;
    webhook_secret_set: boolean;
    last_event_at: string | null;
    is_last_event_test: boolean;
    last_connected_event_at?: string | undefined;
    event_types: {
      type: string;
      need: "required" | "recommended" | "none";
      last_seen_at: string | null;
    }[];
    refused: number;
    last_refusal: {
      at: string;
      reason:
        | "no_signature"
        | "wrong_signature"
        | "time"
        | "not_configured"
        | "unparsable"
        | "no_api_key"
        | "api_key_refused"
        | "permission_missing"
        | "rate_limited"
        | "unavailable"
        | "unreadable"
        | "refused"
        | "test_key";
    } | null;
    api_key_set: boolean;
    complete_from: string | null;
    complete_until: string | null;
    recovered: number;
    is_reading: boolean;
    read_failure: {
      reason:
        | "api_key_refused"
        | "permission_missing"
        | "rate_limited"
        | "unavailable"
        | "unreadable"
        | "refused"
        | "test_key"
        | "not_stored";
      at: string;
      since: string;
    } | null;
    unanswered: {
      reason: "api_key_refused" | "permission_missing" | "rate_limited" | "unavailable" | "unreadable" | "refused";
      at: string;
      since: string;
    } | null;
    unparsable: {
      event_id: string;
      event_type: string | null;
      occurred_at: string;
      problem: string;
      at: string;
      since: string;
    }[];
  };
  reconciled_at: string | null;
  differences: number;
  deliveries_left: number;
  email: {
    configured: boolean;
    last_refusal: {
      at: string;
      reason: string | null;
    } | null;
  };
};

export type Installation = {
  url: string;
  installed: boolean;
  checks: {
    check: "page" | "script" | "program" | "script_policy" | "click_policy" | "click_address" | "click";
    result: "ok" | "failed" | "unknown";
    reason:
      | "refused"
      | "dns"
      | "unreachable"
      | "timed_out"
      | "too_many_redirects"
      | "status"
      | "not_html"
      | "too_large"
      | "absent"
      | "held_back"
      | "no_program"
      | "other_program"
      | "policy"
      | "elsewhere"
      | "no_click"
      | null;
    text: string;
  }[];
};

export type ListReading = {
  api_key_set: boolean;
  complete_from: string | null;
  complete_until: string | null;
  recovered: number;
  is_reading: boolean;
  read_failure: {
    reason:
      | "api_key_refused"
      | "permission_missing"
      | "rate_limited"
      | "unavailable"
      | "unreadable"
      | "refused"
      | "test_key"
      | "not_stored";
    at: string;
    since: string;
  } | null;
  unanswered: {
    reason: "api_key_refused" | "permission_missing" | "rate_limited" | "unavailable" | "unreadable" | "refused";
    at: string;
    since: string;
  } | null;
  unparsable: {
    event_id: string;
    event_type: string | null;
    occurred_at: string;
    problem: string;
    at: string;
    since: string;
  }[];
};

export type Destination = {
  provider: "provider_a" | "provider_b";
  destination_id: string;
  url: string;
  outcome: "created" | "updated" | "unchanged";
  event_types_added: string[];
  test: boolean;
  secret: "stored" | "kept" | "unverified";
  not_removed: number;
  other_programs: number;
};

export type Partner = {
  id: string;
  program_id: string;
  email: string;
  first_name: string | null;
  last_name: string | null;
  slug: string;
  status: "invited" | "active" | "deactivated";
  commission_pct: number | null;
  payout_method: "wallet" | "provider_a" | "bank_transfer" | "crypto" | null;
  payout_email: string | null;
  provider_a_account_id: string | null;
  metadata: {
    [name: string]: JSONValue;
  } | null;
  group_id: string;
  bank_account: string | null;
  crypto_address: string | null;
  payouts_held_until: string | null;
  created_at: string;
  updated_at: string;
};

export type PartnerList = {
  data: Partner[];
  total: number;
  page: number;
  per_page: number;
  next_cursor: string | null;
};

export type PartnerWithStats = {
  id: string;
  program_id: string;
  email: string;
  first_name: string | null;
  last_name: string | null;
  slug: string;
  status: "invited" | "active" | "deactivated";
  commission_pct: number | null;
  payout_method: "wallet" | "provider_a" | "bank_transfer" | "crypto" | null;
  payout_email: string | null;
  provider_a_account_id: string | null;
  metadata: {
    [name: string]: JSONValue;
  } | null;
  group_id: string;
  bank_account: string | null;
  crypto_address: string | null;
  payouts_held_until: string | null;
  created_at: string;
  updated_at: string;
  slugs: string[];
  stats: {
    total_commissions: number;
    total_earned_cents: number;
    pending_cents: number;
    approved_cents: number;
    paid_cents: number;
    clicks: number;
    other_currencies: {
      currency: string;
      total_commissions: number;
      total_earned_cents: number;
      pending_cents: number;
      approved_cents: number;
      paid_cents: number;
    }[];
  };
};

export type Onboarding = {
  partner_id: string;
  provider_a_account_id: string | null;
  url: string;
  expires_at: string;
};

export type PayoutDetails = {
  partner_id: string;
  method: "wallet" | "provider_a" | "bank_transfer" | "crypto" | null;
  wallet: {
    email: string;
  } | null;
  provider_a: {
    account: string;
  } | null;
  bank_transfer: {
    account_holder: string;
    country: string;
    currency: string;
    iban?: string | undefined;
    bic?: string | undefined;
    account_number?: string | undefined;
    routing_number?: string | undefined;
    sort_code?: string | undefined;
    bsb?: string | undefined;
  } | null;
  crypto: {
    network: string;
    address: string;
  } | null;
};

export type Code = {
  id: string;
  program_id: string;
  partner_id: string;
  provider: "provider_a" | "provider_b";
  code: string;
  provider_code_id: string | null;
  created_at: string;
};

export type CodeList = {
  data: Code[];
};

export type CodeSummary = {
  data: {
    code_id: string;
    partner_id: string;
    provider: "provider_a" | "provider_b";
    code: string;
    ended_at: string | null;
    currency: string;
    sales: number;
    revenue_cents: number;
    earned_cents: number;
  }[];
};

export type ProductList = {
  data: {
    provider: "api" | "provider_a" | "provider_b";
    id: string;
    name: string | null;
    last_seen_at: string;
  }[];
};

export type Flow = {
  id: string;
  program_id: string;
  name: string;
  event: "transaction_completed" | "lead_created";
  action_type: "percentage" | "flat";
  action_value: number;
  conditions: {
    field:
      | "txn_amount_cents"
      | "customer_email"
      | "partner_slug"
      | "provider"
      | "partner_group"
      | "currency"
      | "product_id"
      | "payment_number"
      | "months_since_first_payment"
      | "new_customer"
      | "ref_source";
    op: "eq" | "neq" | "gt" | "gte" | "lt" | "lte" | "contains" | "in" | "not_in";
    value: number | string | boolean | (number | string | boolean)[];
  }[];
  priority: number;
  active: boolean;
  hold_days: number | null;
  starts_at: string | null;
  ends_at: string | null;
  currency: string | null;
  base: "payment" | "matching_items";
  created_at: string;
  updated_at: string;
};

export type SavedFlow = {
  id: string;
  program_id: string;
  name: string;
  event: "transaction_completed" | "lead_created";
  action_type: "percentage" | "flat";
  action_value: number;
  conditions: {
    field:
      | "txn_amount_cents"
      | "customer_email"
      | "partner_slug"
      | "provider"
      | "partner_group"
      | "currency"
      | "product_id"
      | "payment_number"
      | "months_since_first_payment"
      | "new_customer"
      | "ref_source";
    op: "eq" | "neq" | "gt" | "gte" | "lt" | "lte" | "contains" | "in" | "not_in";
    value: number | string | boolean | (number | string | boolean)[];
  }[];
  priority: number;
  active: boolean;
  hold_days: number | null;
  starts_at: string | null;
  ends_at: string | null;
  currency: string | null;
  base: "payment" | "matching_items";
  created_at: string;
  updated_at: string;
  warnings: {
    path: string;
    message: string;
  }[];
};

export type FlowList = {
  data: Flow[];
};

export type Group = {
  id: string;
  program_id: string;
  name: string;
  slug: string;
  commission_pct: number | null;
  hold_days: number | null;
  is_default: boolean;
  partner_count: number;
  created_at: string;
  updated_at: string;
};

export type GroupList = {
  data: Group[];
};

export type ClickTaken = {
  known: boolean | null;
};

export type ClickSummary = {
  data: {
    day: string;
    recorded: number;
    dropped?:
      | {
          bot: number;
          duplicate: number;
          flood: number;
          unknown_ref: number;
          partner_deactivated: number;
          over_budget: number;
          database_full: number;
        }
      | undefined;
  }[];
  recorded: number;
  dropped?:
    | {
        bot: number;
        duplicate: number;
        flood: number;
        unknown_ref: number;
        partner_deactivated: number;
        over_budget: number;
        database_full: number;
      }
    | undefined;
};

export type Event = {
  id: string;
  program_id: string;
  type:
    | "click"
    | "commission.created"
    | "commission.updated"
    | "partner.created"
    | "partner.updated"
    | "partner.deleted"
    | "partner.invited"
    | "partner.hold_released"
    | "payout_details.read"
    | "payout_details.asked"
    | "tax_data.read"
    | "applications.received"
    | "applications.approved"
    | "applications.declined"
    | "code.created"
    | "code.moved"
    | "code.deleted"
    | "claim.created"
    | "claim.granted"
    | "claim.declined"
    | "payout.generated"
    | "payout.updated"
    | "payout.paid"
    | "payout.returned"
    | "payout.exported"
    | "exchange_rates.updated"
    | "list.exported"
    | "webhook.api"
    | "webhook.provider_a"
    | "webhook.provider_b"
    | "webhook.refused"
    | "destination.created"
    | "destination.updated"
    | "flow.created"
    | "flow.updated"
    | "flow.deleted"
    | "group.created"
    | "group.updated"
    | "group.deleted"
    | "webhook_endpoint.created"
    | "webhook_endpoint.updated"
    | "webhook_endpoint.deleted"
    | "program.updated"
    | "api_key.regenerated"
    | "api_key.created"
    | "api_key.deleted"
    | "member.added"
    | "member.changed"
    | "member.removed"
    | "partner.signed_in"
    | "member.signed_in"
    | "portal_link.created"
    | "account_link.created"
    | "session.ended"
    | "session.all_ended"
    | "passkey.added"
    | "passkey.removed"
    | "sign_in.failed"
    | "customers.imported"
    | "reconciliation.failed"
    | "reconciliation.repaired";
  payload: {
    [name: string]: JSONValue;
  };
  actor: {
    type: "api_key" | "member" | "partner" | "provider" | "operator" | "cron" | "visitor";
    id: string | null;
    name: string | null;
  } | null;
  changes: {
    [name: string]: [JSONValue, JSONValue];
  } | null;
  created_at: string;
};

export type EventList = {
  data: Event[];
  total: number;
  page: number;
  per_page: number;
  next_cursor: string | null;
};

export type Endpoint = {
  id: string;
  program_id: string;
  url: string;
  events: (
    | "commission.created"
    | "commission.updated"
    | "partner.created"
    | "partner.updated"
    | "applications.received"
    | "applications.approved"
    | "applications.declined"
    | "claim.created"
    | "claim.granted"
    | "claim.declined"
    | "payout.generated"
    | "payout.paid"
    | "payout.returned"
    | "*"
  )[];
  description: string | null;
  active: boolean;
  disabled_at: string | null;
  created_at: string;
  updated_at: string;
};

export type EndpointList = {
  data: Endpoint[];
};

export type EndpointWithSecret = {
  id: string;
  program_id: string;
  url: string;
  events: (
    | "commission.created"
    | "commission.updated"
    | "partner.created"
    | "partner.updated"
    | "applications.received"
    | "applications.approved"
    | "applications.declined"
    | "claim.created"
    | "claim.granted"
    | "claim.declined"
    | "payout.generated"
    | "payout.paid"
    | "payout.returned"
    | "*"
  )[];
  description: string | null;
  active: boolean;
  disabled_at: string | null;
  created_at: string;
  updated_at: string;
  secret: string;
};

export type EndpointWithNewSecret = {
  id: string;
  program_id: string;
  url: string;
  events: (
    | "commission.created"
    | "commission.updated"
    | "partner.created"
    | "partner.updated"
    | "applications.received"
    | "applications.approved"
    | "applications.declined"
    | "claim.created"
    | "claim.granted"
    | "claim.declined"
    | "payout.generated"
    | "payout.paid"
    | "payout.returned"
    | "*"
  )[];
  description: string | null;
  active: boolean;
  disabled_at: string | null;
  created_at: string;
  updated_at: string;
  secret: string;
  previous_secret_valid_until: string | null;
};

export type EndpointWithDeliveries = {
  id: string;
  program_id: string;
  url: string;
  events: (
    | "commission.created"
    | "commission.updated"
    | "partner.created"
    | "partner.updated"
    | "applications.received"
    | "applications.approved"
    | "applications.declined"
    | "claim.created"
    | "claim.granted"
    | "claim.declined"
    | "payout.generated"
    | "payout.paid"
    | "payout.returned"
    | "*"
  )[];
  description: string | null;
  active: boolean;
  disabled_at: string | null;
  created_at: string;
  updated_at: string;
  deliveries: Delivery[];
};

export type PingData = {
  id: string;
  endpoint_id: string;
  description: string | null;
};

export type Delivery = {
  id: string;
  event_id: string;
  event:
    | "commission.created"
    | "commission.updated"
    | "partner.created"
    | "partner.updated"
    | "applications.received"
    | "applications.approved"
    | "applications.declined"
    | "claim.created"
    | "claim.granted"
    | "claim.declined"
    | "payout.generated"
    | "payout.paid"
    | "payout.returned"
    | "ping";
  status: "pending" | "delivering" | "succeeded" | "failed" | "blocked";
  attempt_count: number;
  next_attempt_at: string | null;
  created_at: string;
  completed_at: string | null;
  payload: {
    [name: string]: JSONValue;
  } | null;
  attempts: {
    number: number;
    started_at: string;
    duration_ms: number;
    status_code: number | null;
    error: "timeout" | "connection" | "dns" | "blocked" | "http" | "redirect" | "secret" | null;
    response_excerpt: string | null;
  }[];
};

export type DeliveryList = {
  data: Delivery[];
  total: number;
  page: number;
  per_page: number;
  next_cursor: string | null;
};

export type Recovered = {
  recovered: number;
  has_more: boolean;
};

export type Deleted = {
  id: string;
  deleted: true;
};

export type Import = {
  kind: "partners" | "customers";
  product:
    | "rewardful"
    | "firstpromoter"
    | "tolt"
    | "dub"
    | "affonso"
    | "leaddyno"
    | "post_affiliate_pro"
    | "tapfiliate"
    | "partnerstack"
    | "refersion"
    | "other";
  dry_run: boolean;
  data_param: string | null;
  lines: number;
  added: number;
  completed: number;
  unchanged: number;
  left_out: number;
  refused: number;
  columns: {
    column: string;
    taken_as:
      | "email"
      | "first_name"
      | "last_name"
      | "status"
      | "commission_pct"
      | "payout_method"
      | "payout_email"
      | "name"
      | "code"
      | "group"
      | "promotion_codes"
      | "account_holder"
      | "country"
      | "currency"
      | "iban"
      | "bic"
      | "account_number"
      | "routing_number"
      | "customer_id"
      | "customer_email"
      | "partner_email"
      | null;
    unread: number;
  }[];
  problems: {
    line: number;
    column: string | null;
    outcome: "added" | "completed" | "unchanged" | "left_out" | "refused";
    message: string;
  }[];
  notes: {
    line: number;
    column: string;
    message: string;
  }[];
};

export type Erased = {
  erased: {
    payments: number;
    commissions: number;
    provider_events: number;
  };
};

export type Received = {
  received: true;
  outcome:
    | "commission"
    | "no_ref"
    | "unknown_ref"
    | "unknown_code"
    | "partner_not_active"
    | "partner_deactivated"
    | "zero_amount"
    | "unpaid"
    | "merged"
    | "test_mode"
    | "no_flow"
    | "too_large"
    | "claimed_elsewhere"
    | "adjusted"
    | "waiting"
    | "flagged"
    | "remembered"
    | "linked"
    | "ignored";
  reason?: string | undefined;
};

export type Member = {
  id: string;
  program_id: string;
  email: string;
  role: "owner" | "finance" | "viewer";
  created_at: string;
  updated_at: string;
};

export type MemberList = {
  data: Member[];
};

export type Application = {
  id: string;
  program_id: string;
  status: "pending" | "approved" | "declined";
  email: string | null;
  name: string | null;
  website: string | null;
  answers:
    | {
        question: string;
        answer: string;
      }[]
    | null;
  terms_version: number | null;
  consented_at: string | null;
  partner_id: string | null;
  note: string | null;
  group_slug: string | null;
  created_at: string;
  decided_at: string | null;
  updated_at: string;
};

export type ApplicationList = {
  data: Application[];
  total: number;
  page: number;
  per_page: number;
  next_cursor: string | null;
};

export type ApplicationData = {
  id: string;
  program_id: string;
  status: "pending" | "approved" | "declined";
  partner_id: string | null;
  created_at: string;
  decided_at: string | null;
};

export type ApplicationsDecided = {
  data: (
    | {
        id: string;
        ok: true;
        status: "approved" | "declined";
      }
    | {
        id: string;
        ok: false;
        error: {
          code: "not_found" | "invalid_transition" | "already_exists";
          message: string;
        };
      }
  )[];
};

export type Commission = {
  id: string;
  program_id: string;
  partner_id: string;
  payment_id: string | null;
  flow_id: string | null;
  payout_id: string | null;
  kind: "sale" | "clawback" | "manual" | "lead";
  source_commission_id: string | null;
  status: "pending" | "approved" | "paid" | "rejected";
  flagged: boolean;
  review_reason:
    | "disputed"
    | "possible_duplicate"
    | "self_referral"
    | "mostly_refunded"
    | "subscription_canceled"
    | "manual"
    | null;
  rejected_reason: string | null;
  amount_cents: number;
  txn_amount_cents: number;
  base_cents: number | null;
  currency: string;
  provider: "api" | "provider_a" | "provider_b" | null;
  provider_transaction_id: string | null;
  subscription_id: string | null;
  customer_email: string | null;
  rate: {
    source: "flow" | "partner" | "group" | "program" | "manual";
    action_type: "percentage" | "flat";
    action_value: number;
  };
  note: string | null;
  created_at: string;
  hold_until: string | null;
  approved_at: string | null;
  paid_at: string | null;
  updated_at: string;
};

export type CommissionData = {
  id: string;
  partner_id: string;
  amount: number;
  revenue: number;
  status: "pending" | "approved" | "paid" | "rejected";
  currency: string;
  hold_until: string | null;
};

export type CommissionList = {
  data: Commission[];
  total: number;
  page: number;
  per_page: number;
  next_cursor: string | null;
};

export type BalanceList = {
  data: {
    currency: string;
    pending_cents: number;
    payable_cents: number;
    in_payout_cents: number;
    paid_cents: number;
    forgiven_cents: number;
  }[];
};

export type Reconciling = {
  checked: {
    commissions: number;
    payments: number;
    partners: number;
    payouts: number;
    transfers: number;
  };
  differences: {
    program_id: string;
    check: "journal" | "entitlement" | "balance" | "payout" | "transfer";
    subject: string;
    expected: {
      [name: string]: JSONValue;
    };
    found: {
      [name: string]: JSONValue;
    };
    found_at: string;
  }[];
  repaired: string[];
  next: string | null;
};

export type EntryList = {
  data: {
    id: string;
    partner_id: string;
    commission_id: string;
    payout_id: string | null;
    currency: string;
    from_account: "expense" | "pending" | "payable" | "in_payout" | "paid" | "forgiven";
    to_account: "expense" | "pending" | "payable" | "in_payout" | "paid" | "forgiven";
    amount_cents: number;
    posted_at: string;
    event_id: string | null;
  }[];
  total: number;
  page: number;
  per_page: number;
  next_cursor: string | null;
};

export type BulkResults = {
  data: (
    | {
        id: string;
        ok: true;
        status: "pending" | "approved" | "paid" | "rejected";
      }
    | {
        id: string;
        ok: false;
        error: {
          code: "not_found" | "invalid_transition" | "flagged";
          message: string;
        };
      }
  )[];
  matched: number;
  changed: number;
  skipped: number;
  remaining: number;
};

export type Payment = {
  id: string;
  program_id: string;
  provider: "api" | "provider_a" | "provider_b";
  provider_transaction_id: string;
  outcome:
    | "commission"
    | "no_ref"
    | "unknown_ref"
    | "unknown_code"
    | "partner_not_active"
    | "partner_deactivated"
    | "zero_amount"
    | "unpaid"
    | "merged"
    | "test_mode"
    | "no_flow"
    | "too_large"
    | "claimed_elsewhere"
    | null;
  partner_id: string | null;
  ref: string | null;
  code_id: string | null;
  currency: string;
  txn_amount_cents: number;
  adjusted_cents: number;
  customer_email: string | null;
  customer_id: string | null;
  subscription_id: string | null;
  created_at: string;
  updated_at: string;
  event: "transaction_completed" | "lead_created";
};

export type PaymentList = {
  data: Payment[];
  total: number;
  page: number;
  per_page: number;
  next_cursor: string | null;
};

export type PaymentWithTrace = {
  id: string;
  program_id: string;
  provider: "api" | "provider_a" | "provider_b";
  provider_transaction_id: string;
  outcome:
    | "commission"
    | "no_ref"
    | "unknown_ref"
    | "unknown_code"
    | "partner_not_active"
    | "partner_deactivated"
    | "zero_amount"
    | "unpaid"
    | "merged"
    | "test_mode"
    | "no_flow"
    | "too_large"
    | "claimed_elsewhere"
    | null;
  partner_id: string | null;
  ref: string | null;
  code_id: string | null;
  currency: string;
  txn_amount_cents: number;
  adjusted_cents: number;
  customer_email: string | null;
  customer_id: string | null;
  subscription_id: string | null;
  created_at: string;
  updated_at: string;
  event: "transaction_completed" | "lead_created";
  trace: {
    outcome:
      | "commission"
      | "no_ref"
      | "unknown_ref"
      | "unknown_code"
      | "partner_not_active"
      | "partner_deactivated"
      | "zero_amount"
      | "unpaid"
      | "merged"
      | "test_mode"
      | "no_flow"
      | "too_large"
      | "claimed_elsewhere"
      | null;
    ref: string | null;
    ref_source: "payment" | "code" | "subscription" | "customer" | "email" | null;
    candidates: {
      ref: string;
      source:
        | "client_reference_id"
        | "metadata"
        | "subscription_metadata"
        | "line_metadata"
        | "invoice_metadata"
        | "customer_metadata"
        | "promotion_code"
        | "payment"
        | "remembered_subscription"
        | "remembered_customer"
        | "remembered_email"
        | "code_given_later";
      partner_id: string | null;
    }[];
    partner_id: string | null;
    partner_slug: string | null;
    group_id: string | null;
    group_slug: string | null;
    flows: {
      flow_id: string;
      name: string;
      priority: number;
      matched: boolean;
      base?: "matching_items" | undefined;
      skipped?: "not_started" | "ended" | "other_currency" | undefined;
      conditions: {
        field:
          | "txn_amount_cents"
          | "customer_email"
          | "partner_slug"
          | "provider"
          | "partner_group"
          | "currency"
          | "product_id"
          | "payment_number"
          | "months_since_first_payment"
          | "new_customer"
          | "ref_source";
        op: "eq" | "neq" | "gt" | "gte" | "lt" | "lte" | "contains" | "in" | "not_in";
        value: number | string | boolean | (number | string | boolean)[];
        saw: number | string | boolean | null;
        held: boolean;
      }[];
    }[];
    flow_id: string | null;
    rate: {
      source: "flow" | "partner" | "group" | "program" | "manual";
      action_type: "percentage" | "flat";
      action_value: number;
    } | null;
    hold: {
      source: "flow" | "group" | "program";
      days: number;
    } | null;
    txn_amount_cents: number;
    adjusted_cents: number;
    lines:
      | {
          products: string[];
          amount_cents: number;
          returned_cents?: number | undefined;
        }[]
      | null;
    base_cents: number | null;
    amount_cents: number | null;
    arithmetic: string | null;
    later_flows?:
      | {
          flow_id: string;
          name: string;
          created_at: string;
        }[]
      | undefined;
  };
  commissions: Commission[];
};

export type Claim = {
  id: string;
  program_id: string;
  partner_id: string;
  status: "open" | "granted" | "declined";
  order_id: string | null;
  day: string | null;
  email_domain: string | null;
  payment_id: string | null;
  note: string | null;
  created_at: string;
  decided_at: string | null;
};

export type ClaimData = {
  id: string;
  program_id: string;
  partner_id: string;
  status: "open" | "granted" | "declined";
  payment_id: string | null;
  created_at: string;
  decided_at: string | null;
};

export type ClaimList = {
  data: Claim[];
  total: number;
  page: number;
  per_page: number;
  next_cursor: string | null;
};

export type ClaimWithPayments = {
  id: string;
  program_id: string;
  partner_id: string;
  status: "open" | "granted" | "declined";
  order_id: string | null;
  day: string | null;
  email_domain: string | null;
  payment_id: string | null;
  note: string | null;
  created_at: string;
  decided_at: string | null;
  payments: PaymentWithTrace[];
};

export type Payout = {
  id: string;
  program_id: string;
  partner_id: string;
  amount_cents: number;
  currency: string;
  status: "pending" | "processing" | "paid" | "failed" | "canceled" | "returned";
  method: "wallet" | "provider_a" | "bank_transfer" | "crypto" | null;
  source_amounts:
    | {
        currency: string;
        amount_cents: number;
        rate: string;
        rate_source: "owner" | "provider_a" | null;
        rate_at: string | null;
        converted_cents: number;
      }[]
    | null;
  recipient: string | null;
  period_start: string | null;
  period_end: string;
  due_at: string;
  commission_count: number;
  reference: string | null;
  failure_code: string | null;
  failure_message: string | null;
  created_at: string;
  paid_at: string | null;
  updated_at: string;
  held_until: string | null;
};

export type PayoutList = {
  data: Payout[];
  total: number;
  page: number;
  per_page: number;
  next_cursor: string | null;
};

export type PayoutWithCommissions = {
  id: string;
  program_id: string;
  partner_id: string;
  amount_cents: number;
  currency: string;
  status: "pending" | "processing" | "paid" | "failed" | "canceled" | "returned";
  method: "wallet" | "provider_a" | "bank_transfer" | "crypto" | null;
  source_amounts:
    | {
        currency: string;
        amount_cents: number;
        rate: string;
        rate_source: "owner" | "provider_a" | null;
        rate_at: string | null;
        converted_cents: number;
      }[]
    | null;
  recipient: string | null;
  period_start: string | null;
  period_end: string;
  due_at: string;
  commission_count: number;
  reference: string | null;
  failure_code: string | null;
  failure_message: string | null;
  created_at: string;
  paid_at: string | null;
  updated_at: string;
  held_until: string | null;
  commissions: Commission[];
};

export type PayoutGeneration = {
  dry_run: boolean;
  payout_currency: string | null;
  period_start: string | null;
  period_end: string;
  due_at: string;
  payouts: (
    | Payout
    | {
        partner_id: string;
        currency: string;
        amount_cents: number;
        commission_count: number;
        method: "wallet" | "provider_a" | "bank_transfer" | "crypto" | null;
        held_until: string | null;
        source_amounts:
          | {
              currency: string;
              amount_cents: number;
              rate: string;
              rate_source: "owner" | "provider_a" | null;
              rate_at: string | null;
              converted_cents: number;
            }[]
          | null;
      }
  )[];
  skipped: {
    partner_id: string;
    currency: string;
    amount_cents: number;
    commission_count: number;
    reason:
      | "disputed"
      | "rate_missing"
      | "partner_invited"
      | "not_positive"
      | "too_large"
      | "below_minimum"
      | "tax_data_missing"
      | "details_missing";
  }[];
  totals: {
    currency: string;
    payouts: number;
    amount_cents: number;
    skipped: number;
    skipped_cents: number;
  }[];
  without_details: {
    partners: number;
    payouts: number;
    partner_ids: string[];
  };
};

export type PayoutDetailsAsked = {
  asked: number;
  asked_recently: number;
  not_active: number;
  has_details: number;
  remaining: number;
};

export type PayoutExport = {
  id: string;
  program_id: string;
  format: "wallet" | "bank" | "wise" | "sepa";
  currency: string;
  count: number;
  amount_cents: number;
  status: "open" | "paid" | "canceled";
  reference: string | null;
  created_at: string;
  updated_at: string;
};

export type PayoutExportList = {
  data: PayoutExport[];
  total: number;
  page: number;
  per_page: number;
  next_cursor: string | null;
};

export type PayoutExportMade = {
  id: string;
  program_id: string;
  format: "wallet" | "bank" | "wise" | "sepa";
  currency: string;
  count: number;
  amount_cents: number;
  status: "open" | "paid" | "canceled";
  reference: string | null;
  created_at: string;
  updated_at: string;
  left_out: {
    payout_id: string;
    reason: "details_missing" | "details_unreadable" | "not_in_format" | "held";
  }[];
};

export type PayoutResults = {
  dry_run: boolean;
  counts: {
    [name: string]: number;
  };
  lines: {
    line: number;
    payout_id: string | null;
    said: string;
    outcome: "paid" | "failed" | "returned" | "unchanged" | "problem";
    message: string | null;
  }[];
  remaining: number;
};

export type ExchangeRates = {
  base: string | null;
  rates: {
    [name: string]: string;
  };
  rated_at: string | null;
  payout_currency: string | null;
  in_force: {
    currency: string;
    rate: string;
    rate_source: "owner" | "provider_a";
    rate_at: string;
  }[];
};

export type Simulation = {
  payments: {
    payment_id: string;
    outcome:
      | "commission"
      | "no_ref"
      | "unknown_ref"
      | "unknown_code"
      | "partner_not_active"
      | "partner_deactivated"
      | "zero_amount"
      | "unpaid"
      | "merged"
      | "test_mode"
      | "no_flow"
      | "too_large"
      | "claimed_elsewhere"
      | null;
    partner_id: string | null;
    currency: string;
    txn_amount_cents: number;
    adjusted_cents: number;
    old_amount_cents: number;
    new_amount_cents: number;
    old_flow_id: string | null;
    new_flow_id: string | null;
    old_rate: {
      source: "flow" | "partner" | "group" | "program" | "manual";
      action_type: "percentage" | "flat";
      action_value: number;
    } | null;
    new_rate: {
      source: "flow" | "partner" | "group" | "program" | "manual";
      action_type: "percentage" | "flat";
      action_value: number;
    } | null;
    new_currency: string;
    rule_changed: boolean;
    created_at: string;
  }[];
  sums: {
    currency: string;
    payments: number;
    old_amount_cents: number;
    new_amount_cents: number;
  }[];
  partners: {
    partner_id: string;
    slug: string;
    first_name: string | null;
    last_name: string | null;
    currency: string;
    payments: number;
    old_amount_cents: number;
    new_amount_cents: number;
  }[];
  partner_count: number;
  changed_count: number;
  from: string | null;
  to: string | null;
  more: boolean;
};

export type TaxData = {
  partner_id: string;
  legal_name: string | null;
  address: string | null;
  country: string | null;
  kind: "business" | "private" | null;
  tax_id: string | null;
  vat_rate: number | null;
};

export type Statement = {
  payout_id: string;
  program_id: string;
  partner_id: string;
  status: "pending" | "processing" | "paid" | "failed" | "canceled" | "returned";
  amount_cents: number;
  currency: string;
  commission_count: number;
  method: "wallet" | "provider_a" | "bank_transfer" | "crypto" | null;
  source_amounts:
    | {
        currency: string;
        amount_cents: number;
        rate: string;
        rate_source: "owner" | "provider_a" | null;
        rate_at: string | null;
        converted_cents: number;
      }[]
    | null;
  reference: string | null;
  period_start: string | null;
  period_end: string;
  created_at: string;
  paid_at: string | null;
  payer: {
    name: string;
    address: string | null;
    country: string | null;
    tax_id: string | null;
  };
  payee: {
    name: string | null;
    address: string | null;
    country: string | null;
    kind: "business" | "private" | null;
    tax_id: string | null;
  };
  invoice_number: string | null;
  credit_note_number: string | null;
  credited_at: string | null;
  vat: {
    treatment: "reverse_charge" | "included";
    rate: number;
    net_cents: number;
    vat_cents: number;
    note: string;
  } | null;
  lines: {
    commission_id: string;
    kind: "sale" | "clawback" | "manual" | "lead";
    amount_cents: number;
    currency: string;
    created_at: string;
  }[];
  next_cursor: string | null;
};
