/** Phrases of queries, and their names here. Each side may be several phrases, separated by commas. */
const SYNONYMS: readonly (readonly [asked: string, here: string])[] = [
  ["pagination, paging, paginate, next page", "cursor, page, pagination"],
  ["sandbox, test mode, test card, fake money", "test without real money, test payments, sandbox"],
  ["gdpr, dsgvo, ccpa, delete customer, right to be forgotten, personal data", "erase, erase customer"],
  ["429, throttle, throttling, quota, rate limit, rate limiting, too many requests", "rate_limited, rate limits"],
  ["401, unauthorized, unauthenticated, authentication", "api key, unauthorized"],
  ["403, permission", "forbidden, scopes"],
  ["retry, retries, resend, redelivery", "again, redeliver, delivery"],
  ["restore, rollback, disaster, recovery", "backup, restore, time travel"],
  [
    "shopify, woocommerce, wordpress, webflow, squarespace, wix, zapier, make.com, gumroad, lemon squeezy, chargebee, braintree, recurly, adyen, mollie, magento, prestashop, bigcommerce, postback, s2s, server to server, mobile app, ios, android",
    "facts from your own server",
  ],
  ["w-9, w9, w-8, w-8ben, 1099, tax form, dac7, kyc, accounting, bookkeeping", "tax data"],
  ["license, open source, docker, kubernetes, postgres, vps, self host, self hosted, region, eu", "first deploy"],
  [
    "2fa, mfa, two factor, otp, sso, saml, single sign-on, passkey, password, login, signin, magic link",
    "sign in and team",
  ],
  ["audit log, audit trail, history", "audit log, events, list events"],
  ["smtp, spf, dkim, sender, email template, email", "email"],
  [
    "log, logging, metric, observability, monitoring, alert, uptime, status page, health",
    "watching, monitoring, healthz",
  ],
  ["timezone, time zone", "time zone, utc day"],
  ["logo, theme, color, brand, css", "portal in your own site, brand"],
  ["ad blocker, adblock, adblocker, blocked", "without a script, something is wrong"],
  [
    "missing sale, missing commission, commission missing, no commission, not tracked, not recorded, not counted, lost sale",
    "claim, something is wrong, trace, 5 check, how payment earn, what partner see",
  ],
  ["slack, discord, hubspot, salesforce, mailchimp, crm, n8n", "other tools"],
  [
    "get started, getting started, how do i start, quickstart, setup, onboarding, tutorial",
    "start, five steps, first sale",
  ],
  [
    "banner, creative, marketing material, landing page, qr code, deep link, sub id, analytics, statistics, report",
    "what partner see",
  ],
  ["pay per click, cpc, ppc, impression", "what partner see"],
  ["pay per lead, cpl, cpa", "lead, facts from your own server"],
  ["mlm, multi level, two tier, second tier, sub affiliate, contest, leaderboard, bonus", "what rule cannot do"],
  ["application form, signup form, apply, terms, agreement, recruit", "let partner apply"],
  ["get paid, payout schedule, monthly payout, payday", "payout, before the first payout"],
  ["attribution window, first click, last click, cookie duration, cookie lifetime", "script"],
  ["free trial, free plan", "what it costs"],
  ["rest api", "document, integrate api"],
  ["partner tier, different rate", "group, flow, commission rule"],
  ["backup, dump", "restore, export, time travel"],
  ["cost, price, pricing, plan, bill", "what it costs, dollars, cost"],
  ["python, php, golang, go, ruby, hmac, verify webhook", "verify signatures, signature"],
  ["typescript, node, nodejs, node.js, javascript, sdk, library", "typescript, client"],
  ["deploy, deployment, production, hosting, install, go live, live", "first deploy, deploy, going live"],
  ["webhook secret, signing secret, whsec", "secret, signature"],
  ["localhost, tunnel, ngrok, local webhook", "receive webhook locally"],
  ["payout, withdraw, withdrawal, cash out, pay partner", "payout, payouts"],
  ["coupon, voucher, discount, discount code, promo code", "promotion code, promotion codes"],
  ["affiliate, referrer, publisher, creator, ambassador", "partner, partners"],
  [
    "rewardful, firstpromoter, tolt, affonso, leaddyno, tapfiliate, partnerstack, refersion, dub, switch",
    "import, migrate",
  ],
  ["csv, upload, spreadsheet", "import, file"],
  ["clawback, negative commission, chargeback, dispute, money back", "refund, clawback"],
  ["iban, sepa, wise, transferwise", "bank transfer, bank file, bank"],
  ["utm, referral link, tracking link, affiliate link", "link, reference, ref"],
  ["cookie, cookies, consent, privacy, tracking", "script, consent, cookie"],
  ["snippet, pixel, tag, gtm", "script, tag managers"],
  ["react, nextjs, next.js, vue, svelte", "add the script"],
  ["language, translate, translation, locale", "portal in your own site"],
  ["tax, vat, invoice", "invoices, self billing, tax"],
  ["tier, tiers, commission rate, percentage, rate", "flow, flows, commission_pct, group"],
  ["recurring, subscription, renewal, lifetime", "commission rule, months_since_first_payment, subscription, renewals"],
  ["iframe, embed, white label", "portal in your own site, frame"],
  ["hold, threshold, minimum payout", "minimum, hold"],
  ["fraud, abuse, self referral", "flagged, review"],
  ["duplicate, idempotent, exactly once, dedupe", "idempotency, idempotency-key"],
  ["staff, colleague, user, role, read only", "team, members, roles"],
  ["upgrade, migration", "upgrade, migrate"],
  ["lead, signup, trial", "lead, sign-up, facts from your own server"],
  ["currency, fx, exchange rate", "currency, currencies"],
];

/** The synonyms by stems, as the index has them; `stems` makes a phrase's. */
export function synonymsBy(stems: (text: string) => string[]): Record<string, string[]> {
  const phrases = (list: string) => list.split(", ").map((phrase) => stems(phrase).join(" "));
  const found: Record<string, string[]> = {};
  for (const [asked, here] of SYNONYMS) {
    // A query's name with a dot counts as one word.
    for (const key of phrases(asked).map((one) => (one.includes(".") ? one.split(" ", 1).join("") : one))) {
      found[key] = [...new Set([...(found[key] ?? []), ...phrases(here)])].filter((one) => one !== key);
    }
  }
  return found;
}
