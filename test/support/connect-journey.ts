/**
 * The service's calls for provider A's connected accounts, step by step, as plain outcomes: the simulated vendor and the
 * vendor's own sandbox must give the same results. Runs under Node and workerd alike.
 */
import { cents } from "../../src/domain/money.ts";
import { newId } from "../../src/lib/id.ts";
import type { ConnectedAccounts, FindAnswer, SendAnswer, Transfers } from "../../src/providers/connect.ts";

export interface JourneyStage {
  api_key: string;
  /** A connected account with active transfers. */
  account_id: string;
  /** ISO 4217, upper case: one in which the platform has a balance. */
  currency: string;
  /** The country of the new account; the vendor must support it. */
  country: string;
}

export const EXPECTED_JOURNEY: [step: string, outcome: string][] = [
  ["an account is created", "done"],
  ["asked again it is the same account", "same"],
  ["asked for again after it was forgotten", "another"],
  ["a link to its hosted onboarding", "https link, not yet expired"],
  ["a transfer to it before it is onboarded", "refused: insufficient_capabilities_for_transfer"],
  ["the same under the same key", "refused: insufficient_capabilities_for_transfer"],
  ["looked for", "none"],
  ["a transfer to an unknown account", "refused: resource_missing"],
  ["a transfer to an account that can take it", "made"],
  ["the same under the same key", "made, the same one"],
  ["another amount under the same key", "unknown: idempotency_error"],
  ["looked for", "made, the same one"],
  ["with a key that is none", "refused: api_key_refused"],
  ["looked for with a key that is none", "unknown: api_key_refused"],
];

export async function connectJourney(
  client: Transfers & ConnectedAccounts,
  { api_key, account_id, currency, country }: JourneyStage,
): Promise<[step: string, outcome: string][]> {
  const story: [string, string][] = [];
  const now = Date.now();
  const program_id = newId("program", now);
  const partner_id = newId("partner", now);
  const account = {
    program_id,
    partner_id,
    email: `${partner_id}@partners.example.com`,
    display_name: "Jane Doe",
    country,
    forgotten: 0,
  };
  const created = await client.createAccount(api_key, account);
  story.push(["an account is created", shown(created)]);
  if (created.outcome !== "done") return story;
  const again = await client.createAccount(api_key, account);
  const isSame = again.outcome === "done" && again.value.account_id === created.value.account_id;
  story.push(["asked again it is the same account", isSame ? "same" : shown(again)]);
  const other = await client.createAccount(api_key, { ...account, forgotten: 1 });
  const isOther = other.outcome === "done" && other.value.account_id !== created.value.account_id;
  story.push(["asked for again after it was forgotten", isOther ? "another" : shown(other)]);
  const link = await client.createLink(api_key, {
    account_id: created.value.account_id,
    return_url: "https://service.example.com/portal",
    refresh_url: "https://service.example.com/portal",
  });
  const isLink =
    link.outcome === "done" && link.value.url.startsWith("https://") && Date.parse(link.value.expires_at) > now;
  story.push(["a link to its hosted onboarding", isLink ? "https link, not yet expired" : shown(link)]);

  const order = (to: string, amount_cents = 100) => ({
    payout_id: newId("payout", now),
    program_id,
    partner_id,
    amount_cents: cents(amount_cents),
    currency,
    account_id: to,
  });
  const early = order(created.value.account_id);
  const send = (what: typeof early, key = api_key) => client.send(key, client.freeze(what), `${what.payout_id}:1`);
  story.push(["a transfer to it before it is onboarded", shown(await send(early))]);
  story.push(["the same under the same key", shown(await send(early))]);
  story.push(["looked for", shown(await client.find(api_key, early.payout_id))]);
  story.push(["a transfer to an unknown account", shown(await send(order("acct_1000000000000000")))]);

  const good = order(account_id);
  const made = await send(good);
  story.push(["a transfer to an account that can take it", shown(made)]);
  story.push(["the same under the same key", compared(made, await send(good))]);
  story.push(["another amount under the same key", shown(await send({ ...good, amount_cents: cents(101) }))]);
  story.push(["looked for", compared(made, await client.find(api_key, good.payout_id))]);
  story.push(["with a key that is none", shown(await send(order(account_id), "sk_test_none"))]);
  story.push(["looked for with a key that is none", shown(await client.find("sk_test_none", good.payout_id))]);
  return story;
}

function shown(answer: { outcome: string; code?: string }): string {
  return answer.code === undefined ? answer.outcome : `${answer.outcome}: ${answer.code}`;
}

function compared(made: SendAnswer, answer: SendAnswer | FindAnswer): string {
  const ids =
    answer.outcome !== "made"
      ? []
      : "transfers" in answer
        ? answer.transfers.map(({ transfer_id }) => transfer_id)
        : [answer.transfer_id];
  const isSame = made.outcome === "made" && ids.length === 1 && ids[0] === made.transfer_id;
  return isSame ? "made, the same one" : shown(answer);
}
