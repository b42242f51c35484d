import { nulls } from "./vendor.ts";

/** The objects provider A sends, with every field it sends; `provider-a.ts` fills in the relevant ones. */

type Shape = Record<string, unknown>;

const ADDRESS = { city: null, country: "US", line1: null, line2: null, postal_code: null, state: null };
const OFF = { enabled: false, liability: null, provider: null, status: null };

export function sessionShape(): Shape {
  return {
    ...nulls("id"),
    object: "checkout.session",
    adaptive_pricing: { enabled: false },
    ...nulls("after_expiration allow_promotion_codes amount_subtotal amount_total"),
    automatic_tax: { ...OFF },
    billing_address_collection: null,
    cancel_url: "https://shop.example/cancel",
    ...nulls("client_reference_id client_secret"),
    collected_information: { shipping_details: null },
    ...nulls("consent consent_collection created currency currency_conversion"),
    custom_fields: [],
    custom_text: nulls("after_submit shipping_address submit terms_of_service_acceptance"),
    ...nulls("customer customer_creation"),
    customer_details: {
      address: { ...ADDRESS },
      email: null,
      name: "Example Buyer",
      phone: null,
      tax_exempt: "none",
      tax_ids: [],
    },
    customer_email: null,
    discounts: [],
    expires_at: null,
    invoice: null,
    invoice_creation: null,
    livemode: false,
    locale: null,
    metadata: {},
    mode: "payment",
    ...nulls("origin_context payment_intent payment_link"),
    payment_method_collection: "always",
    payment_method_configuration_details: null,
    payment_method_options: { card: { request_three_d_secure: "automatic" } },
    payment_method_types: ["card"],
    payment_status: "paid",
    permissions: null,
    phone_number_collection: { enabled: false },
    ...nulls("recovered_from saved_payment_method_options setup_intent shipping_address_collection shipping_cost"),
    shipping_options: [],
    status: "complete",
    ...nulls("submit_type subscription"),
    success_url: "https://shop.example/thanks",
    total_details: { amount_discount: 0, amount_shipping: 0, amount_tax: 0 },
    ui_mode: "hosted",
    ...nulls("url wallet_options"),
  };
}

/** The common fields of both invoice shapes. */
function commonInvoiceShape(): Shape {
  return {
    ...nulls("id"),
    object: "invoice",
    account_country: "HK",
    account_name: "Example Shop",
    ...nulls("account_tax_ids amount_due amount_paid"),
    amount_remaining: 0,
    amount_shipping: 0,
    application: null,
    attempt_count: 1,
    attempted: true,
    auto_advance: false,
    automatic_tax: { ...OFF, disabled_reason: null },
    automatically_finalizes_at: null,
    billing_reason: "manual",
    collection_method: "charge_automatically",
    ...nulls("created currency custom_fields customer customer_address customer_email"),
    customer_name: "Example Buyer",
    ...nulls("customer_phone customer_shipping"),
    customer_tax_exempt: "none",
    customer_tax_ids: [],
    ...nulls("default_payment_method default_source"),
    default_tax_rates: [],
    description: null,
    discounts: [],
    ...nulls("due_date effective_at"),
    ending_balance: 0,
    ...nulls("footer from_invoice"),
    hosted_invoice_url: "https://invoice.stripe.com/i/acct_1/test_1?s=ap",
    invoice_pdf: "https://pay.stripe.com/invoice/acct_1/test_1/pdf?s=ap",
    issuer: { type: "self" },
    ...nulls("last_finalization_error latest_revision"),
    lines: { object: "list", data: [], has_more: false, total_count: 1, url: "/v1/invoices/in_1/lines" },
    livemode: false,
    metadata: {},
    next_payment_attempt: null,
    number: "Q4L5NTYD-0003",
    on_behalf_of: null,
    payment_settings: {
      ...nulls("default_mandate payment_method_options"),
      payment_method_types: ["card"],
    },
    ...nulls("period_end period_start"),
    post_payment_credit_notes_amount: 0,
    pre_payment_credit_notes_amount: 0,
    ...nulls("receipt_number rendering shipping_cost shipping_details"),
    starting_balance: 0,
    statement_descriptor: null,
    status: "paid",
    status_transitions: nulls("finalized_at marked_uncollectible_at paid_at voided_at"),
    ...nulls("subtotal subtotal_excluding_tax test_clock total"),
    total_discount_amounts: [],
    total_excluding_tax: null,
    total_pretax_credit_amounts: [],
    webhooks_delivered_at: null,
  };
}

