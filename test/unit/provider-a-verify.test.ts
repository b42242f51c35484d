import Stripe from "stripe";
import { describe, expect, it } from "vitest";
import { providerA } from "../../src/providers/provider-a/index.ts";
import { fixtures, itOfCaptured } from "../support/fixtures.ts";
import { bodyOfA, sessionCompleted, signA } from "../support/provider-a.ts";
import { bytesOf, hmacHex } from "../support/vendor.ts";

const SECRET = "whsec_test_secret_0001";
const OLD_SECRET = "whsec_test_secret_old1";
const NOW = 1_700_000_000;
const BODY = bodyOfA(sessionCompleted({ event_id: "evt_1", id: "cs_test_1", payment_intent: "pi_1", created: NOW }));

const good = await hmacHex(SECRET, `${NOW}.`, BODY);
const old = await hmacHex(OLD_SECRET, `${NOW}.`, BODY);
const at = async (t: number | string) => `t=${t},v1=${await hmacHex(SECRET, `${t}.`, BODY)}`;

function verify(
  header: string | null,
  options: { body?: string | Uint8Array; secrets?: string[]; now?: number } = {},
): Promise<boolean> {
  const { body = BODY, secrets = [SECRET], now = NOW * 1000 } = options;
  return providerA.verify({ header, body: bytesOf(body), secrets, now });
}

describe("provider A: headers", () => {
  it("are looked for under the neutral name first, then the vendor's (IN-6)", () => {
    expect(providerA.signature_headers).toEqual(["Provider-A-Signature", "Stripe-Signature"]);
  });
});

const FORMS: [name: string, header: string | null, accepted: boolean][] = [
  ["one good signature", `t=${NOW},v1=${good}`, true],
  ["a good one and the test scheme v0", `t=${NOW},v1=${good},v0=${"0".repeat(64)}`, true],
  ["a rolled secret, the old one first", `t=${NOW},v1=${old},v1=${good}`, true],
  ["a rolled secret, the new one first", `t=${NOW},v1=${good},v1=${old}`, true],
  ["the pairs in the other order", `v1=${good},t=${NOW}`, true],
  ["a malformed signature beside a good one", `t=${NOW},v1=,v1=xyz,v1=${good}`, true],
  ["an unknown scheme beside a good one", `t=${NOW},v2=${old},v1=${good}`, true],
  ["only a signature of another secret", `t=${NOW},v1=${old}`, false],
  ["the right digest under v0 only", `t=${NOW},v0=${good}`, false],
  ["no timestamp", `v1=${good}`, false],
  ["no signature", `t=${NOW}`, false],
  ["nothing", "", false],
  ["no header at all", null, false],
  ["garbage", "I am not even a header", false],
  ["only separators", ",,,", false],
  ["a timestamp that is no number", `t=abc,v1=${good}`, false],
  ["an empty timestamp", `t=,v1=${good}`, false],
  ["a negative timestamp", await at(-1), false],
  ["a timestamp with a fraction", await at(`${NOW}.0`), false],
  ["a timestamp in exponent form", await at("17e8"), false],
  ["a timestamp with a sign", await at(`+${NOW}`), false],
  ["a timestamp with a leading zero", await at(`0${NOW}`), false],
  ["a timestamp with a trailing letter", await at(`${NOW}s`), false],
  ["a timestamp beyond all integers", await at("9".repeat(40)), false],
  ["a timestamp other than the one signed", `t=${NOW - 1},v1=${good}`, false],
  ["two timestamps", `t=${NOW},t=${NOW},v1=${good}`, false],
  ["a space after the comma", `t=${NOW}, v1=${good}`, false],
  ["a trailing comma", `t=${NOW},v1=${good},`, false],
  ["provider B's separator", `t=${NOW};v1=${good}`, false],
  ["upper-case hex", `t=${NOW},v1=${good.toUpperCase()}`, false],
  ["upper-case keys", `T=${NOW},V1=${good}`, false],
  ["a truncated signature", `t=${NOW},v1=${good.slice(0, -1)}`, false],
  ["a truncated signature of whole bytes", `t=${NOW},v1=${good.slice(0, -2)}`, false],
  ["one character too many", `t=${NOW},v1=${good}0`, false],
  ["an empty signature", `t=${NOW},v1=`, false],
  ["base64", `t=${NOW},v1=Ah5TV5YPCKb2YaIVetooN78kyiVHlqjZZ5Gn7moiZ/U=`, false],
  ["a line break inside", `t=${NOW},v1=${good}\n`, false],
];

describe("provider A: the header's form", () => {
  it.each(FORMS)("%s", async (_, header, accepted) => {
    expect(await verify(header)).toBe(accepted);
  });

  it("tries ten signatures and no more", async () => {
    const wrong = Array.from({ length: 9 }, () => `v1=${old}`).join(",");
    expect(await verify(`t=${NOW},${wrong},v1=${good}`)).toBe(true);
    expect(await verify(`t=${NOW},${wrong},v1=${old},v1=${good}`)).toBe(false);
  });

  it("answers a header of a hundred thousand signatures at once", async () => {
    const header = `t=${NOW},${Array.from({ length: 100_000 }, () => `v1=${old}`).join(",")}`;
    expect(await verify(header)).toBe(false);
  });
});

