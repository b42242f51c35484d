/**
 * The journey of connected accounts against provider A's own sandbox: `npm run test:provider-a`. It needs
 * - PROVIDER_A_TEST_KEY: a test-mode secret key of a platform with connected accounts;
 * - PROVIDER_A_TEST_ACCOUNT: a test-mode connected account of that platform with active transfers;
 * - a test balance of at least 1.00 in PROVIDER_A_TEST_CURRENCY (USD unless set);
 * and takes PROVIDER_A_TEST_COUNTRY (US unless set) for the account it creates. Without a key nothing is called.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { providerAConnect } from "../../src/providers/provider-a/connect.ts";
import { connectJourney, EXPECTED_JOURNEY } from "../support/connect-journey.ts";

const {
  PROVIDER_A_TEST_KEY: api_key,
  PROVIDER_A_TEST_ACCOUNT: account_id,
  PROVIDER_A_TEST_CURRENCY: currency = "USD",
  PROVIDER_A_TEST_COUNTRY: country = "US",
  PROVIDER_A_API_URL: baseUrl = "https://api.stripe.com",
} = process.env;

if (api_key === undefined) {
  console.log("PROVIDER_A_TEST_KEY is not set: the sandbox was not asked.");
} else {
  void test("the sandbox gives the same results as the simulated vendor", async () => {
    assert.match(api_key, /^[rs]k_test_/, "Only a test-mode key: this makes transfers.");
    assert.ok(account_id, "Set PROVIDER_A_TEST_ACCOUNT to a connected account with active transfers.");
    const client = providerAConnect({ fetch: (url, init) => fetch(url, init), baseUrl, now: Date.now });
    assert.deepEqual(await connectJourney(client, { api_key, account_id, currency, country }), EXPECTED_JOURNEY);
  });
}