/** An invoice since API version 2025-03-31. */
export function invoiceShape(): Shape {
  return { ...commonInvoiceShape(), amount_overpaid: 0, parent: null, total_taxes: [] };
}

/** An invoice before API version 2025-03-31. */
export function oldInvoiceShape(): Shape {
  return {
    ...commonInvoiceShape(),
    ...nulls("application_fee_amount charge discount payment_intent quote"),
    paid: true,
    paid_out_of_band: false,
    ...nulls("subscription subscription_details tax transfer_data"),
    total_tax_amounts: [],
  };
}

function commonLineShape(): Shape {
  return {
    ...nulls("id"),
    object: "line_item",
    ...nulls("amount currency"),
    description: "1 × Plan (at $100.00 / month)",
    discount_amounts: [],
    discountable: true,
    discounts: [],
    livemode: false,
    metadata: {},
    period: { end: 1787016838, start: 1755480838 },
    pretax_credit_amounts: [],
    quantity: 1,
  };
}

/** An invoice line since API version 2025-03-31. */
export function lineShape(): Shape {
  return {
    ...commonLineShape(),
    ...nulls("invoice parent"),
    pricing: {
      price_details: { price: "price_1RwJxfGaouLfVOpU", product: "prod_Ss45LY8HsRvKY5" },
      type: "price_details",
      unit_amount_decimal: "10000",
    },
    taxes: [],
  };
}

/** An invoice line before API version 2025-03-31. */
export function oldLineShape(): Shape {
  return {
    ...commonLineShape(),
    ...nulls("amount_excluding_tax plan price subscription subscription_item"),
    proration: false,
    proration_details: { credited_items: null },
    tax_amounts: [],
    tax_rates: [],
    type: "subscription",
  };
}

export function chargeShape(): Shape {
  return {
    ...nulls("id"),
    object: "charge",
    ...nulls("amount amount_captured"),
    amount_refunded: 0,
    ...nulls("application application_fee application_fee_amount"),
    balance_transaction: "txn_1PgaxNB7WZ01zgkW",
    billing_details: { address: { ...ADDRESS }, email: null, name: "Example Buyer", phone: null, tax_id: null },
    calculated_statement_descriptor: null,
    captured: true,
    ...nulls("created currency customer description"),
    disputed: false,
    ...nulls("failure_balance_transaction failure_code failure_message"),
    fraud_details: {},
    livemode: false,
    metadata: {},
    on_behalf_of: null,
    outcome: {
      ...nulls("advice_code network_advice_code network_decline_code network_status reason seller_message"),
      type: "authorized",
    },
    paid: true,
    payment_intent: null,
    payment_method: "pm_1PgaftB7WZ01zgkW",
    payment_method_details: { card: { brand: "visa", country: "US", last4: "4242" }, type: "card" },
    ...nulls("receipt_email receipt_number"),
    receipt_url: "https://pay.stripe.com/receipts/payment/1",
    refunded: false,
    ...nulls("review shipping source source_transfer statement_descriptor statement_descriptor_suffix"),
    status: "succeeded",
    ...nulls("transfer_data transfer_group"),
  };
}

export function disputeShape(): Shape {
  return {
    ...nulls("id"),
    object: "dispute",
    amount: null,
    balance_transactions: [],
    ...nulls("charge created currency"),
    enhanced_eligibility_types: [],
    evidence: {},
    evidence_details: { due_by: 1382745599, has_evidence: false, past_due: false, submission_count: 0 },
    is_charge_refundable: false,
    livemode: false,
    metadata: {},
    payment_intent: null,
    reason: "general",
    status: "needs_response",
  };
}

export function refundShape(): Shape {
  return {
    ...nulls("id"),
    object: "refund",
    amount: null,
    balance_transaction: "txn_1Gib6ZHLwdCOCoR7",
    ...nulls("charge created currency"),
    metadata: {},
    ...nulls("payment_intent reason receipt_number source_transfer_reversal"),
    status: "succeeded",
    transfer_reversal: null,
  };
}

export function subscriptionShape(): Shape {
  return {
    ...nulls("id"),
    object: "subscription",
    ...nulls("application application_fee_percent billing_cycle_anchor cancel_at"),
    cancel_at_period_end: false,
    ...nulls("canceled_at collection_method created currency customer ended_at"),
    items: { object: "list", data: [], has_more: false, total_count: 0, url: "/v1/subscription_items" },
    latest_invoice: null,
    livemode: false,
    metadata: {},
    ...nulls("start_date trial_end trial_start"),
    status: "active",
  };
}
