import { describe, expect, it, vi } from "vitest";
import { keyOn, tokenOn } from "../../src/domain/shard.ts";
import { unsubscribeToken } from "../../src/http/mails/unsubscribe.ts";
import { randomToken } from "../../src/lib/crypto.ts";
import { logLine, reasonOf, redact } from "../../src/lib/log.ts";
import { testContext, TEST_SECRETS } from "../support/program.ts";

describe("the reason of a failure in the log", () => {
  it.each([
    [new Error("outer", { cause: new Error("inner") }), "inner"],
    [
      new Error("Failed query: select 1 params: jane@example.com", { cause: new Error("no such table") }),
      "no such table",
    ],
    [new Error("plain"), "plain"],
    [new Error("outer", { cause: "a text" }), "a text"],
    ["thrown text", "thrown text"],
    [undefined, "undefined"],
  ])("of %s is the innermost cause's", (error, reason) => {
    expect(reasonOf(error)).toBe(reason);
  });
});

describe("what opens a door", () => {
  it("is taken out of a line whichever database it belongs to, in an address too", () => {
    for (const shard of [0, 1, 31]) {
      const token = tokenOn(shard, randomToken(32));
      for (const text of [
        token,
        `"${token}"`,
        `https://service.example/sign-in?token=${token}&as=1`,
        `token ${token}.`,
      ]) {
        expect(redact(text)).not.toContain(token.slice(-43));
      }
      expect(redact(`key ${keyOn(shard, randomToken(32))}`)).toBe("key [secret]");
    }
    expect(redact("evt_01jd0000000000000000000000 /dashboard/settings")).toBe(
      "evt_01jd0000000000000000000000 /dashboard/settings",
    );
  });

  it("is taken out where it is sealed, as in a link to unsubscribe", async () => {
    const { sealer } = testContext();
    const place = { table: "mails", column: "content", row: "x" } as const;
    const sealed = await sealer.seal("what nobody may read", place);
    const token = await unsubscribeToken(sealer, {
      program_id: "prog_1",
      reader: { audience: "owner" },
      kind: "weekly_summary",
      address: "owner@shop.example",
    });
    expect(redact(`cannot open ${sealed} today`)).toBe("cannot open [secret] today");
    expect(redact(`/unsubscribe/${token}`)).toBe("/unsubscribe/[secret]");
  });

  it.each(Object.entries(TEST_SECRETS))("is taken out where it has the form of a secret of %s", (_, secret) => {
    for (const around of [" ", '"', "="]) {
      expect(redact(`refused${around}${secret} today`)).toBe(`refused${around}[secret] today`);
    }
  });
});

describe("a long text of the log", () => {
  const secrets = [
    tokenOn(1, randomToken(32)),
    keyOn(0, randomToken(32)),
    `whsec_${"a".repeat(40)}`,
    "Bearer abcdefghijklmnop",
    `jane.${"doe".repeat(20)}@example.com`,
    `ann@example.com1@example.org`,
  ];

  it("is cut, and has nothing of a secret or an address that the cut goes through", () => {
    for (const secret of secrets) {
      for (let before = 4_096 - secret.length; before <= 4_096; before++) {
        for (const around of [" ", '"', "="]) {
          const text = redact(`${"x ".repeat(before / 2).slice(1)}${around}${secret} and more`);
          expect(text.length).toBeLessThanOrEqual(4_200);
          for (const part of secret.split(/[ .@]/)) {
            if (part !== "Bearer") expect(text).not.toContain(part.slice(0, 4));
          }
        }
      }
    }
  });

  it("is cut in any field of the line, and the line stays JSON", () => {
    const lines: string[] = [];
    const spy = vi.spyOn(console, "error").mockImplementation((line: string) => void lines.push(line));
    const long = "some word ".repeat(10_000);
    logLine("error", { what: "a test", reason: long, frames: [long, `at jane@example.com (${secrets[1]})`] });
    spy.mockRestore();
    const line = JSON.parse(lines[0] ?? "") as { reason: string; frames: string[] };
    expect([line.reason.length, line.frames[0]?.length]).toEqual([4_096, 4_096]);
    expect(line.frames[1]).toBe("at [address] ([secret])");
  });
});

describe("an address in the log", () => {
  it.each([
    ["to jane@example.com.", "to [address]"],
    ["<jane.doe+x@mail.example.co>, bob@b.co", "<[address]>, [address]"],
    ["mailto:jane@example.com?x=1", "mailto:[address]"],
    ["a@b.co1@c.de", "[address]"],
    ["a@b@c.de", "[address]"],
    ["weur:3@1 and user@localhost", "weur:3@1 and user@localhost"],
    ['["jane@example.com","x"]', '["[address]","x"]'],
  ])("in %j is left out", (text, clean) => {
    expect(redact(text)).toBe(clean);
  });
});