describe("provider A: outside 300 s either side is refused (IN-3)", () => {
  it.each([
    [-301, false],
    [-300, true],
    [-299, true],
    [0, true],
    [299, true],
    [300, true],
    [301, false],
    [31_536_000, false],
    [-31_536_000, false],
  ])("signed %i s from now: %s", async (offset, accepted) => {
    expect(await verify(await at(NOW + offset))).toBe(accepted);
  });

  it("counts whole seconds, as the vendor does", async () => {
    expect(await verify(await at(NOW - 300), { now: NOW * 1000 + 999 })).toBe(true);
    expect(await verify(await at(NOW - 300), { now: NOW * 1000 + 1000 })).toBe(false);
    expect(await verify(await at(NOW + 301), { now: NOW * 1000 + 999 })).toBe(false);
  });
});

describe("provider A: secrets", () => {
  it("tries both while a replaced one is still valid (PROG-5)", async () => {
    expect(await verify(`t=${NOW},v1=${old}`, { secrets: [SECRET, OLD_SECRET] })).toBe(true);
    expect(await verify(`t=${NOW},v1=${good}`, { secrets: [OLD_SECRET, SECRET] })).toBe(true);
  });

  it("refuses everything without a secret, and with an empty one", async () => {
    expect(await verify(`t=${NOW},v1=${good}`, { secrets: [] })).toBe(false);
    expect(await verify(`t=${NOW},v1=${good}`, { secrets: [""] })).toBe(false);
    expect(await verify(`t=${NOW},v1=${good}`, { secrets: ["", SECRET] })).toBe(true);
  });

  it("keys with the whole text, whsec_ included", async () => {
    expect(await verify(`t=${NOW},v1=${good}`, { secrets: [SECRET.replace("whsec_", "")] })).toBe(false);
  });
});

describe("provider A: the exact bytes are signed (IN-8)", () => {
  it("does not take invalid UTF-8 for its replacement character", async () => {
    const header = await signA(new Uint8Array([0xff]), SECRET, NOW);
    expect(await verify(header, { body: "\ufffd" })).toBe(false);
  });

  it("does not confuse where the timestamp ends and the body begins", async () => {
    const header = `t=${NOW},v1=${await hmacHex(SECRET, `${NOW}.1`, "23")}`;
    expect(await verify(header, { body: "123" })).toBe(true);
    expect(await verify(header, { body: "23" })).toBe(false);
  });
});

describe("provider A: the vendor's SDK (IN-9)", () => {
  const { webhooks } = new Stripe("sk_test_1");

  it("signs what is accepted here", async () => {
    const header = await webhooks.generateTestHeaderStringAsync({ payload: BODY, secret: SECRET, timestamp: NOW });
    expect(await verify(header)).toBe(true);
    expect(await verify(header, { secrets: [OLD_SECRET] })).toBe(false);
  });

  it("accepts what the makers sign", async () => {
    const body = bodyOfA(sessionCompleted({ ref: "jane" }));
    const event = await webhooks.constructEventAsync(body, await signA(body, SECRET), SECRET);
    expect(event.type).toBe("checkout.session.completed");
    await expect(webhooks.constructEventAsync(body, await signA(body, OLD_SECRET), SECRET)).rejects.toThrow();
  });
});

describe("provider A: the vendor's vectors", () => {
  interface Vectors {
    secret: string;
    now: number;
    cases: { name: string; header: string; body_variant: string; sdk: string }[];
  }
  it("one that was computed elsewhere verifies, and no other body with it", async () => {
    const body = '{"id":"evt_1","object":"event","type":"ping","data":{"object":{"id":"in_1"}}}';
    const header = "t=1700000000,v1=9214cfe067f6da699be3f1eca73a5ab233e3197e5056769f8bbc6f2c585c08b3";
    const secrets = ["whsec_vector_secret_of_provider_a"];
    expect(await verify(header, { body, secrets })).toBe(true);
    expect(await verify(header, { body: body.replace("in_1", "in_2"), secrets })).toBe(false);
  });

  itOfCaptured("are answered as the vendor answers them, except that no future beyond 300 s is accepted", async () => {
    const file = fixtures["a.signature-vectors.stripe-node-23.1.0.json"]!;
    const exact = fixtures["a.checkout.session.completed.payment.2025-05-28.basil.json"]!.replace(/\n$/, "");
    const { secret, now, cases } = JSON.parse(file) as Vectors;
    const bodies: Record<string, string> = {
      exact,
      body_changed: exact.replace("3000", "9000"),
      body_reserialised: JSON.stringify(JSON.parse(exact)),
      body_trailing_newline: `${exact}\n`,
      body_empty: "",
    };
    expect(cases).toHaveLength(28);
    for (const { name, header, body_variant, sdk } of cases) {
      const body = bodies[body_variant];
      expect(body, body_variant).toBeDefined();
      const accepted = sdk === "accept" && name !== "future_301" && name !== "future_1y";
      expect(await verify(header, { body: body!, secrets: [secret], now: now * 1000 }), name).toBe(accepted);
    }
  });
});
