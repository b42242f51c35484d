import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseAddress, whyNotPublic } from "../../src/domain/address.ts";
import { checkTargetUrl, MAX_TARGET_URL_LENGTH } from "../../src/domain/target-url.ts";
import { URL_CASES } from "../support/url-cases.ts";

/** The stage at which the text alone refuses a URL, or `ok`. */
function stageOf(text: string): string {
  const check = checkTargetUrl(text);
  return check.ok ? "ok" : check.stage;
}

const TEXT_STAGES: readonly string[] = ["parse", "policy", "literal", "name"];

describe("every collected address gets its verdict at its stage", () => {
  it.each(URL_CASES)("$verdict at $stage: $input", ({ stage, input }) => {
    expect(stageOf(input)).toBe(TEXT_STAGES.includes(stage) ? stage : "ok");
  });

  it.each(URL_CASES.filter(({ stage }) => stage === "range"))("$input is public by its range", ({ input }) => {
    const address = parseAddress(new URL(input).hostname);
    expect(address && whyNotPublic(address)).toBeNull();
  });
});

describe("port 443 or 1024–65535 (HOOK-7)", () => {
  it.each([
    ["https://example.com", "ok"],
    ["https://example.com:443", "ok"],
    ["https://example.com:1024", "ok"],
    ["https://example.com:8443/hook", "ok"],
    ["https://example.com:65535", "ok"],
    ["https://example.com:1", "policy"],
    ["https://example.com:80", "policy"],
    ["https://example.com:442", "policy"],
    ["https://example.com:444", "policy"],
    ["https://example.com:1023", "policy"],
    ["https://example.com:65536", "parse"],
    ["https://example.com:-1", "parse"],
  ])("%s → %s", (text, stage) => {
    expect(stageOf(text)).toBe(stage);
  });
});

describe("names (HOOK-18)", () => {
  it.each([
    "localhost",
    "LOCALHOST",
    "a.b.localhost",
    "printer.local",
    "a.local",
    "db.internal",
    "nas.lan",
    "router.home.arpa",
    "home.arpa",
    "1.0.0.127.in-addr.arpa",
    "ipv4only.arpa",
    "intranet",
    "hidden.onion",
    "x.alt",
    "host.localdomain",
    "git.corp",
    "nas.home",
    "ｌｏｃａｌｈｏｓｔ",
    "loc\u00adalhost",
    "%6c%6f%63%61%6c%68%6f%73%74",
  ])("refuses https://%s/, also with a trailing dot or a port", (host) => {
    expect(stageOf(`https://${host}/`)).toBe("name");
    expect(stageOf(`https://${host}./`)).toBe("name");
    expect(stageOf(`https://${host}:8443/`)).toBe("name");
  });

  it.each([
    "https://example.com./",
    "https://example.com../",
    "https://.example.com/",
    "https://a..example.com/",
    "https://-a.example.com/",
    "https://a-.example.com/",
    "https://a$b.example.com/",
    "https://*.example.com/",
    "https://a,b.example.com/",
  ])("refuses the spelling %s", (text) => {
    expect(stageOf(text)).toBe("name");
  });

  it("refuses a label over 63 characters and a name over 253, and takes those at the limit", () => {
    const label = "a".repeat(63);
    expect(stageOf(`https://${label}.example/`)).toBe("ok");
    expect(stageOf(`https://a${label}.example/`)).toBe("policy");
    const atLimit = `${label}.${label}.${label}.${"a".repeat(57)}.com`;
    expect(atLimit.length).toBe(253);
    expect(stageOf(`https://${atLimit}/`)).toBe("ok");
    expect(stageOf(`https://${atLimit.replace(/com$/, "info")}/`)).toBe("policy");
  });

  it.each([
    "https://example.com/",
    "https://hooks.example.co.uk/a?b=c#d",
    "https://xn--bcher-kva.example/",
    "https://bücher.example/",
    "https://my_app.example.com/",
    "https://mylocal.example/",
    "https://localhost.example.com/",
    "https://internal.example.com/",
    "https://notlocalhost.com/",
    "https://1.2.3.com/",
    "https://1.1.1.1/",
    "https://[2606:4700:4700::1111]/",
    "HTTPS://EXAMPLE.COM/",
  ])("takes %s", (text) => {
    expect(stageOf(text)).toBe("ok");
  });
});

describe("what is no clean https URL", () => {
  it.each([
    "",
    " ",
    "example.com",
    "http://example.com/",
    "https://",
    "https:///",
    "https://user@example.com/",
    "https://:pass@example.com/",
    "https://example.com@1.1.1.1/",
    " https://example.com/",
    "https://example.com/\n",
    "https://exam\tple.com/",
    "https://example.com/a b",
    "https://example.com/\u0000",
    "https://example.com/\u007f",
  ])("refuses %j as unparsable", (text) => {
    expect(stageOf(text)).toBe("parse");
  });

  it("takes 2,048 characters and refuses one more", () => {
    const start = "https://example.com/";
    const longest = start + "a".repeat(MAX_TARGET_URL_LENGTH - start.length);
    expect(longest.length).toBe(2048);
    expect(stageOf(longest)).toBe("ok");
    expect(stageOf(`${longest}a`)).toBe("policy");
  });

  it("says in words what is wrong, without repeating the input", () => {
    const check = checkTargetUrl("https://user:hunter2@example.com/");
    expect(check).toEqual({ ok: false, stage: "parse", reason: "must not contain credentials" });
  });
});

describe("properties", () => {
  const spelled = fc
    .tuple(fc.nat(0xffffffff), fc.constantFrom("dotted", "integer", "hex", "octal", "short", "mapped"))
    .map(([value, form]) => {
      const octets = [value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255];
      const dotted = octets.join(".");
      const spellings: Record<string, string> = {
        dotted,
        integer: String(value),
        hex: `0x${value.toString(16)}`,
        octal: octets.map((octet) => `0${octet.toString(8)}`).join("."),
        short: `${octets[0]}.${value & 0xffffff}`,
        mapped: `[::ffff:${dotted}]`,
      };
      return { dotted, text: `https://${spellings[form]}/` };
    });

  it("however an IPv4 address is spelled as a host, it is judged as that address", () => {
    fc.assert(
      fc.property(spelled, ({ dotted, text }) => {
        const address = parseAddress(dotted);
        expect(stageOf(text)).toBe(address && whyNotPublic(address) === null ? "ok" : "literal");
      }),
      { numRuns: 2_000 },
    );
  });

  it("never throws, and whatever it takes is https to a host with a dot or a literal, on an allowed port", () => {
    const mess = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.webUrl({ validSchemes: ["https", "http", "ftp"], withFragments: true, withQueryParameters: true }),
      fc.tuple(fc.string(), fc.nat(70_000)).map(([host, port]) => `https://${host}:${port}/`),
    );
    fc.assert(
      fc.property(mess, (text) => {
        const check = checkTargetUrl(text);
        if (!check.ok) return;
        const port = check.url.port === "" ? 443 : Number(check.url.port);
        expect(check.url.protocol).toBe("https:");
        expect(check.url.username + check.url.password).toBe("");
        expect(port === 443 || port >= 1024).toBe(true);
        expect(/\.|^\[.*\]$/.test(check.url.hostname)).toBe(true);
        expect(checkTargetUrl(check.url.href).ok || check.url.href.length > MAX_TARGET_URL_LENGTH).toBe(true);
      }),
      { numRuns: 3_000 },
    );
  });
});
