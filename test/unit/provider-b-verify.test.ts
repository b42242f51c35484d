import { Environment, Paddle } from "@paddle/paddle-node-sdk";
import { describe, expect, it } from "vitest";
import { providerB } from "../../src/providers/provider-b/index.ts";
import {
  adjustmentCreated,
  bodyOfB,
  signB,
  subscriptionCanceled,
  transactionCompleted,
} from "../support/provider-b.ts";
import { bytesOf, hmacHex } from "../support/vendor.ts";

const SECRET = "pdl_ntfset_01hsdn8d43dt7mezr1ef2jtbaw_test1";
const OLD_SECRET = "pdl_ntfset_01hsdn8d43dt7mezr1ef2jtbaw_test0";
const NOW = 1_700_000_000;
const BODY = bodyOfB(transactionCompleted({ ref: "jane", program: "prog_1" }));

const good = await hmacHex(SECRET, `${NOW}:`, BODY);
const old = await hmacHex(OLD_SECRET, `${NOW}:`, BODY);
const at = async (ts: number | string) => `ts=${ts};h1=${await hmacHex(SECRET, `${ts}:`, BODY)}`;

function verify(
  header: string | null,
  options: { body?: string | Uint8Array; secrets?: string[]; now?: number } = {},
): Promise<boolean> {
  const { body = BODY, secrets = [SECRET], now = NOW * 1000 } = options;
  return providerB.verify({ header, body: bytesOf(body), secrets, now });
}

describe("provider B: headers", () => {
  it("are looked for under the neutral name first, then the vendor's (IN-6)", () => {
    expect(providerB.signature_headers).toEqual(["Provider-B-Signature", "Paddle-Signature"]);
  });
});

const FORMS: [name: string, header: string | null, accepted: boolean][] = [
  ["one good signature", `ts=${NOW};h1=${good}`, true],
  ["two, the good one last", `ts=${NOW};h1=${old};h1=${good}`, true],
  ["two, the good one first", `ts=${NOW};h1=${good};h1=${old}`, true],
  ["the pairs in the other order", `h1=${good};ts=${NOW}`, true],
  ["an unknown scheme beside a good one", `ts=${NOW};h1=${good};h2=${old}`, true],
  ["the right digest under another scheme", `ts=${NOW};h2=${good}`, false],
  ["only a signature of another secret", `ts=${NOW};h1=${old}`, false],
  ["upper-case hex", `ts=${NOW};h1=${good.toUpperCase()}`, false],
  ["a space after the semicolon", `ts=${NOW}; h1=${good}`, false],
  ["no timestamp", `h1=${good}`, false],
  ["no signature", `ts=${NOW}`, false],
  ["nothing", "", false],
  ["no header at all", null, false],
  ["garbage", "garbage", false],
  ["signed with a dot in place of the colon", `ts=${NOW};h1=${await hmacHex(SECRET, `${NOW}.`, BODY)}`, false],
  ["provider A's form", `t=${NOW},v1=${good}`, false],
  ["provider A's separator", `ts=${NOW},h1=${good}`, false],
  ["a timestamp that is no number", await at("abc"), false],
  ["a negative timestamp", await at(-1), false],
  ["two timestamps", `ts=${NOW};ts=${NOW};h1=${good}`, false],
  ["a truncated signature", `ts=${NOW};h1=${good.slice(0, -2)}`, false],
  ["one character too many", `ts=${NOW};h1=${good}0`, false],
  ["an empty signature", `ts=${NOW};h1=`, false],
  ["a trailing semicolon", `ts=${NOW};h1=${good};`, false],
];

describe("provider B: the header's form", () => {
  it.each(FORMS)("%s", async (_, header, accepted) => {
    expect(await verify(header)).toBe(accepted);
  });

  it("tries ten signatures and no more", async () => {
    const wrong = Array.from({ length: 9 }, () => `h1=${old}`).join(";");
    expect(await verify(`ts=${NOW};${wrong};h1=${good}`)).toBe(true);
    expect(await verify(`ts=${NOW};${wrong};h1=${old};h1=${good}`)).toBe(false);
  });
});

describe("provider B: outside 300 s either side is refused (IN-3)", () => {
  it.each([
    [-301, false],
    [-300, true],
    [-7, true],
    [0, true],
    [60, true],
    [300, true],
    [301, false],
    [31_536_000, false],
  ])("signed %i s from now: %s", async (offset, accepted) => {
    expect(await verify(await at(NOW + offset))).toBe(accepted);
  });
});

describe("provider B: secrets", () => {
  it("tries both while a replaced one is still valid (PROG-5)", async () => {
    expect(await verify(`ts=${NOW};h1=${old}`, { secrets: [SECRET, OLD_SECRET] })).toBe(true);
    expect(await verify(`ts=${NOW};h1=${good}`, { secrets: [] })).toBe(false);
  });
});

describe("provider B: the vendor's SDK (IN-9)", () => {
  const { webhooks } = new Paddle("pdl_sdbx_apikey_1", { environment: Environment.sandbox });

  it.each([
    ["transaction.completed", transactionCompleted({ ref: "jane" })],
    ["adjustment.created", adjustmentCreated({ transaction: "txn_1" })],
    ["subscription.canceled", subscriptionCanceled({ ref: "jane" })],
  ])("accepts and understands the maker's %s", async (type, event) => {
    const body = bodyOfB(event);
    const read = await webhooks.unmarshal(body, SECRET, await signB(body, SECRET));
    expect(read.eventType).toBe(type);
    expect(read.data).toMatchObject({ id: event.data.id });
    await expect(webhooks.unmarshal(body, OLD_SECRET, await signB(body, SECRET))).rejects.toThrow();
  });

  it("agrees on the makers' signatures", async () => {
    const now = Math.floor(Date.now() / 1000);
    const header = await signB(BODY, SECRET, now);
    expect(await webhooks.isSignatureValid(BODY, SECRET, header)).toBe(true);
    expect(await verify(header, { now: now * 1000 })).toBe(true);
  });
});

describe("provider B: the vendor's vector", () => {
  it("verifies at its time and not later", async () => {
    // Copied from the tests of the vendor's SDK for Go.
    const raw_body =
      '{"data":{"id":"pri_01hsdn96k2hxjzsq5yerecdj9j","name":null,"status":"active","quantity":{"maximum":9' +
      '99999,"minimum":1},"tax_mode":"account_setting","product_id":"pro_01hsdn8qp7yydry3x1yeg6a9rv","unit_' +
      'price":{"amount":"1000","currency_code":"USD"},"custom_data":null,"description":"testing","import_me' +
      'ta":null,"trial_period":null,"billing_cycle":{"interval":"month","frequency":1},"unit_price_override' +
      's":[]},"event_id":"evt_01hsdn97563968dy0szkmgjwh3","event_type":"price.created","occurred_at":"2024-' +
      '03-20T10:07:35.590857Z","notification_id":"ntf_01hsdn977e920kbgzt6r6c9rqc"}';
    const header = "ts=1710929255;h1=6c05ef8fa83c44d751be6d259ec955ce5638e2c54095bf128e408e2fce1589c8";
    const secret = "pdl_ntfset_01hsdn8d43dt7mezr1ef2jtbaw_hKkRiCGyyRhbFwIUuqiTBgI7gnWoV0Gr";
    const now = 1_710_929_255_000;
    expect(await verify(header, { body: raw_body, secrets: [secret], now })).toBe(true);
    expect(await verify(header, { body: raw_body, secrets: [secret], now: now + 301_000 })).toBe(false);
    expect(await verify(header, { body: `${raw_body} `, secrets: [secret], now })).toBe(false);
  });
});
