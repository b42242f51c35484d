/** Texts of the documents that apply to some providers only. */

interface OfSome {
  why: string;
  /** The folders of which one file has this text. */
  having?: string;
  of?: Answers | "any";
  texts: string[];
}

/** Answers by vendor folder: true, or the reason why the texts are about others. */
export type Answers = Readonly<Record<string, string | true>>;

/**
 * Texts, by their beginnings, that apply to some providers only: to those whose folder has the required part, or to
 * those with an answer here. An example or a table of all applies to any. A new folder does not have answers: each is
 * given with its reason.
 */
export const OF_SOME: readonly OfSome[] = [
  {
    why: "payouts are transfers through it",
    having: "connect: ",
    texts: [
      "architecture.md: | transfer, attempt",
      "comparison.md: | payouts  ",
      ...["| `transfer`"].map((text) => `deploy.md: ${text}`),
      "migrate.md: - The payout method is read in",
      "operate.md: - Payouts.",
      ...[
        ...["| `provider_a_api_key`", "| `provider_a` ", "To connect an account", "| through Stripe"],
        "If the account was closed or rejected",
        ...["Stripe makes these transfers only where ", "- `failure_code` `balance_insufficient`:"],
        ...["Stripe moves whole units of ISK and UGX ", "Where the program is `live_only`, a Stri"],
        "A Stripe transfer that you reverse in fu",
      ].map((text) => `payouts.md: ${text}`),
      "security.md: | money",
      ...["PART-9", "OUT-6", "OUT-15", "OUT-21", "OUT-23", "OUT-40"].map((rule) => `specification.md: - ${rule} `),
    ],
  },
  {
    why: "its movements show the rates of conversions",
    having: "readRates: ",
    texts: ["payouts.md: One EUR is then worth", "specification.md: - OUT-38 "],
  },
  {
    why: "it has thin events",
    having: "thinOf: ",
    texts: ["provider-events.md: The same holds for Stripe's thin", "specification.md: - IN-18 "],
  },
  {
    why: "its events may name the program",
    having: "claims_programs: true",
    texts: ["deploy.md: A program's id names", "provider-events.md: Paddle. Let the account send"],
  },
  {
    why: "its events name no program",
    having: "claims_programs: false",
    texts: ["provider-events.md: Stripe. An account there is for one"],
  },
  {
    why: "its customers' addresses come in events of their own",
    of: { "provider-a": "they come with the payment", "provider-b": true },
    texts: ["security.md: - A partner who buys"],
  },
  {
    why: "an adjustment has stages, of which one counts",
    of: { "provider-a": "a refund is reported once it is made", "provider-b": true },
    texts: ["specification.md: - PAY-8 "],
  },
  {
    why: "what is given back names the payment by other ids than the payment does",
    of: { "provider-a": true, "provider-b": "an adjustment names the transaction" },
    texts: ["PAY-18", "PAY-24", "IN-19"].map((rule) => `specification.md: - ${rule} `),
  },
  {
    why: "its events have some of the lines of an invoice",
    of: { "provider-a": true, "provider-b": "a transaction has all of its items" },
    texts: ["specification.md: - IN-22 ", "specification.md: - LINE-7 "],
  },
  {
    why: "its refunds name the lines that they return",
    of: { "provider-a": "a refund names its charge only", "provider-b": true },
    texts: ["specification.md: - LINE-6 "],
  },
  {
    why: "several of its objects report one payment",
    of: { "provider-a": true, "provider-b": "a transaction is one" },
    texts: ["provider-events.md: Stripe can make an invoice of a one-off", "specification.md: - PAY-25 "],
  },
  {
    why: "its own types of events, in its own table",
    of: "any",
    texts: ["used", "ignored", "Stripe ", "Paddle "].map((text) => `provider-events.md: | ${text}`),
  },
  {
    why: "its own way to carry a reference, in the row of its checkout",
    of: "any",
    texts: ["| Stripe", "| Paddle"].map((text) => `integrate.md: ${text}`),
  },
  {
    why: "its own sandbox",
    of: "any",
    texts: [
      ...["## Stripe", "1. Open a sandbox", "| a refund ", "| a payout by ", "### Stripe on", "Stripe's command line"],
      ...["```sh\nstripe ", "## Paddle", "1. Create a sandbox", "3. Set `Paddle.", "Paddle approves", "4. Replace the"],
    ].map((text) => `testing.md: ${text}`),
  },
  { why: "the columns of another product", of: "any", texts: ["migrate.md: | `rewardful`"] },
  {
    why: "an example",
    of: "any",
    texts: ["start.md: The visitor buys.", "start.md: ```sh\napi PATCH /programs/me -d '{\"provi"],
  },
];
