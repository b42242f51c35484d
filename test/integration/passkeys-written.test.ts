/** The bytes that a device writes for a passkey: registrations and signatures, refused unless they are exact. */
import { describe, expect, it } from "vitest";
import { PasskeyRefused, readAssertion, readRegistration } from "../../src/lib/passkey.ts";
import { base64url, makeAuthenticator } from "../support/authenticator.ts";
import { BASE_URL } from "../support/program.ts";

describe("what devices write", () => {
  const challenge = new Uint8Array(40);
  const expected = { origin: BASE_URL, challenge };
  const asked = { challenge: base64url(challenge), rpId: "service.example" };
  type Made = Parameters<typeof readRegistration>[0];
  type Used = Parameters<typeof readAssertion>[0];

  async function register(options?: Parameters<typeof makeAuthenticator>[0]) {
    const device = await makeAuthenticator(options);
    const { challenge: text, rpId: id } = asked;
    const made = await device.create({ challenge: text, rp: { id }, user: { id: "AAAA" }, excludeCredentials: [] });
    return { device, made: made as Made };
  }

  it("is read where a number of the signature is short", async () => {
    const { device, made } = await register();
    const { public_key } = await readRegistration(made, expected);
    const lengths = new Set<number>();
    for (let n = 0; n < 5_000 && ![...lengths].some((length) => length < 70); n++) {
      const answer = (await device.get(asked)) as Used;
      lengths.add(fromBase64url(answer.response.signature).length);
      await expect(readAssertion(answer, public_key, expected)).resolves.toEqual({ sign_count: 0 });
    }
    expect(Math.min(...lengths)).toBeLessThan(70);
  });

  it.each([{ rsa: false }, { rsa: true }])(
    "is refused, and nothing else thrown, where a new passkey is cut, longer or of another kind: %o",
    async (options) => {
      const { made } = await register(options);
      const refused = (response: Partial<Made["response"]>) =>
        expect(readRegistration({ ...made, response: { ...made.response, ...response } }, expected)).rejects.toThrow(
          PasskeyRefused,
        );
      for (const field of ["authenticatorData", "publicKey", "clientDataJSON"] as const) {
        const whole = fromBase64url(made.response[field]);
        for (let cut = 0; cut < whole.length; cut += 2) await refused({ [field]: base64url(whole.slice(0, cut)) });
        await refused({ [field]: base64url(new Uint8Array(3_000).fill(0x81)) });
        await refused({ [field]: "A" });
      }
      for (const data of ["null", "[]", "1", '"webauthn.create"', '{"type":"webauthn.create"}', '{"challenge":1}']) {
        await refused({ clientDataJSON: base64url(new TextEncoder().encode(data)) });
      }
      const key = fromBase64url(made.response.publicKey);
      await refused({ publicKey: base64url(Uint8Array.from([...key, 0])) });
      await refused({ publicKeyAlgorithm: options.rsa ? -7 : -257 });
      const elsewhere = await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-384" }, true, ["sign"]);
      const spki = await crypto.subtle.exportKey("spki", (elsewhere as CryptoKeyPair).publicKey);
      await refused({ publicKey: base64url(new Uint8Array(spki as ArrayBuffer)), publicKeyAlgorithm: -7 });
      await refused({ publicKey: base64url(key.map((byte, at) => (at === key.length - 1 ? byte ^ 1 : byte))) });
      await expect(readRegistration({ ...made, id: `${made.id}AA` }, expected)).rejects.toThrow(PasskeyRefused);
    },
  );

  it("is refused where a signature is not DER of two numbers of at most 32 bytes", async () => {
    const { device, made } = await register();
    const { public_key } = await readRegistration(made, expected);
    const answer = (await device.get(asked)) as Used;
    const refused = (signature: Uint8Array | readonly number[]) =>
      expect(
        readAssertion(
          { ...answer, response: { ...answer.response, signature: base64url(Uint8Array.from(signature)) } },
          public_key,
          expected,
        ),
      ).rejects.toThrow(PasskeyRefused);
    const good = fromBase64url(answer.response.signature);
    const [r, s] = numbersOf(good);
    const sequence = (...content: number[]) => [0x30, content.length, ...content];
    const integer = (...digits: number[]) => [0x02, digits.length, ...digits];
    const long = Array<number>(40).fill(1);
    for (let cut = 0; cut < good.length; cut++) await refused(good.slice(0, cut));
    await refused([...good, 0]);
    await refused(sequence(...good.slice(2), 0));
    await refused(sequence(...good.slice(2), ...integer(1)));
    await refused([0x31, ...good.slice(1)]);
    await refused([0x30, 0x81, good[1]!, ...good.slice(2)]);
    await refused(sequence(0x04, ...integer(...r).slice(1), ...integer(...s)));
    await refused(sequence(...integer(), ...integer(...s)));
    await refused(sequence(...integer(0, ...r), ...integer(...s)));
    await refused(sequence(...integer(...r), ...integer(0x80, ...s.slice(1))));
    await refused(sequence(...integer(...long), ...integer(...s)));
    await refused(sequence(...integer(...r), ...integer(...long)));
    await refused(sequence(...integer(0), ...integer(0)));
    await refused(sequence(0x02, 0x81, r.length, ...r, ...integer(...s)));
    await refused(new Uint8Array(1_000).fill(0x30));
    await expect(readAssertion(answer, public_key, expected)).resolves.toEqual({ sign_count: 0 });
  });
});

function fromBase64url(text: string): Uint8Array {
  return Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (char) => char.charCodeAt(0));
}

/** The digits of both numbers of a signature. */
function numbersOf(der: Uint8Array): [r: number[], s: number[]] {
  const length = der[3]!;
  return [[...der.slice(4, 4 + length)], [...der.slice(6 + length)]];
}
