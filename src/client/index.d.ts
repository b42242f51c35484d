// Made by npm run build:client from the routes of src/http/routes.ts.
import type { Hono } from "hono";
import type { ApplyGlobalResponse } from "hono/client";
import type { BlankEnv } from "hono/types";
import type { JSONValue } from "hono/utils/types";

/** The body of every refusal. */
export type ApiError = {
  error: {
    code:
      | "already_exists"
      | "forbidden"
      | "idempotency_conflict"
      | "internal_error"
      | "invalid_json"
      | "invalid_signature"
      | "invalid_transition"
      | "method_not_allowed"
      | "not_configured"
      | "not_found"
      | "payload_too_large"
      | "provider_not_configured"
      | "provider_unavailable"
      | "rate_limited"
      | "storage_unavailable"
      | "unauthorized"
      | "unsupported_media_type"
      | "validation_failed";
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

/** Any route may refuse; `reply.ok` distinguishes the two. */
type Refusals = {
  [Status in 400 | 401 | 403 | 404 | 405 | 409 | 413 | 415 | 422 | 429 | 500 | 503]: { json: ApiError };
};

/** The API as `hc<AffiliateApi>(url)` of `hono/client` calls it: each route with what it takes and answers. */
export type AffiliateApi = ApplyGlobalResponse<Hono<BlankEnv, Routes, "/">, Refusals>;

type Routes = {
  "/api/v1/api-keys": {
    $get: {
      input: {};
      output: {
        data: {
          created_at: string;
          expires_at: string | null;
          id: string;
          last4: string;
          last_used_at: string | null;
          name: string;
          program_id: string;
          scopes: ("keys" | "payouts" | "read" | "write")[];
        }[];
      };
      outputFormat: "json";
      status: 200;
    };
    $post: {
      input: {
        json: {
          name: string;
          scopes: ("keys" | "payouts" | "read" | "write")[];
          expires_at?: string | null | undefined;
        };
      };
      output: {
        api_key: string;
        created_at: string;
        expires_at: string | null;
        id: string;
        last4: string;
        last_used_at: string | null;
        name: string;
        program_id: string;
        scopes: ("keys" | "payouts" | "read" | "write")[];
      };
      outputFormat: "json";
      status: 201;
    };
  };
  "/api/v1/api-keys/:id": {
    $delete: {
      input: {
        param: {
          id: string;
        };
      };
      output: {
        id: string;
        deleted: true;
      };
      outputFormat: "json";
      status: 200;
    };
  };
  "/api/v1/applications": {
    $get: {
      input: {
        query: {
          page?: string | undefined;
          per_page?: string | undefined;
          cursor?: string | undefined;
          from?: string | undefined;
          to?: string | undefined;
          status?: "approved" | "declined" | "pending" | undefined;
        };
      };
      output: {
        data: {
          answers:
            | {
                question: string;
                answer: string;
              }[]
            | null;
          consented_at: string | null;
          created_at: string;
          decided_at: string | null;
          email: string | null;
          id: string;
          name: string | null;
          note: string | null;
          partner_id: string | null;
          program_id: string;
          status: "approved" | "declined" | "pending";
          terms_version: number | null;
          updated_at: string;
          website: string | null;
        }[];
        total: number;
        page: number;
        per_page: number;
        next_cursor: string | null;
      };
      outputFormat: "json";
      status: 200;
    };
  };
  "/api/v1/applications/:id": {
    $get: {
      input: {
        param: {
          id: string;
        };
      };
      output: {
        answers:
          | {
              question: string;
              answer: string;
            }[]
          | null;
        consented_at: string | null;
        created_at: string;
        decided_at: string | null;
        email: string | null;
        id: string;
        name: string | null;
        note: string | null;
        partner_id: string | null;
        program_id: string;
        status: "approved" | "declined" | "pending";
        terms_version: number | null;
        updated_at: string;
        website: string | null;
      };
      outputFormat: "json";
      status: 200;
    };
  };
  "/api/v1/applications/:id/approve": {
    $post: {
      input: {
        param: {
          id: string;
        };
        json?: {
          [x: string]: never;
        };
      };
      output: {
        id: string;
        program_id: string;
        status: "approved" | "declined" | "pending";
        partner_id: string | null;
        created_at: string;
        decided_at: string | null;
      };
      outputFormat: "json";
      status: 200;
    };
  };
  "/api/v1/applications/:id/decline": {
    $post: {
      input: {
        param: {
          id: string;
        };
        json?: {
          note?: string | undefined;
        };
      };
      output: {
        id: string;
        program_id: string;
        status: "approved" | "declined" | "pending";
        partner_id: string | null;
        created_at: string;
        decided_at: string | null;
      };
      outputFormat: "json";
      status: 200;
    };
  };
  "/api/v1/applications/bulk": {
    $post: {
      input: {
        json: {
          ids: string[];
          status: "approved" | "declined";
          note?: string | undefined;
        };
      };
      output: {
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
                code: "already_exists" | "invalid_transition" | "not_found";
                message: string;
              };
            }
        )[];
      };
      outputFormat: "json";
      status: 200;
    };
  };
  "/api/v1/claims": {
    $get: {
      input: {
        query: {
          page?: string | undefined;
          per_page?: string | undefined;
          cursor?: string | undefined;
          status?: "declined" | "granted" | "open" | undefined;
          partner_id?: string | undefined;
        };
      };
      output: {
        data: {
          created_at: string;
          day: string | null;
          decided_at: string | null;
          email_domain: string | null;
          id: string;
          note: string | null;
          order_id: string | null;
          partner_id: string;
          payment_id: string | null;
          program_id: string;
          status: "declined" | "granted" | "open";
        }[];
        total: number;
        page: number;
        per_page: number;
        next_cursor: string | null;
      };
      outputFormat: "json";
      status: 200;
    };
  };
  "/api/v1/claims/:id": {
    $get: {
      input: {
        param: {
          id: string;
        };
      };
      output: {
        payments: {
          trace: {
            outcome:
              | "claimed_elsewhere"
              | "commission"
              | "merged"
              | "no_flow"
              | "no_ref"
              | "partner_deactivated"
              | "partner_not_active"
              | "test_mode"
              | "too_large"
              | "unknown_code"
              | "unknown_ref"
              | "unpaid"
              | "zero_amount"
              | null;
            ref: string | null;
            ref_source: "code" | "customer" | "email" | "payment" | "subscription" | null;
            candidates: {
              ref: string;
              source:
                | "client_reference_id"
                | "code_given_later"
                | "customer_metadata"
                | "invoice_metadata"
                | "line_metadata"
                | "metadata"
                | "payment"
                | "promotion_code"
                | "remembered_customer"
                | "remembered_email"
                | "remembered_subscription"
                | "subscription_metadata";
              partner_id: string | null;
            }[];
            partner_id: string | null;
            partner_slug: string | null;
            flows: {
              flow_id: string;
              name: string;
              priority: number;
              matched: boolean;
              conditions: {
                field: "customer_email" | "partner_slug" | "provider" | "txn_amount_cents";
                op: "contains" | "eq" | "gt" | "lt" | "neq";
                value: number | string;
                saw: number | string | null;
                held: boolean;
              }[];
            }[];
            flow_id: string | null;
            rate:
              | {
                  action_type: "percentage";
                  action_value: number;
                  source: "flow" | "manual" | "partner" | "program";
                }
              | {
                  action_type: "flat";
                  action_value: number;
                  source: "flow" | "manual" | "partner" | "program";
                }
              | null;
            txn_amount_cents: number;
            adjusted_cents: number;
            amount_cents: number | null;
            arithmetic: string | null;
          };
          commissions: {
            hold_until: string | null;
            amount_cents: number;
            approved_at: string | null;
            created_at: string;
            currency: string;
            customer_email: string | null;
            flagged: boolean;
            flow_id: string | null;
            id: string;
            kind: "clawback" | "lead" | "manual" | "sale";
            note: string | null;
            paid_at: string | null;
            partner_id: string;
            payment_id: string | null;
            payout_id: string | null;
            program_id: string;
            provider: "api" | "provider_a" | "provider_b" | null;
            provider_transaction_id: string | null;
            rate:
              | {
                  action_type: "percentage";
                  action_value: number;
                  source: "flow" | "manual" | "partner" | "program";
                }
              | {
                  action_type: "flat";
                  action_value: number;
                  source: "flow" | "manual" | "partner" | "program";
                };
            rejected_reason: string | null;
            review_reason: string | null;
            source_commission_id: string | null;
            status: "approved" | "paid" | "pending" | "rejected";
            subscription_id: string | null;
            txn_amount_cents: number;
            updated_at: string;
          }[];
          adjusted_cents: number;
          code_id: string | null;
          created_at: string;
          currency: string;
          customer_email: string | null;
          customer_id: string | null;
          event: "lead_created" | "transaction_completed";
          id: string;
          outcome:
            | "claimed_elsewhere"
            | "commission"
            | "merged"
            | "no_flow"
            | "no_ref"
            | "partner_deactivated"
            | "partner_not_active"
            | "test_mode"
            | "too_large"
            | "unknown_code"
            | "unknown_ref"
            | "unpaid"
            | "zero_amount"
            | null;
          partner_id: string | null;
          program_id: string;
          provider: "api" | "provider_a" | "provider_b";
          provider_transaction_id: string;
          ref: string | null;
          subscription_id: string | null;
          txn_amount_cents: number;
          updated_at: string;
        }[];
        created_at: string;
        day: string | null;
        decided_at: string | null;
        email_domain: string | null;
        id: string;
        note: string | null;
        order_id: string | null;
        partner_id: string;
        payment_id: string | null;
        program_id: string;
        status: "declined" | "granted" | "open";
      };
      outputFormat: "json";
      status: 200;
    };
  };
  "/api/v1/claims/:id/decline": {
    $post: {
      input: {
        param: {
          id: string;
        };
        json?: {
          note?: string | null | undefined;
        };
      };
      output: {
        created_at: string;
        day: string | null;
        decided_at: string | null;
        email_domain: string | null;
        id: string;
        note: string | null;
        order_id: string | null;
        partner_id: string;
        payment_id: string | null;
        program_id: string;
        status: "declined" | "granted" | "open";
      };
      outputFormat: "json";
      status: 200;
    };
  };
  "/api/v1/claims/:id/grant": {
    $post: {
      input: {
        param: {
          id: string;
        };
        json?: {
          payment_id?: string | undefined;
        };
      };
      output: {
        created_at: string;
        day: string | null;
        decided_at: string | null;
        email_domain: string | null;
        id: string;
        note: string | null;
        order_id: string | null;
        partner_id: string;
        payment_id: string | null;
        program_id: string;
        status: "declined" | "granted" | "open";
      };
      outputFormat: "json";
      status: 200;
    };
  };
  "/api/v1/clicks/summary": {
    $get: {
      input: {
        query: {
          from?: string | undefined;
          to?: string | undefined;
          partner_id?: string | undefined;
        };
      };
      output: {
        data: {
          day: string;
          recorded: number;
          dropped?:
            | {
                bot: number;
                database_full: number;
                duplicate: number;
                flood: number;
                over_budget: number;
                partner_deactivated: number;
                unknown_ref: number;
              }
            | undefined;
        }[];
        recorded: number;
        dropped?:
          | {
              bot: number;
              database_full: number;
              duplicate: number;
              flood: number;
              over_budget: number;
              partner_deactivated: number;
              unknown_ref: number;
            }
          | undefined;
      };
      outputFormat: "json";
      status: 200;
    };
  };
  "/api/v1/codes/:id": {
    $delete: {
      input: {
        param: {
          id: string;
        };
      };
      output: {
        id: string;
        deleted: true;
      };
      outputFormat: "json";
      status: 200;
    };
    $get: {
      input: {
        param: {
          id: string;
        };
      };
      output: {
        code: string;
        created_at: string;
        id: string;
        partner_id: string;
        program_id: string;
        provider: "api" | "provider_a" | "provider_b";
        provider_code_id: string | null;
      };
      outputFormat: "json";
      status: 200;
    };
  };
  "/api/v1/codes/export.csv": {
    $get: {
      input: {};
      output: string;
      outputFormat: "body";
      status: 200;
    };
  };
  "/api/v1/codes/summary": {
    $get: {
      input: {
        query: {
          from?: string | undefined;
          to?: string | undefined;
          partner_id?: string | undefined;
        };
      };
      output: {
        data: {
          code_id: string;
          partner_id: string;
          provider: "api" | "provider_a" | "provider_b";
          code: string;
          ended_at: string | null;
          currency: string;
          sales: number;
          revenue_cents: number;
          earned_cents: number;
        }[];
      };
      outputFormat: "json";
      status: 200;
    };
  };
  "/api/v1/commissions": {
    $get: {
      input: {
        query: {
          page?: string | undefined;
          per_page?: string | undefined;
          cursor?: string | undefined;
          from?: string | undefined;
          to?: string | undefined;
          status?: "approved" | "paid" | "pending" | "rejected" | undefined;
          partner_id?: string | undefined;
          payout_id?: string | undefined;
          provider?: "api" | "provider_a" | "provider_b" | undefined;
          flagged?: "false" | "true" | undefined;
        };
      };
      output: {
        data: {
          hold_until: string | null;
          amount_cents: number;
          approved_at: string | null;
          created_at: string;
          currency: string;
          customer_email: string | null;
          flagged: boolean;
          flow_id: string | null;
          id: string;
          kind: "clawback" | "lead" | "manual" | "sale";
          note: string | null;
          paid_at: string | null;
          partner_id: string;
          payment_id: string | null;
          payout_id: string | null;
          program_id: string;
          provider: "api" | "provider_a" | "provider_b" | null;
          provider_transaction_id: string | null;
          rate:
            | {
                action_type: "percentage";
                action_value: number;
                source: "flow" | "manual" | "partner" | "program";
              }
            | {
                action_type: "flat";
                action_value: number;
                source: "flow" | "manual" | "partner" | "program";
              };
          rejected_reason: string | null;
          review_reason: string | null;
          source_commission_id: string | null;
          status: "approved" | "paid" | "pending" | "rejected";
          subscription_id: string | null;
          txn_amount_cents: number;
          updated_at: string;
        }[];
        total: number;
        page: number;
        per_page: number;
        next_cursor: string | null;
      };
      outputFormat: "json";
      status: 200;
    };
    $post: {
      input: {
        json: {
          partner_id: string;
          amount_cents: number;
          currency?: string | undefined;
          note: string;
        };
      };
      output: {
        hold_until: string | null;
        amount_cents: number;
        approved_at: string | null;
        created_at: string;
        currency: string;
        customer_email: string | null;
        flagged: boolean;
        flow_id: string | null;
        id: string;
        kind: "clawback" | "lead" | "manual" | "sale";
        note: string | null;
        paid_at: string | null;
        partner_id: string;
        payment_id: string | null;
        payout_id: string | null;
        program_id: string;
        provider: "api" | "provider_a" | "provider_b" | null;
        provider_transaction_id: string | null;
        rate:
          | {
              action_type: "percentage";
              action_value: number;
              source: "flow" | "manual" | "partner" | "program";
            }
          | {
              action_type: "flat";
              action_value: number;
              source: "flow" | "manual" | "partner" | "program";
            };
        rejected_reason: string | null;
        review_reason: string | null;
        source_commission_id: string | null;
        status: "approved" | "paid" | "pending" | "rejected";
        subscription_id: string | null;
        txn_amount_cents: number;
        updated_at: string;
      };
      outputFormat: "json";
      status: 201;
    };
  };
  "/api/v1/commissions/:id": {
    $get: {
      input: {
        param: {
          id: string;
        };
      };
      output: {
        hold_until: string | null;
        amount_cents: number;
        approved_at: string | null;
        created_at: string;
        currency: string;
        customer_email: string | null;
        flagged: boolean;
        flow_id: string | null;
        id: string;
        kind: "clawback" | "lead" | "manual" | "sale";
        note: string | null;
        paid_at: string | null;
        partner_id: string;
        payment_id: string | null;
        payout_id: string | null;
        program_id: string;
        provider: "api" | "provider_a" | "provider_b" | null;
        provider_transaction_id: string | null;
        rate:
          | {
              action_type: "percentage";
              action_value: number;
              source: "flow" | "manual" | "partner" | "program";
            }
          | {
              action_type: "flat";
              action_value: number;
              source: "flow" | "manual" | "partner" | "program";
            };
        rejected_reason: string | null;
        review_reason: string | null;
        source_commission_id: string | null;
        status: "approved" | "paid" | "pending" | "rejected";
        subscription_id: string | null;
        txn_amount_cents: number;
        updated_at: string;
      };
      outputFormat: "json";
      status: 200;
    };
    $patch: {
      input: {
        param: {
          id: string;
        };
        json: {
          status?: "approved" | "paid" | "pending" | "rejected" | undefined;
          reason?: string | undefined;
          flagged?: boolean | undefined;
        };
      };
      output: {
        hold_until: string | null;
        amount_cents: number;
        approved_at: string | null;
        created_at: string;
        currency: string;
        customer_email: string | null;
        flagged: boolean;
        flow_id: string | null;
        id: string;
        kind: "clawback" | "lead" | "manual" | "sale";
        note: string | null;
        paid_at: string | null;
        partner_id: string;
        payment_id: string | null;
        payout_id: string | null;
        program_id: string;
        provider: "api" | "provider_a" | "provider_b" | null;
        provider_transaction_id: string | null;
        rate:
          | {
              action_type: "percentage";
              action_value: number;
              source: "flow" | "manual" | "partner" | "program";
            }
          | {
              action_type: "flat";
              action_value: number;
              source: "flow" | "manual" | "partner" | "program";
            };
        rejected_reason: string | null;
        review_reason: string | null;
        source_commission_id: string | null;
        status: "approved" | "paid" | "pending" | "rejected";
        subscription_id: string | null;
        txn_amount_cents: number;
        updated_at: string;
      };
      outputFormat: "json";
      status: 200;
    };
  };
  "/api/v1/commissions/bulk": {
    $post: {
      input: {
        json: {
          ids?: string[] | undefined;
          filter?:
            | {
                from?: string | undefined;
                to?: string | undefined;
                status?: "approved" | "paid" | "pending" | "rejected" | undefined;
                partner_id?: string | undefined;
                payout_id?: string | undefined;
                provider?: "api" | "provider_a" | "provider_b" | undefined;
                flagged?: boolean | undefined;
              }
            | undefined;
          status: "approved" | "paid" | "pending" | "rejected";
          reason?: string | undefined;
          include_flagged?: boolean | undefined;
        };
      };
      output: {
        matched: number;
        changed: number;
        skipped: number;
        remaining: number;
        data: (
          | {
              id: string;
              ok: true;
              status: "approved" | "paid" | "pending" | "rejected";
            }
          | {
              id: string;
              ok: false;
              error: {
                code: "flagged" | "invalid_transition" | "not_found";
                message: string;
              };
            }
        )[];
      };
      outputFormat: "json";
      status: 200;
    };
  };
  "/api/v1/customers/erase": {
    $post: {
      input: {
        json: {
          email: string;
        };
      };
      output: {
        erased: {
          payments: number;
          commissions: number;
          provider_events: number;
        };
      };
      outputFormat: "json";
      status: 200;
    };
  };
  "/api/v1/events": {
    $get: {
      input: {
        query: {
          page?: string | undefined;
          per_page?: string | undefined;
          cursor?: string | undefined;
          from?: string | undefined;
          to?: string | undefined;
          type?:
            | "account_link.created"
            | "api_key.created"
            | "api_key.deleted"
            | "api_key.regenerated"
            | "applications.approved"
            | "applications.declined"
            | "applications.received"
            | "claim.created"
            | "claim.declined"
            | "claim.granted"
            | "click"
            | "code.created"
            | "code.deleted"
            | "code.moved"
            | "commission.created"
            | "commission.updated"
            | "customers.imported"
            | "destination.created"
            | "destination.updated"
            | "flow.created"
            | "flow.deleted"
            | "flow.updated"
            | "list.exported"
            | "member.added"
            | "member.changed"
            | "member.removed"
            | "member.signed_in"
            | "partner.created"
            | "partner.deleted"
            | "partner.invited"
            | "partner.signed_in"
            | "partner.updated"
            | "passkey.added"
            | "passkey.removed"
            | "payout.exported"
            | "payout.generated"
            | "payout.paid"
            | "payout.updated"
            | "portal_link.created"
            | "program.updated"
            | "reconciliation.failed"
            | "reconciliation.repaired"
            | "session.all_ended"
            | "session.ended"
            | "sign_in.failed"
            | "webhook.api"
            | "webhook.provider_a"
            | "webhook.provider_b"
            | "webhook.refused"
            | "webhook_endpoint.created"
            | "webhook_endpoint.deleted"
            | "webhook_endpoint.updated"
            | undefined;
        };
      };
      output: {
        total: number;
        page: number;
        per_page: number;
        next_cursor: string | null;
        data: {
          actor: {
            type: "api_key" | "cron" | "member" | "operator" | "partner" | "provider" | "visitor";
            id: string | null;
            name: string | null;
          } | null;
          changes: {
            [x: string]: JSONValue[];
          } | null;
          created_at: string;
          id: string;
          payload: {
            [x: string]: JSONValue;
          };
          program_id: string;
          type:
            | "account_link.created"
            | "api_key.created"
            | "api_key.deleted"
            | "api_key.regenerated"
            | "applications.approved"
            | "applications.declined"
            | "applications.received"
            | "claim.created"
            | "claim.declined"
            | "claim.granted"
            | "click"
            | "code.created"
            | "code.deleted"
            | "code.moved"
            | "commission.created"
            | "commission.updated"
            | "customers.imported"
            | "destination.created"
            | "destination.updated"
            | "flow.created"
            | "flow.deleted"
            | "flow.updated"
            | "list.exported"
            | "member.added"
            | "member.changed"
            | "member.removed"
            | "member.signed_in"
            | "partner.created"
            | "partner.deleted"
            | "partner.invited"
            | "partner.signed_in"
            | "partner.updated"
            | "passkey.added"
            | "passkey.removed"
            | "payout.exported"
            | "payout.generated"
            | "payout.paid"
            | "payout.updated"
            | "portal_link.created"
            | "program.updated"
            | "reconciliation.failed"
            | "reconciliation.repaired"
            | "session.all_ended"
            | "session.ended"
            | "sign_in.failed"
            | "webhook.api"
            | "webhook.provider_a"
            | "webhook.provider_b"
            | "webhook.refused"
            | "webhook_endpoint.created"
            | "webhook_endpoint.deleted"
            | "webhook_endpoint.updated";
        }[];
      };
      outputFormat: "json";
      status: 200;
    };
  };
  "/api/v1/events/:id": {
    $get: {
      input: {
        param: {
          id: string;
        };
      };
      output: {
        actor: {
          type: "api_key" | "cron" | "member" | "operator" | "partner" | "provider" | "visitor";
          id: string | null;
          name: string | null;
        } | null;
        changes: {
          [x: string]: JSONValue[];
        } | null;
        created_at: string;
        id: string;
        payload: {
          [x: string]: JSONValue;
        };
        program_id: string;
        type:
          | "account_link.created"
          | "api_key.created"
          | "api_key.deleted"
          | "api_key.regenerated"
          | "applications.approved"
          | "applications.declined"
          | "applications.received"
          | "claim.created"
          | "claim.declined"
          | "claim.granted"
          | "click"
          | "code.created"
          | "code.deleted"
          | "code.moved"
          | "commission.created"
          | "commission.updated"
          | "customers.imported"
          | "destination.created"
          | "destination.updated"
          | "flow.created"
          | "flow.deleted"
          | "flow.updated"
          | "list.exported"
          | "member.added"
          | "member.changed"
          | "member.removed"
          | "member.signed_in"
          | "partner.created"
          | "partner.deleted"
          | "partner.invited"
          | "partner.signed_in"
          | "partner.updated"
          | "passkey.added"
          | "passkey.removed"
          | "payout.exported"
          | "payout.generated"
          | "payout.paid"
          | "payout.updated"
          | "portal_link.created"
          | "program.updated"
          | "reconciliation.failed"
          | "reconciliation.repaired"
          | "session.all_ended"
          | "session.ended"
          | "sign_in.failed"
          | "webhook.api"
          | "webhook.provider_a"
          | "webhook.provider_b"
          | "webhook.refused"
          | "webhook_endpoint.created"
          | "webhook_endpoint.deleted"
          | "webhook_endpoint.updated";
      };
      outputFormat: "json";
      status: 200;
    };
  };
  "/api/v1/flows": {
    $get: {
      input: {};
      output: {
        data: {
          conditions: {
            field: "customer_email" | "partner_slug" | "provider" | "txn_amount_cents";
            op: "contains" | "eq" | "gt" | "lt" | "neq";
            value: number | string;
          }[];
          action_type: "flat" | "percentage";
          action_value: number;
          active: boolean;
          created_at: string;
          event: "lead_created" | "transaction_completed";
          id: string;
          name: string;
          priority: number;
          program_id: string;
          updated_at: string;
        }[];
      };
      outputFormat: "json";
      status: 200;
    };
    $post: {
      input: {
        json: {
          name: string;
          event?: "lead_created" | "transaction_completed" | undefined;
          action_type: "flat" | "percentage";
          action_value: number;
          conditions?:
            | {
                field: "customer_email" | "partner_slug" | "provider" | "txn_amount_cents";
                op: "contains" | "eq" | "gt" | "lt" | "neq";
                value: string | number;
              }[]
            | undefined;
          priority?: number | undefined;
          active?: boolean | undefined;
          apply_from?: string | undefined;
        };
      };
      output: {
        conditions: {
          field: "customer_email" | "partner_slug" | "provider" | "txn_amount_cents";
          op: "contains" | "eq" | "gt" | "lt" | "neq";
          value: number | string;
        }[];
        action_type: "flat" | "percentage";
        action_value: number;
        active: boolean;
        created_at: string;
        event: "lead_created" | "transaction_completed";
        id: string;
        name: string;
        priority: number;
        program_id: string;
        updated_at: string;
      };
      outputFormat: "json";
      status: 201;
    };
  };
  "/api/v1/flows/:id": {
    $delete: {
      input: {
        param: {
          id: string;
        };
      };
      output: {
        id: string;
        deleted: true;
      };
      outputFormat: "json";
      status: 200;
    };
    $get: {
      input: {
        param: {
          id: string;
        };
      };
      output: {
        conditions: {
          field: "customer_email" | "partner_slug" | "provider" | "txn_amount_cents";
          op: "contains" | "eq" | "gt" | "lt" | "neq";
          value: number | string;
        }[];
        action_type: "flat" | "percentage";
        action_value: number;
        active: boolean;
        created_at: string;
        event: "lead_created" | "transaction_completed";
        id: string;
        name: string;
        priority: number;
        program_id: string;
        updated_at: string;
      };
      outputFormat: "json";
      status: 200;
    };
    $patch: {
      input: {
        param: {
          id: string;
        };
        json: {
          name?: string | undefined;
          event?: "lead_created" | "transaction_completed" | undefined;
          action_type?: "flat" | "percentage" | undefined;
          action_value?: number | undefined;
          conditions?:
            | {
                field: "customer_email" | "partner_slug" | "provider" | "txn_amount_cents";
                op: "contains" | "eq" | "gt" | "lt" | "neq";
                value: string | number;
              }[]
            | undefined;
          priority?: number | undefined;
          active?: boolean | undefined;
          apply_from?: string | undefined;
        };
      };
      output: {
        conditions: {
          field: "customer_email" | "partner_slug" | "provider" | "txn_amount_cents";
          op: "contains" | "eq" | "gt" | "lt" | "neq";
          value: number | string;
        }[];
        action_type: "flat" | "percentage";
        action_value: number;
        active: boolean;
        created_at: string;
        event: "lead_created" | "transaction_completed";
        id: string;
        name: string;
        priority: number;
        program_id: string;
        updated_at: string;
      };
      outputFormat: "json";
      status: 200;
    };
  };
  "/api/v1/flows/simulate": {
    $post: {
      input: {
        json: {
          flow?:
            | {
                name?: string | undefined;
                event?: "lead_created" | "transaction_completed" | undefined;
                action_type: "flat" | "percentage";
                action_value: number;
                conditions?:
                  | {
                      field: "customer_email" | "partner_slug" | "provider" | "txn_amount_cents";
                      op: "contains" | "eq" | "gt" | "lt" | "neq";
                      value: string | number;
                    }[]
                  | undefined;
                priority?: number | undefined;
                active?: boolean | undefined;
              }
            | undefined;
          flow_id?: string | undefined;
          partner_id?: string | undefined;
          commission_pct?: number | null | undefined;
          default_commission_pct?: number | undefined;
          apply_from?: string | undefined;
          last: number;
        };
      };
      output: {
        payments: {
          payment_id: string;
          old_amount_cents: number;
          old_flow_id: string | null;
          new_amount_cents: number;
          new_flow_id: string | null;
          adjusted_cents: number;
          currency: string;
          outcome:
            | "claimed_elsewhere"
            | "commission"
            | "merged"
            | "no_flow"
            | "no_ref"
            | "partner_deactivated"
            | "partner_not_active"
            | "test_mode"
            | "too_large"
            | "unknown_code"
            | "unknown_ref"
            | "unpaid"
            | "zero_amount"
            | null;
          partner_id: string | null;
          txn_amount_cents: number;
        }[];
        sums: {
          currency: string;
          payments: number;
          old_amount_cents: number;
          new_amount_cents: number;
        }[];
        more: boolean;
      };
      outputFormat: "json";
      status: 200;
    };
  };
  "/api/v1/imports": {
    $post: {
      input: {
        query: {
          kind: "customers" | "partners";
          product?:
            | "affonso"
            | "dub"
            | "firstpromoter"
            | "leaddyno"
            | "other"
            | "partnerstack"
            | "post_affiliate_pro"
            | "refersion"
            | "rewardful"
            | "tapfiliate"
            | "tolt"
            | undefined;
          dry_run?: "false" | "true" | undefined;
          param?: string | undefined;
          status?: "active" | "invited" | undefined;
          provider?: "api" | "provider_a" | "provider_b" | undefined;
          columns?: string | undefined;
        };
      };
      output: {
        kind: "customers" | "partners";
        product:
          | "affonso"
          | "dub"
          | "firstpromoter"
          | "leaddyno"
          | "other"
          | "partnerstack"
          | "post_affiliate_pro"
          | "refersion"
          | "rewardful"
          | "tapfiliate"
          | "tolt";
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
            | "code"
            | "commission_pct"
            | "customer_email"
            | "customer_id"
            | "email"
            | "first_name"
            | "last_name"
            | "name"
            | "partner_email"
            | "payout_email"
            | "payout_method"
            | "promotion_codes"
            | "status"
            | null;
          unread: number;
        }[];
        problems: {
          line: number;
          column: string | null;
          outcome: "added" | "completed" | "left_out" | "refused" | "unchanged";
          message: string;
        }[];
        notes: {
          line: number;
          column: string;
          message: string;
        }[];
      };
      outputFormat: "json";
      status: 200;
    };
  };
  "/api/v1/integrations/:provider/destination": {
    $post: {
      input: {
        param: {
          provider: string;
        };
        json?: {
          replace?: boolean | undefined;
        };
      };
      output: {
        provider: "provider_a" | "provider_b";
        destination_id: string;
        url: string;
        outcome: "created" | "unchanged" | "updated";
        event_types_added: string[];
        test: boolean;
        secret: "kept" | "stored" | "unverified";
        not_removed: number;
        other_programs: number;
      };
      outputFormat: "json";
      status: 200 | 201;
    };
  };
  "/api/v1/integrations/:provider/reconcile": {
    $post: {
      input: {
        param: {
          provider: string;
        };
        json?: {
          since?: string | undefined;
        };
      };
      output: {
        api_key_set: boolean;
        complete_from: string | null;
        complete_until: string | null;
        recovered: number;
        is_reading: boolean;
        read_failure: {
          reason:
            | "api_key_refused"
            | "not_stored"
            | "permission_missing"
            | "rate_limited"
            | "refused"
            | "test_key"
            | "unavailable"
            | "unreadable";
          at: string;
          since: string;
        } | null;
        unanswered: {
          reason: "api_key_refused" | "permission_missing" | "rate_limited" | "refused" | "unavailable" | "unreadable";
          at: string;
          since: string;
        } | null;
        unparsable: readonly {
          event_id: string;
          event_type: string | null;
          occurred_at: string;
          problem: string;
          at: string;
          since: string;
        }[];
      };
      outputFormat: "json";
      status: 200;
    };
  };
  "/api/v1/integrations/script": {
    $get: {
      input: {
        query: {
          url?: string | undefined;
        };
      };
      output: {
        url: string;
        installed: boolean;
        checks: {
          check: "click" | "click_address" | "click_policy" | "page" | "program" | "script" | "script_policy";
          result: "failed" | "ok" | "unknown";
          reason:
            | "absent"
            | "dns"
            | "elsewhere"
            | "held_back"
            | "no_click"
            | "no_program"
            | "not_html"
            | "other_program"
            | "policy"
            | "refused"
            | "status"
            | "timed_out"
            | "too_large"
            | "too_many_redirects"
            | "unreachable"
            | null;
          text: string;
        }[];
      };
      outputFormat: "json";
      status: 200;
    };
  };
  "/api/v1/integrations/status": {
    $get: {
      input: {};
      output: {
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
        provider_a: {
          refused: number;
          last_refusal: {
            at: string;
            reason:
              | "api_key_refused"
              | "no_api_key"
              | "no_signature"
              | "not_configured"
              | "permission_missing"
              | "rate_limited"
              | "refused"
              | "test_key"
              | "time"
              | "unavailable"
              | "unparsable"
              | "unreadable"
              | "wrong_signature";
          } | null;
          api_key_set: boolean;
          complete_from: string | null;
          complete_until: string | null;
          recovered: number;
          is_reading: boolean;
          read_failure: {
            reason:
              | "api_key_refused"
              | "not_stored"
              | "permission_missing"
              | "rate_limited"
              | "refused"
              | "test_key"
              | "unavailable"
              | "unreadable";
            at: string;
            since: string;
          } | null;
          unanswered: {
            reason:
              | "api_key_refused"
              | "permission_missing"
              | "rate_limited"
              | "refused"
              | "unavailable"
              | "unreadable";
            at: string;
            since: string;
          } | null;
          unparsable: readonly {
            event_id: string;
            event_type: string | null;
            occurred_at: string;
            problem: string;
            at: string;
            since: string;
          }[];
          configured: boolean;
          webhook_secret_set: boolean;
          last_event_at: string | null;
          is_last_event_test: boolean;
          last_connected_event_at?: string;
          event_types: {
            type: string;
            need: "none" | "recommended" | "required";
            last_seen_at: string | null;
          }[];
        };
        provider_b: {
          refused: number;
          last_refusal: {
            at: string;
            reason:
              | "api_key_refused"
              | "no_api_key"
              | "no_signature"
              | "not_configured"
              | "permission_missing"
              | "rate_limited"
              | "refused"
              | "test_key"
              | "time"
              | "unavailable"
              | "unparsable"
              | "unreadable"
              | "wrong_signature";
          } | null;
          api_key_set: boolean;
          complete_from: string | null;
          complete_until: string | null;
          recovered: number;
          is_reading: boolean;
          read_failure: {
            reason:
              | "api_key_refused"
              | "not_stored"
              | "permission_missing"
              | "rate_limited"
              | "refused"
              | "test_key"
              | "unavailable"
              | "unreadable";
            at: string;
            since: string;
          } | null;
          unanswered: {
            reason:
              | "api_key_refused"
              | "permission_missing"
              | "rate_limited"
              | "refused"
              | "unavailable"
              | "unreadable";
            at: string;
            since: string;
          } | null;
          unparsable: readonly {
            event_id: string;
            event_type: string | null;
            occurred_at: string;
            problem: string;
            at: string;
            since: string;
          }[];
          configured: boolean;
          webhook_secret_set: boolean;
          last_event_at: string | null;
          is_last_event_test: boolean;
          last_connected_event_at?: string;
          event_types: {
            type: string;
            need: "none" | "recommended" | "required";
            last_seen_at: string | null;
          }[];
        };
      };
      outputFormat: "json";
      status: 200;
    };
  };
  "/api/v1/members": {
    $get: {
      input: {};
      output: {
        data: {
          created_at: string;
          email: string;
          id: string;
          program_id: string;
          role: "finance" | "owner" | "viewer";
          updated_at: string;
        }[];
      };
      outputFormat: "json";
      status: 200;
    };
    $post: {
      input: {
        json: {
          email: string;
          role: "finance" | "owner" | "viewer";
        };
      };
      output: {
        created_at: string;
        email: string;
        id: string;
        program_id: string;
        role: "finance" | "owner" | "viewer";
        updated_at: string;
      };
      outputFormat: "json";
      status: 201;
    };
  };
  "/api/v1/members/:id": {
    $delete: {
      input: {
        param: {
          id: string;
        };
      };
      output: {
        id: string;
        deleted: true;
      };
      outputFormat: "json";
      status: 200;
    };
    $patch: {
      input: {
        param: {
          id: string;
        };
        json: {
          role?: "finance" | "owner" | "viewer" | undefined;
        };
      };
      output: {
        created_at: string;
        email: string;
        id: string;
        program_id: string;
        role: "finance" | "owner" | "viewer";
        updated_at: string;
      };
      outputFormat: "json";
      status: 200;
    };
  };
  "/api/v1/partners": {
    $get: {
      input: {
        query: {
          page?: string | undefined;
          per_page?: string | undefined;
          cursor?: string | undefined;
          status?: "active" | "deactivated" | "invited" | undefined;
          search?: string | undefined;
        };
      };
      output: {
        data: {
          commission_pct: number | null;
          created_at: string;
          email: string;
          first_name: string | null;
          id: string;
          last_name: string | null;
          metadata: {
            [x: string]: JSONValue;
          } | null;
          payout_email: string | null;
          payout_method: "bank_transfer" | "crypto" | "provider_a" | "wallet" | null;
          program_id: string;
          provider_a_account_id: string | null;
          slug: string;
          status: "active" | "deactivated" | "invited";
          updated_at: string;
        }[];
        total: number;
        page: number;
        per_page: number;
        next_cursor: string | null;
      };
      outputFormat: "json";
      status: 200;
    };
    $post: {
      input: {
        json: {
          first_name?: string | null | undefined;
          last_name?: string | null | undefined;
          commission_pct?: number | null | undefined;
          payout_method?: "bank_transfer" | "crypto" | "provider_a" | "wallet" | null | undefined;
          payout_email?: string | null | undefined;
          metadata?:
            | {
                [x: string]: unknown;
              }
            | null
            | undefined;
          email: string;
          slug: string;
        };
      };
      output: {
        commission_pct: number | null;
        created_at: string;
        email: string;
        first_name: string | null;
        id: string;
        last_name: string | null;
        metadata: {
          [x: string]: JSONValue;
        } | null;
        payout_email: string | null;
        payout_method: "bank_transfer" | "crypto" | "provider_a" | "wallet" | null;
        program_id: string;
        provider_a_account_id: string | null;
        slug: string;
        status: "active" | "deactivated" | "invited";
        updated_at: string;
      };
      outputFormat: "json";
      status: 201;
    };
  };
  "/api/v1/partners/:id": {
    $delete: {
      input: {
        param: {
          id: string;
        };
      };
      output: {
        commission_pct: number | null;
        created_at: string;
        email: string;
        first_name: string | null;
        id: string;
        last_name: string | null;
        metadata: {
          [x: string]: JSONValue;
        } | null;
        payout_email: string | null;
        payout_method: "bank_transfer" | "crypto" | "provider_a" | "wallet" | null;
        program_id: string;
        provider_a_account_id: string | null;
        slug: string;
        status: "active" | "deactivated" | "invited";
        updated_at: string;
      };
      outputFormat: "json";
      status: 200;
    };
    $get: {
      input: {
        param: {
          id: string;
        };
      };
      output: {
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
        commission_pct: number | null;
        created_at: string;
        email: string;
        first_name: string | null;
        id: string;
        last_name: string | null;
        metadata: {
          [x: string]: JSONValue;
        } | null;
        payout_email: string | null;
        payout_method: "bank_transfer" | "crypto" | "provider_a" | "wallet" | null;
        program_id: string;
        provider_a_account_id: string | null;
        slug: string;
        status: "active" | "deactivated" | "invited";
        updated_at: string;
      };
      outputFormat: "json";
      status: 200;
    };
    $patch: {
      input: {
        param: {
          id: string;
        };
        json: {
          first_name?: string | null | undefined;
          last_name?: string | null | undefined;
          commission_pct?: number | null | undefined;
          payout_method?: "bank_transfer" | "crypto" | "provider_a" | "wallet" | null | undefined;
          payout_email?: string | null | undefined;
          metadata?:
            | {
                [x: string]: unknown;
              }
            | null
            | undefined;
          email?: string | undefined;
          slug?: string | undefined;
          status?: "active" | "deactivated" | "invited" | undefined;
          apply_from?: string | undefined;
        };
      };
      output: {
        commission_pct: number | null;
        created_at: string;
        email: string;
        first_name: string | null;
        id: string;
        last_name: string | null;
        metadata: {
          [x: string]: JSONValue;
        } | null;
        payout_email: string | null;
        payout_method: "bank_transfer" | "crypto" | "provider_a" | "wallet" | null;
        program_id: string;
        provider_a_account_id: string | null;
        slug: string;
        status: "active" | "deactivated" | "invited";
        updated_at: string;
      };
      outputFormat: "json";
      status: 200;
    };
  };
  "/api/v1/partners/:id/balance": {
    $get: {
      input: {
        param: {
          id: string;
        };
      };
      output: {
        data: {
          currency: string;
          pending_cents: number;
          payable_cents: number;
          in_payout_cents: number;
          paid_cents: number;
          forgiven_cents: number;
        }[];
      };
      outputFormat: "json";
      status: 200;
    };
  };
  "/api/v1/partners/:id/codes": {
    $get: {
      input: {
        param: {
          id: string;
        };
      };
      output: {
        data: {
          code: string;
          created_at: string;
          id: string;
          partner_id: string;
          program_id: string;
          provider: "api" | "provider_a" | "provider_b";
          provider_code_id: string | null;
        }[];
      };
      outputFormat: "json";
      status: 200;
    };
    $post: {
      input: {
        param: {
          id: string;
        };
        json: {
          code: string;
          provider: "provider_a" | "provider_b";
          provider_code_id?: string | null | undefined;
          move?: boolean | undefined;
        };
      };
      output: {
        code: string;
        created_at: string;
        id: string;
        partner_id: string;
        program_id: string;
        provider: "api" | "provider_a" | "provider_b";
        provider_code_id: string | null;
      };
      outputFormat: "json";
      status: 201;
    };
  };
  "/api/v1/partners/:id/entries": {
    $get: {
      input: {
        param: {
          id: string;
        };
        query: {
          page?: string | undefined;
          per_page?: string | undefined;
          cursor?: string | undefined;
        };
      };
      output: {
        data: {
          id: string;
          partner_id: string;
          commission_id: string;
          payout_id: string | null;
          currency: string;
          from_account: "expense" | "forgiven" | "in_payout" | "paid" | "payable" | "pending";
          to_account: "expense" | "forgiven" | "in_payout" | "paid" | "payable" | "pending";
          amount_cents: number;
          posted_at: string;
          event_id: string | null;
        }[];
        total: number;
        page: number;
        per_page: number;
        next_cursor: string | null;
      };
      outputFormat: "json";
      status: 200;
    };
  };
  "/api/v1/partners/:id/invite": {
    $post: {
      input: {
        param: {
          id: string;
        };
        json?: {
          [x: string]: never;
        };
      };
      output: {
        commission_pct: number | null;
        created_at: string;
        email: string;
        first_name: string | null;
        id: string;
        last_name: string | null;
        metadata: {
          [x: string]: JSONValue;
        } | null;
        payout_email: string | null;
        payout_method: "bank_transfer" | "crypto" | "provider_a" | "wallet" | null;
        program_id: string;
        provider_a_account_id: string | null;
        slug: string;
        status: "active" | "deactivated" | "invited";
        updated_at: string;
      };
      outputFormat: "json";
      status: 200;
    };
  };
  "/api/v1/partners/:id/portal-links": {
    $post: {
      input: {
        param: {
          id: string;
        };
        json?: {
          [x: string]: never;
        };
      };
      output: {
        url: string;
        expires_at: string;
      };
      outputFormat: "json";
      status: 201;
    };
  };
  "/api/v1/partners/:id/provider-a-account": {
    $post: {
      input: {
        param: {
          id: string;
        };
        json?: {
          return_url?: string | undefined;
          refresh_url?: string | undefined;
          country?: string | undefined;
        };
      };
      output: {
        partner_id: string;
        provider_a_account_id: string | null;
        url: string;
        expires_at: string;
      };
      outputFormat: "json";
      status: 200 | 201;
    };
  };
  "/api/v1/partners/:id/provider-a-account/forget": {
    $post: {
      input: {
        param: {
          id: string;
        };
        json: {
          account_id: string;
        };
      };
      output: {
        commission_pct: number | null;
        created_at: string;
        email: string;
        first_name: string | null;
        id: string;
        last_name: string | null;
        metadata: {
          [x: string]: JSONValue;
        } | null;
        payout_email: string | null;
        payout_method: "bank_transfer" | "crypto" | "provider_a" | "wallet" | null;
        program_id: string;
        provider_a_account_id: string | null;
        slug: string;
        status: "active" | "deactivated" | "invited";
        updated_at: string;
      };
      outputFormat: "json";
      status: 200;
    };
  };
  "/api/v1/payments": {
    $get: {
      input: {
        query: {
          page?: string | undefined;
          per_page?: string | undefined;
          cursor?: string | undefined;
          from?: string | undefined;
          to?: string | undefined;
          search?: string | undefined;
          outcome?:
            | "claimed_elsewhere"
            | "commission"
            | "merged"
            | "no_flow"
            | "no_ref"
            | "partner_deactivated"
            | "partner_not_active"
            | "test_mode"
            | "too_large"
            | "unknown_code"
            | "unknown_ref"
            | "unpaid"
            | "zero_amount"
            | undefined;
          provider?: "api" | "provider_a" | "provider_b" | undefined;
          partner_id?: string | undefined;
        };
      };
      output: {
        data: {
          adjusted_cents: number;
          code_id: string | null;
          created_at: string;
          currency: string;
          customer_email: string | null;
          customer_id: string | null;
          event: "lead_created" | "transaction_completed";
          id: string;
          outcome:
            | "claimed_elsewhere"
            | "commission"
            | "merged"
            | "no_flow"
            | "no_ref"
            | "partner_deactivated"
            | "partner_not_active"
            | "test_mode"
            | "too_large"
            | "unknown_code"
            | "unknown_ref"
            | "unpaid"
            | "zero_amount"
            | null;
          partner_id: string | null;
          program_id: string;
          provider: "api" | "provider_a" | "provider_b";
          provider_transaction_id: string;
          ref: string | null;
          subscription_id: string | null;
          txn_amount_cents: number;
          updated_at: string;
        }[];
        total: number;
        page: number;
        per_page: number;
        next_cursor: string | null;
      };
      outputFormat: "json";
      status: 200;
    };
  };
  "/api/v1/payments/:id": {
    $get: {
      input: {
        param: {
          id: string;
        };
      };
      output: {
        trace: {
          outcome:
            | "claimed_elsewhere"
            | "commission"
            | "merged"
            | "no_flow"
            | "no_ref"
            | "partner_deactivated"
            | "partner_not_active"
            | "test_mode"
            | "too_large"
            | "unknown_code"
            | "unknown_ref"
            | "unpaid"
            | "zero_amount"
            | null;
          ref: string | null;
          ref_source: "code" | "customer" | "email" | "payment" | "subscription" | null;
          candidates: {
            ref: string;
            source:
              | "client_reference_id"
              | "code_given_later"
              | "customer_metadata"
              | "invoice_metadata"
              | "line_metadata"
              | "metadata"
              | "payment"
              | "promotion_code"
              | "remembered_customer"
              | "remembered_email"
              | "remembered_subscription"
              | "subscription_metadata";
            partner_id: string | null;
          }[];
          partner_id: string | null;
          partner_slug: string | null;
          flows: {
            flow_id: string;
            name: string;
            priority: number;
            matched: boolean;
            conditions: {
              field: "customer_email" | "partner_slug" | "provider" | "txn_amount_cents";
              op: "contains" | "eq" | "gt" | "lt" | "neq";
              value: number | string;
              saw: number | string | null;
              held: boolean;
            }[];
          }[];
          flow_id: string | null;
          rate:
            | {
                action_type: "percentage";
                action_value: number;
                source: "flow" | "manual" | "partner" | "program";
              }
            | {
                action_type: "flat";
                action_value: number;
                source: "flow" | "manual" | "partner" | "program";
              }
            | null;
          txn_amount_cents: number;
          adjusted_cents: number;
          amount_cents: number | null;
          arithmetic: string | null;
        };
        commissions: {
          hold_until: string | null;
          amount_cents: number;
          approved_at: string | null;
          created_at: string;
          currency: string;
          customer_email: string | null;
          flagged: boolean;
          flow_id: string | null;
          id: string;
          kind: "clawback" | "lead" | "manual" | "sale";
          note: string | null;
          paid_at: string | null;
          partner_id: string;
          payment_id: string | null;
          payout_id: string | null;
          program_id: string;
          provider: "api" | "provider_a" | "provider_b" | null;
          provider_transaction_id: string | null;
          rate:
            | {
                action_type: "percentage";
                action_value: number;
                source: "flow" | "manual" | "partner" | "program";
              }
            | {
                action_type: "flat";
                action_value: number;
                source: "flow" | "manual" | "partner" | "program";
              };
          rejected_reason: string | null;
          review_reason: string | null;
          source_commission_id: string | null;
          status: "approved" | "paid" | "pending" | "rejected";
          subscription_id: string | null;
          txn_amount_cents: number;
          updated_at: string;
        }[];
        adjusted_cents: number;
        code_id: string | null;
        created_at: string;
        currency: string;
        customer_email: string | null;
        customer_id: string | null;
        event: "lead_created" | "transaction_completed";
        id: string;
        outcome:
          | "claimed_elsewhere"
          | "commission"
          | "merged"
          | "no_flow"
          | "no_ref"
          | "partner_deactivated"
          | "partner_not_active"
          | "test_mode"
          | "too_large"
          | "unknown_code"
          | "unknown_ref"
          | "unpaid"
          | "zero_amount"
          | null;
        partner_id: string | null;
        program_id: string;
        provider: "api" | "provider_a" | "provider_b";
        provider_transaction_id: string;
        ref: string | null;
        subscription_id: string | null;
        txn_amount_cents: number;
        updated_at: string;
      };
      outputFormat: "json";
      status: 200;
    };
  };
  "/api/v1/payments/:id/reprocess": {
    $post: {
      input: {
        param: {
          id: string;
        };
        json?: {
          [x: string]: never;
        };
      };
      output: {
        trace: {
          outcome:
            | "claimed_elsewhere"
            | "commission"
            | "merged"
            | "no_flow"
            | "no_ref"
            | "partner_deactivated"
            | "partner_not_active"
            | "test_mode"
            | "too_large"
            | "unknown_code"
            | "unknown_ref"
            | "unpaid"
            | "zero_amount"
            | null;
          ref: string | null;
          ref_source: "code" | "customer" | "email" | "payment" | "subscription" | null;
          candidates: {
            ref: string;
            source:
              | "client_reference_id"
              | "code_given_later"
              | "customer_metadata"
              | "invoice_metadata"
              | "line_metadata"
              | "metadata"
              | "payment"
              | "promotion_code"
              | "remembered_customer"
              | "remembered_email"
              | "remembered_subscription"
              | "subscription_metadata";
            partner_id: string | null;
          }[];
          partner_id: string | null;
          partner_slug: string | null;
          flows: {
            flow_id: string;
            name: string;
            priority: number;
            matched: boolean;
            conditions: {
              field: "customer_email" | "partner_slug" | "provider" | "txn_amount_cents";
              op: "contains" | "eq" | "gt" | "lt" | "neq";
              value: number | string;
              saw: number | string | null;
              held: boolean;
            }[];
          }[];
          flow_id: string | null;
          rate:
            | {
                action_type: "percentage";
                action_value: number;
                source: "flow" | "manual" | "partner" | "program";
              }
            | {
                action_type: "flat";
                action_value: number;
                source: "flow" | "manual" | "partner" | "program";
              }
            | null;
          txn_amount_cents: number;
          adjusted_cents: number;
          amount_cents: number | null;
          arithmetic: string | null;
        };
        commissions: {
          hold_until: string | null;
          amount_cents: number;
          approved_at: string | null;
          created_at: string;
          currency: string;
          customer_email: string | null;
          flagged: boolean;
          flow_id: string | null;
          id: string;
          kind: "clawback" | "lead" | "manual" | "sale";
          note: string | null;
          paid_at: string | null;
          partner_id: string;
          payment_id: string | null;
          payout_id: string | null;
          program_id: string;
          provider: "api" | "provider_a" | "provider_b" | null;
          provider_transaction_id: string | null;
          rate:
            | {
                action_type: "percentage";
                action_value: number;
                source: "flow" | "manual" | "partner" | "program";
              }
            | {
                action_type: "flat";
                action_value: number;
                source: "flow" | "manual" | "partner" | "program";
              };
          rejected_reason: string | null;
          review_reason: string | null;
          source_commission_id: string | null;
          status: "approved" | "paid" | "pending" | "rejected";
          subscription_id: string | null;
          txn_amount_cents: number;
          updated_at: string;
        }[];
        adjusted_cents: number;
        code_id: string | null;
        created_at: string;
        currency: string;
        customer_email: string | null;
        customer_id: string | null;
        event: "lead_created" | "transaction_completed";
        id: string;
        outcome:
          | "claimed_elsewhere"
          | "commission"
          | "merged"
          | "no_flow"
          | "no_ref"
          | "partner_deactivated"
          | "partner_not_active"
          | "test_mode"
          | "too_large"
          | "unknown_code"
          | "unknown_ref"
          | "unpaid"
          | "zero_amount"
          | null;
        partner_id: string | null;
        program_id: string;
        provider: "api" | "provider_a" | "provider_b";
        provider_transaction_id: string;
        ref: string | null;
        subscription_id: string | null;
        txn_amount_cents: number;
        updated_at: string;
      };
      outputFormat: "json";
      status: 200;
    };
  };
  "/api/v1/payouts": {
    $get: {
      input: {
        query: {
          page?: string | undefined;
          per_page?: string | undefined;
          cursor?: string | undefined;
          from?: string | undefined;
          to?: string | undefined;
          status?: "canceled" | "failed" | "paid" | "pending" | "processing" | undefined;
          partner_id?: string | undefined;
        };
      };
      output: {
        data: {
          amount_cents: number;
          commission_count: number;
          created_at: string;
          currency: string;
          due_at: string;
          failure_code: string | null;
          failure_message: string | null;
          id: string;
          method: "bank_transfer" | "crypto" | "provider_a" | "wallet" | null;
          paid_at: string | null;
          partner_id: string;
          period_end: string;
          period_start: string | null;
          program_id: string;
          recipient: string | null;
          reference: string | null;
          status: "canceled" | "failed" | "paid" | "pending" | "processing";
          updated_at: string;
        }[];
        total: number;
        page: number;
        per_page: number;
        next_cursor: string | null;
      };
      outputFormat: "json";
      status: 200;
    };
  };
  "/api/v1/payouts/:id": {
    $get: {
      input: {
        param: {
          id: string;
        };
      };
      output: {
        commissions: {
          hold_until: string | null;
          amount_cents: number;
          approved_at: string | null;
          created_at: string;
          currency: string;
          customer_email: string | null;
          flagged: boolean;
          flow_id: string | null;
          id: string;
          kind: "clawback" | "lead" | "manual" | "sale";
          note: string | null;
          paid_at: string | null;
          partner_id: string;
          payment_id: string | null;
          payout_id: string | null;
          program_id: string;
          provider: "api" | "provider_a" | "provider_b" | null;
          provider_transaction_id: string | null;
          rate:
            | {
                action_type: "percentage";
                action_value: number;
                source: "flow" | "manual" | "partner" | "program";
              }
            | {
                action_type: "flat";
                action_value: number;
                source: "flow" | "manual" | "partner" | "program";
              };
          rejected_reason: string | null;
          review_reason: string | null;
          source_commission_id: string | null;
          status: "approved" | "paid" | "pending" | "rejected";
          subscription_id: string | null;
          txn_amount_cents: number;
          updated_at: string;
        }[];
        amount_cents: number;
        commission_count: number;
        created_at: string;
        currency: string;
        due_at: string;
        failure_code: string | null;
        failure_message: string | null;
        id: string;
        method: "bank_transfer" | "crypto" | "provider_a" | "wallet" | null;
        paid_at: string | null;
        partner_id: string;
        period_end: string;
        period_start: string | null;
        program_id: string;
        recipient: string | null;
        reference: string | null;
        status: "canceled" | "failed" | "paid" | "pending" | "processing";
        updated_at: string;
      };
      outputFormat: "json";
      status: 200;
    };
  };
  "/api/v1/payouts/:id/cancel": {
    $post: {
      input: {
        param: {
          id: string;
        };
        json?: {
          [x: string]: never;
        };
      };
      output: {
        amount_cents: number;
        commission_count: number;
        created_at: string;
        currency: string;
        due_at: string;
        failure_code: string | null;
        failure_message: string | null;
        id: string;
        method: "bank_transfer" | "crypto" | "provider_a" | "wallet" | null;
        paid_at: string | null;
        partner_id: string;
        period_end: string;
        period_start: string | null;
        program_id: string;
        recipient: string | null;
        reference: string | null;
        status: "canceled" | "failed" | "paid" | "pending" | "processing";
        updated_at: string;
      };
      outputFormat: "json";
      status: 200;
    };
  };
  "/api/v1/payouts/:id/conclude": {
    $post: {
      input: {
        param: {
          id: string;
        };
        json: {
          made: boolean;
          reference?: string | null | undefined;
        };
      };
      output: {
        amount_cents: number;
        commission_count: number;
        created_at: string;
        currency: string;
        due_at: string;
        failure_code: string | null;
        failure_message: string | null;
        id: string;
        method: "bank_transfer" | "crypto" | "provider_a" | "wallet" | null;
        paid_at: string | null;
        partner_id: string;
        period_end: string;
        period_start: string | null;
        program_id: string;
        recipient: string | null;
        reference: string | null;
        status: "canceled" | "failed" | "paid" | "pending" | "processing";
        updated_at: string;
      };
      outputFormat: "json";
      status: 200;
    };
  };
  "/api/v1/payouts/:id/mark-paid": {
    $post: {
      input: {
        param: {
          id: string;
        };
        json?: {
          reference?: string | null | undefined;
        };
      };
      output: {
        amount_cents: number;
        commission_count: number;
        created_at: string;
        currency: string;
        due_at: string;
        failure_code: string | null;
        failure_message: string | null;
        id: string;
        method: "bank_transfer" | "crypto" | "provider_a" | "wallet" | null;
        paid_at: string | null;
        partner_id: string;
        period_end: string;
        period_start: string | null;
        program_id: string;
        recipient: string | null;
        reference: string | null;
        status: "canceled" | "failed" | "paid" | "pending" | "processing";
        updated_at: string;
      };
      outputFormat: "json";
      status: 200;
    };
  };
  "/api/v1/payouts/:id/pay": {
    $post: {
      input: {
        param: {
          id: string;
        };
        json?: {
          [x: string]: never;
        };
      };
      output: {
        amount_cents: number;
        commission_count: number;
        created_at: string;
        currency: string;
        due_at: string;
        failure_code: string | null;
        failure_message: string | null;
        id: string;
        method: "bank_transfer" | "crypto" | "provider_a" | "wallet" | null;
        paid_at: string | null;
        partner_id: string;
        period_end: string;
        period_start: string | null;
        program_id: string;
        recipient: string | null;
        reference: string | null;
        status: "canceled" | "failed" | "paid" | "pending" | "processing";
        updated_at: string;
      };
      outputFormat: "json";
      status: 200;
    };
  };
  "/api/v1/payouts/export.csv": {
    $get: {
      input: {
        query: {
          status?: "canceled" | "failed" | "paid" | "pending" | "processing" | undefined;
          format?: "generic" | "wallet" | undefined;
          currency?: string | undefined;
        };
      };
      output: string;
      outputFormat: "body";
      status: 200;
    };
  };
  "/api/v1/payouts/generate": {
    $post: {
      input: {
        json?: {
          period_start?: string | undefined;
          period_end?: string | undefined;
          dry_run?: boolean | undefined;
        };
      };
      output: {
        dry_run: boolean;
        period_start: string | null;
        period_end: string;
        due_at: string;
        skipped: {
          partner_id: string;
          currency: string;
          amount_cents: number;
          commission_count: number;
          reason: "below_minimum" | "disputed" | "not_positive" | "partner_invited" | "too_large";
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
        payouts: (
          | {
              amount_cents: number;
              commission_count: number;
              created_at: string;
              currency: string;
              due_at: string;
              failure_code: string | null;
              failure_message: string | null;
              id: string;
              method: "bank_transfer" | "crypto" | "provider_a" | "wallet" | null;
              paid_at: string | null;
              partner_id: string;
              period_end: string;
              period_start: string | null;
              program_id: string;
              recipient: string | null;
              reference: string | null;
              status: "canceled" | "failed" | "paid" | "pending" | "processing";
              updated_at: string;
            }
          | {
              partner_id: string;
              currency: string;
              amount_cents: number;
              commission_count: number;
              method: "bank_transfer" | "crypto" | "provider_a" | "wallet" | null;
            }
        )[];
      };
      outputFormat: "json";
      status: 200;
    };
  };
  "/api/v1/programs/me": {
    $get: {
      input: {};
      output: {
        questions: string[];
        assets: {
          name: string;
          kind: "banner" | "link" | "text";
          content: string;
        }[];
        api_key_last4: string;
        api_key_last_used_at: string | null;
        applications: "auto" | "off" | "review";
        attribution: "first" | "last";
        auto_approve_days: number | null;
        brand_color: string | null;
        code_precedence: "code" | "link";
        cookie_days: number;
        created_at: string;
        currency: string;
        default_commission_pct: number;
        domain: string | null;
        id: string;
        live_only: boolean;
        min_payout_cents: number;
        name: string;
        owner_email: string;
        payout_term: string;
        provider_a_api_key_set: boolean;
        provider_a_webhook_secret_set: boolean;
        provider_b_api_key_set: boolean;
        provider_b_webhook_secret_set: boolean;
        sale_amounts: "hidden" | "shown";
        slug: string | null;
        terms: string | null;
        terms_version: number;
        time_zone: string;
        updated_at: string;
      };
      outputFormat: "json";
      status: 200;
    };
    $patch: {
      input: {
        json: {
          name?: string | undefined;
          domain?: string | null | undefined;
          currency?: string | undefined;
          default_commission_pct?: number | undefined;
          payout_term?: string | undefined;
          min_payout_cents?: number | undefined;
          cookie_days?: number | undefined;
          attribution?: "first" | "last" | undefined;
          code_precedence?: "code" | "link" | undefined;
          auto_approve_days?: number | null | undefined;
          live_only?: boolean | undefined;
          brand_color?: string | null | undefined;
          time_zone?: string | undefined;
          applications?: "auto" | "off" | "review" | undefined;
          slug?: string | null | undefined;
          questions?: string[] | null | undefined;
          terms?: string | null | undefined;
          sale_amounts?: "hidden" | "shown" | undefined;
          assets?:
            | {
                name: string;
                kind: "banner" | "link" | "text";
                content: string;
              }[]
            | null
            | undefined;
          apply_from?: string | undefined;
          provider_a_api_key?: string | null | undefined;
          provider_a_webhook_secret?: string | null | undefined;
          provider_b_api_key?: string | null | undefined;
          provider_b_webhook_secret?: string | null | undefined;
        };
      };
      output: {
        questions: string[];
        assets: {
          name: string;
          kind: "banner" | "link" | "text";
          content: string;
        }[];
        api_key_last4: string;
        api_key_last_used_at: string | null;
        applications: "auto" | "off" | "review";
        attribution: "first" | "last";
        auto_approve_days: number | null;
        brand_color: string | null;
        code_precedence: "code" | "link";
        cookie_days: number;
        created_at: string;
        currency: string;
        default_commission_pct: number;
        domain: string | null;
        id: string;
        live_only: boolean;
        min_payout_cents: number;
        name: string;
        owner_email: string;
        payout_term: string;
        provider_a_api_key_set: boolean;
        provider_a_webhook_secret_set: boolean;
        provider_b_api_key_set: boolean;
        provider_b_webhook_secret_set: boolean;
        sale_amounts: "hidden" | "shown";
        slug: string | null;
        terms: string | null;
        terms_version: number;
        time_zone: string;
        updated_at: string;
      };
      outputFormat: "json";
      status: 200;
    };
  };
  "/api/v1/track/lead": {
    $post: {
      input: {
        json: {
          external_id: string;
          ref: string;
          click_id?: string | undefined;
          customer: {
            id?: string | undefined;
            email?: string | undefined;
          };
          occurred_at?: string | undefined;
        };
      };
      output: {
        received: true;
        outcome:
          | "adjusted"
          | "claimed_elsewhere"
          | "commission"
          | "flagged"
          | "ignored"
          | "linked"
          | "merged"
          | "no_flow"
          | "no_ref"
          | "partner_deactivated"
          | "partner_not_active"
          | "remembered"
          | "test_mode"
          | "too_large"
          | "unknown_code"
          | "unknown_ref"
          | "unpaid"
          | "waiting"
          | "zero_amount";
      };
      outputFormat: "json";
      status: 200;
    };
  };
  "/api/v1/track/refund": {
    $post: {
      input: {
        json: {
          external_id: string;
          sale_external_id: string;
          amount_cents: number;
          occurred_at?: string | undefined;
        };
      };
      output: {
        received: true;
        outcome:
          | "adjusted"
          | "claimed_elsewhere"
          | "commission"
          | "flagged"
          | "ignored"
          | "linked"
          | "merged"
          | "no_flow"
          | "no_ref"
          | "partner_deactivated"
          | "partner_not_active"
          | "remembered"
          | "test_mode"
          | "too_large"
          | "unknown_code"
          | "unknown_ref"
          | "unpaid"
          | "waiting"
          | "zero_amount";
      };
      outputFormat: "json";
      status: 200;
    };
  };
  "/api/v1/track/sale": {
    $post: {
      input: {
        json: {
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
      };
      output: {
        received: true;
        outcome:
          | "adjusted"
          | "claimed_elsewhere"
          | "commission"
          | "flagged"
          | "ignored"
          | "linked"
          | "merged"
          | "no_flow"
          | "no_ref"
          | "partner_deactivated"
          | "partner_not_active"
          | "remembered"
          | "test_mode"
          | "too_large"
          | "unknown_code"
          | "unknown_ref"
          | "unpaid"
          | "waiting"
          | "zero_amount";
      };
      outputFormat: "json";
      status: 200;
    };
  };
  "/api/v1/webhooks": {
    $get: {
      input: {};
      output: {
        data: {
          active: boolean;
          created_at: string;
          description: string | null;
          disabled_at: string | null;
          events: (
            | "*"
            | "applications.approved"
            | "applications.declined"
            | "applications.received"
            | "claim.created"
            | "claim.declined"
            | "claim.granted"
            | "commission.created"
            | "commission.updated"
            | "partner.created"
            | "partner.updated"
            | "payout.generated"
            | "payout.paid"
          )[];
          id: string;
          program_id: string;
          updated_at: string;
          url: string;
        }[];
      };
      outputFormat: "json";
      status: 200;
    };
    $post: {
      input: {
        json: {
          url: string;
          events: (
            | "*"
            | "applications.approved"
            | "applications.declined"
            | "applications.received"
            | "claim.created"
            | "claim.declined"
            | "claim.granted"
            | "commission.created"
            | "commission.updated"
            | "partner.created"
            | "partner.updated"
            | "payout.generated"
            | "payout.paid"
          )[];
          description?: string | null | undefined;
        };
      };
      output: {
        secret: string;
        active: boolean;
        created_at: string;
        description: string | null;
        disabled_at: string | null;
        events: (
          | "*"
          | "applications.approved"
          | "applications.declined"
          | "applications.received"
          | "claim.created"
          | "claim.declined"
          | "claim.granted"
          | "commission.created"
          | "commission.updated"
          | "partner.created"
          | "partner.updated"
          | "payout.generated"
          | "payout.paid"
        )[];
        id: string;
        program_id: string;
        updated_at: string;
        url: string;
      };
      outputFormat: "json";
      status: 201;
    };
  };
  "/api/v1/webhooks/:id": {
    $delete: {
      input: {
        param: {
          id: string;
        };
      };
      output: {
        id: string;
        deleted: true;
      };
      outputFormat: "json";
      status: 200;
    };
    $get: {
      input: {
        param: {
          id: string;
        };
      };
      output: {
        deliveries: {
          id: string;
          event_id: string;
          event:
            | "applications.approved"
            | "applications.declined"
            | "applications.received"
            | "claim.created"
            | "claim.declined"
            | "claim.granted"
            | "commission.created"
            | "commission.updated"
            | "partner.created"
            | "partner.updated"
            | "payout.generated"
            | "payout.paid"
            | "ping";
          status: "blocked" | "delivering" | "failed" | "pending" | "succeeded";
          attempt_count: number;
          next_attempt_at: string | null;
          created_at: string;
          completed_at: string | null;
          payload: {
            [x: string]: JSONValue;
          } | null;
          attempts: {
            number: number;
            started_at: string;
            duration_ms: number;
            status_code: number | null;
            error: "blocked" | "connection" | "dns" | "http" | "redirect" | "secret" | "timeout" | null;
            response_excerpt: string | null;
          }[];
        }[];
        active: boolean;
        created_at: string;
        description: string | null;
        disabled_at: string | null;
        events: (
          | "*"
          | "applications.approved"
          | "applications.declined"
          | "applications.received"
          | "claim.created"
          | "claim.declined"
          | "claim.granted"
          | "commission.created"
          | "commission.updated"
          | "partner.created"
          | "partner.updated"
          | "payout.generated"
          | "payout.paid"
        )[];
        id: string;
        program_id: string;
        updated_at: string;
        url: string;
      };
      outputFormat: "json";
      status: 200;
    };
    $patch: {
      input: {
        param: {
          id: string;
        };
        json: {
          url?: string | undefined;
          events?:
            | (
                | "*"
                | "applications.approved"
                | "applications.declined"
                | "applications.received"
                | "claim.created"
                | "claim.declined"
                | "claim.granted"
                | "commission.created"
                | "commission.updated"
                | "partner.created"
                | "partner.updated"
                | "payout.generated"
                | "payout.paid"
              )[]
            | undefined;
          description?: string | null | undefined;
          active?: boolean | undefined;
        };
      };
      output: {
        active: boolean;
        created_at: string;
        description: string | null;
        disabled_at: string | null;
        events: (
          | "*"
          | "applications.approved"
          | "applications.declined"
          | "applications.received"
          | "claim.created"
          | "claim.declined"
          | "claim.granted"
          | "commission.created"
          | "commission.updated"
          | "partner.created"
          | "partner.updated"
          | "payout.generated"
          | "payout.paid"
        )[];
        id: string;
        program_id: string;
        updated_at: string;
        url: string;
      };
      outputFormat: "json";
      status: 200;
    };
  };
  "/api/v1/webhooks/:id/deliveries": {
    $get: {
      input: {
        param: {
          id: string;
        };
        query: {
          page?: string | undefined;
          per_page?: string | undefined;
          cursor?: string | undefined;
          status?: "blocked" | "delivering" | "failed" | "pending" | "succeeded" | undefined;
        };
      };
      output: {
        total: number;
        page: number;
        per_page: number;
        next_cursor: string | null;
        data: {
          id: string;
          event_id: string;
          event:
            | "applications.approved"
            | "applications.declined"
            | "applications.received"
            | "claim.created"
            | "claim.declined"
            | "claim.granted"
            | "commission.created"
            | "commission.updated"
            | "partner.created"
            | "partner.updated"
            | "payout.generated"
            | "payout.paid"
            | "ping";
          status: "blocked" | "delivering" | "failed" | "pending" | "succeeded";
          attempt_count: number;
          next_attempt_at: string | null;
          created_at: string;
          completed_at: string | null;
          payload: {
            [x: string]: JSONValue;
          } | null;
          attempts: {
            number: number;
            started_at: string;
            duration_ms: number;
            status_code: number | null;
            error: "blocked" | "connection" | "dns" | "http" | "redirect" | "secret" | "timeout" | null;
            response_excerpt: string | null;
          }[];
        }[];
      };
      outputFormat: "json";
      status: 200;
    };
  };
  "/api/v1/webhooks/:id/deliveries/:delivery_id/redeliver": {
    $post: {
      input: {
        param: {
          delivery_id: string;
          id: string;
        };
        json?: {
          [x: string]: never;
        };
      };
      output: {
        id: string;
        event_id: string;
        event:
          | "applications.approved"
          | "applications.declined"
          | "applications.received"
          | "claim.created"
          | "claim.declined"
          | "claim.granted"
          | "commission.created"
          | "commission.updated"
          | "partner.created"
          | "partner.updated"
          | "payout.generated"
          | "payout.paid"
          | "ping";
        status: "blocked" | "delivering" | "failed" | "pending" | "succeeded";
        attempt_count: number;
        next_attempt_at: string | null;
        created_at: string;
        completed_at: string | null;
        payload: {
          [x: string]: JSONValue;
        } | null;
        attempts: {
          number: number;
          started_at: string;
          duration_ms: number;
          status_code: number | null;
          error: "blocked" | "connection" | "dns" | "http" | "redirect" | "secret" | "timeout" | null;
          response_excerpt: string | null;
        }[];
      };
      outputFormat: "json";
      status: 201;
    };
  };
  "/api/v1/webhooks/:id/recover": {
    $post: {
      input: {
        param: {
          id: string;
        };
        json: {
          since: string;
        };
      };
      output: {
        recovered: number;
        has_more: boolean;
      };
      outputFormat: "json";
      status: 200;
    };
  };
  "/api/v1/webhooks/:id/rotate-secret": {
    $post: {
      input: {
        param: {
          id: string;
        };
        json?: {
          [x: string]: never;
        };
      };
      output: {
        secret: string;
        previous_secret_valid_until: string | null;
        active: boolean;
        created_at: string;
        description: string | null;
        disabled_at: string | null;
        events: (
          | "*"
          | "applications.approved"
          | "applications.declined"
          | "applications.received"
          | "claim.created"
          | "claim.declined"
          | "claim.granted"
          | "commission.created"
          | "commission.updated"
          | "partner.created"
          | "partner.updated"
          | "payout.generated"
          | "payout.paid"
        )[];
        id: string;
        program_id: string;
        updated_at: string;
        url: string;
      };
      outputFormat: "json";
      status: 200;
    };
  };
  "/api/v1/webhooks/:id/test": {
    $post: {
      input: {
        param: {
          id: string;
        };
        json?: {
          [x: string]: never;
        };
      };
      output: {
        id: string;
        event_id: string;
        event:
          | "applications.approved"
          | "applications.declined"
          | "applications.received"
          | "claim.created"
          | "claim.declined"
          | "claim.granted"
          | "commission.created"
          | "commission.updated"
          | "partner.created"
          | "partner.updated"
          | "payout.generated"
          | "payout.paid"
          | "ping";
        status: "blocked" | "delivering" | "failed" | "pending" | "succeeded";
        attempt_count: number;
        next_attempt_at: string | null;
        created_at: string;
        completed_at: string | null;
        payload: {
          [x: string]: JSONValue;
        } | null;
        attempts: {
          number: number;
          started_at: string;
          duration_ms: number;
          status_code: number | null;
          error: "blocked" | "connection" | "dns" | "http" | "redirect" | "secret" | "timeout" | null;
          response_excerpt: string | null;
        }[];
      };
      outputFormat: "json";
      status: 201;
    };
  };
};
