/**
 * The result of an import's lines is a function of the set of lines: in any order, they make the same partners and the
 * same bindings; and a second import does not change them.
 */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  identityKey,
  decideCustomerLines,
  type CustomerLine,
  type KnownCustomers,
} from "../../src/core/imports/customer-lines.ts";
import {
  decidePartnerLines,
  type Known,
  type KnownPartner,
  type PartnerLine,
  promotionKey,
} from "../../src/core/imports/partner-lines.ts";
import { newPartner, type PartnerInput } from "../../src/core/partners/partners.ts";
import { MAX_CODES } from "../../src/domain/code.ts";
import { emailKey } from "../../src/domain/email.ts";
import { percent } from "../../src/domain/money.ts";
import { slugKey, type PartnerStatus } from "../../src/domain/partner.ts";
import { PARTNER_TEXTS, type PartnerText } from "../../src/resources/partner.ts";
import { allSlices } from "../support/slices.ts";

const maybe = <T>(...values: T[]) => fc.constantFrom(null, null, ...values);
const EMAILS = ["ann@x.example", "ANN@x.example", "bob@x.example", "cid@x.example"];
const CODES = ["ann", "ANN", "bob", "x", "y", "held", "old"];

const partnerLine = fc.record({
  email: fc.constantFrom(...EMAILS),
  ...(Object.fromEntries(PARTNER_TEXTS.map((column) => [column, maybe("Ann", "Anna")])) as Record<
    PartnerText,
    fc.Arbitrary<"Ann" | "Anna" | null>
  >),
  commission_pct: maybe(percent(10), percent(20)),
  payout: maybe(["wallet", "a@pay.example"] as const, ["wallet", "A@pay.example"] as const, ["crypto", null] as const),
  codes: fc.uniqueArray(fc.constantFrom(...CODES), { maxLength: 2, selector: slugKey }),
  promotion_codes: fc.array(
    fc.record({
      provider: fc.constantFrom("provider_a" as const, "provider_b" as const),
      code: fc.constantFrom("HELD", "Ann 10", "ANN 10", "BOB"),
    }),
    { maxLength: 2 },
  ),
  group: maybe("vip", "VIP", "club", "unknown"),
  status: maybe("active" as const, "deactivated" as const),
});

function toLines(drafts: readonly (typeof partnerLine extends fc.Arbitrary<infer T> ? T : never)[]): PartnerLine[] {
  return drafts.map(({ codes, promotion_codes, group, status, payout, ...input }, i) => ({
    line: i + 2,
    input: {
      ...input,
      group_id: "grp",
      payout_method: payout?.[0] ?? null,
      payout_email: payout?.[1] ?? null,
      bank: null,
    } satisfies Required<PartnerLine["input"]>,
    codes,
    promotion_codes,
    group,
    status,
  }));
}

/** The row of a partner without random and time-dependent values. */
function partner(input: PartnerInput, status: PartnerStatus | null = null): KnownPartner {
  const made = newPartner({ now: 0, program: { id: "prog", default_group_id: "grp" } }, input);
  return { ...made, id: `id of ${emailKey(input.email)}`, status: status ?? "invited" };
}

/** A partner with an existing code, and one who lacks a name and a payout address. */
const BEFORE: Known = {
  partners: new Map(
    [
      partner({ email: "else@x.example", slug: "held" }),
      partner({ email: "Cid@x.example", slug: "cid", first_name: "Cid", commission_pct: percent(5) }, "active"),
    ].map((row) => [emailKey(row.email), row]),
  ),
  holders: new Map([
    ["held", "id of else@x.example"],
    ["cid", "id of cid@x.example"],
    ["old", "id of cid@x.example"],
    ["provider_a held", "id of cid@x.example"],
  ]),
  // One more is one too many.
  counts: new Map([["id of cid@x.example", MAX_CODES - 1]]),
  groups: new Map([
    ["vip", "grp_vip"],
    ["club", "grp_club"],
  ]),
};

function importInto(known: Known, lines: readonly PartnerLine[]) {
  const { verdicts, changed } = allSlices(decidePartnerLines(lines, known, partner)).result;
  const after = {
    partners: new Map(known.partners),
    holders: new Map(known.holders),
    counts: new Map(known.counts),
    groups: known.groups,
  };
  for (const { after: row, codes: slugs, promotion_codes } of changed) {
    const codes = [...slugs, ...promotion_codes.map(promotionKey)];
    const has = (after.counts.get(row.id) ?? 0) + promotion_codes.length;
    expect(has).toBeLessThanOrEqual(MAX_CODES);
    after.counts.set(row.id, has);
    after.partners.set(emailKey(row.email), row);
    for (const code of codes) {
      expect(after.holders.has(code)).toBe(false);
      after.holders.set(code, row.id);
    }
  }
  return { verdicts, after };
}

function sorted(known: Known) {
  const entries = <T>(map: ReadonlyMap<string, T>) => [...map].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return [entries(known.partners), entries(known.holders)];
}

describe("an import of partners", () => {
  const drafts = fc.array(partnerLine, { minLength: 1, maxLength: 6 });

  it("makes the same partners of the same lines in any order", () => {
    fc.assert(
      fc.property(
        drafts.chain((list) =>
          fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length, maxLength: list.length })),
        ),
        ([list, shuffled]) => {
          const { after, verdicts } = importInto(BEFORE, toLines(list));
          const other = importInto(BEFORE, toLines(shuffled));
          expect(sorted(other.after)).toEqual(sorted(after));
          const count = (all: typeof verdicts, of: string) => all.filter(({ verdict }) => verdict === of).length;
          for (const of of ["new", "refused"]) expect(count(other.verdicts, of)).toBe(count(verdicts, of));
        },
      ),
      { numRuns: 2_000 },
    );
  });

  it("changes and completes nothing the second time", () => {
    fc.assert(
      fc.property(drafts, (list) => {
        const first = importInto(BEFORE, toLines(list));
        const second = importInto(first.after, toLines(list));
        expect(sorted(second.after)).toEqual(sorted(first.after));
        const refused = (all: typeof first.verdicts) => all.filter(({ verdict }) => verdict === "refused");
        expect(second.verdicts.every(({ verdict }) => verdict === "known" || verdict === "refused")).toBe(true);
        expect(refused(second.verdicts).map(({ line }) => line)).toEqual(
          refused(first.verdicts).map(({ line }) => line),
        );
      }),
      { numRuns: 2_000 },
    );
  });

  it("gives nobody a code that is used for two addresses, and nobody a thing that no line of theirs has", () => {
    fc.assert(
      fc.property(drafts, (list) => {
        const lines = toLines(list);
        const { after, verdicts } = importInto(BEFORE, lines);
        expect(verdicts.map(({ line }) => line)).toEqual(lines.map(({ line }) => line));
        const addresses = (code: string) =>
          new Set(
            lines.flatMap((line) =>
              [...line.codes.map(slugKey), ...line.promotion_codes.map(promotionKey)].includes(code)
                ? emailKey(line.input.email)
                : [],
            ),
          );
        for (const [code, holder] of after.holders) {
          if (BEFORE.holders.has(code)) expect(holder).toBe(BEFORE.holders.get(code));
          else expect([...addresses(code)].map((email) => `id of ${email}`)).toEqual([holder]);
        }
        for (const [email, row] of after.partners) {
          if (BEFORE.partners.has(email)) continue;
          const own = lines.filter((line) => emailKey(line.input.email) === email);
          expect(own.some((line) => line.codes.includes(row.slug))).toBe(true);
          expect(
            row.commission_pct === null || own.some((line) => line.input.commission_pct === row.commission_pct),
          ).toBe(true);
          const groups = own.flatMap(({ group }) => (group === null ? [] : [`grp_${slugKey(group)}`]));
          expect(["grp", ...groups]).toContain(row.group_id);
        }
      }),
      { numRuns: 2_000 },
    );
  });
});

describe("an import of customers", () => {
  const known: KnownCustomers = (() => {
    const ann = { id: "ann", slug: "ann", email: "ann@x.example", payout_email: "paid@ann.example" };
    const bob = { id: "bob", slug: "bob", email: "Bob@x.example", payout_email: null };
    return {
      byCode: new Map([ann, bob].map((row) => [row.slug, row])),
      byEmail: new Map([ann, bob].map((row) => [emailKey(row.email), row])),
      holders: new Map([
        ["provider_a customer cus_held", ["bob"]],
        ["provider_a email held@x.example", ["bob"]],
      ]),
      addresses: new Map([
        ["provider_a customer cus_bob", "b.o.b+shop@x.example"],
        ["provider_a customer cus_led", "Held@x.example"],
      ]),
    };
  })();
  const line = fc.record({
    subject: fc.constantFrom("cus_1", "cus_2", "cus_held", "cus_bob", "cus_led", "jo@x.example", "held@x.example"),
    customer_email: maybe("JO@x.example", "ann+1@x.example", "PAID@ann.example", "HELD@x.example"),
    codes: fc.uniqueArray(fc.constantFrom("ann", "ANN", "bob", "gone"), { maxLength: 2, selector: slugKey }),
    partner_email: maybe("ann@x.example", "BOB@x.example", "gone@x.example"),
    unreadable: maybe({ field: "code" as const, message: "not a slug" }),
  });
  const toCustomerLines = (drafts: readonly (typeof line extends fc.Arbitrary<infer T> ? T : never)[]) =>
    drafts.map(({ subject, customer_email, ...rest }, i): CustomerLine => {
      const scope = subject.includes("@") ? "email" : "customer";
      const own = scope === "email" ? subject.toUpperCase() : customer_email;
      return { line: i + 2, customer: { provider: "provider_a", scope, subject }, customer_email: own, ...rest };
    });
  /** All addresses of a customer, from the lines and from the known ones. */
  const addressesOf = (lines: readonly CustomerLine[], { customer }: CustomerLine) =>
    [
      known.addresses.get(identityKey(customer)),
      ...lines.filter((one) => one.customer.subject === customer.subject).map((one) => one.customer_email),
    ].flatMap((address) => (address ? emailKey(address) : []));
  const decide = (lines: readonly CustomerLine[], of = known) => allSlices(decideCustomerLines(lines, of)).result;
  const drafts = fc.array(line, { minLength: 1, maxLength: 5 });

  it("binds a customer only where all that its lines say leads to one partner, who is somebody else", () => {
    fc.assert(
      fc.property(drafts, (list) => {
        const lines = toCustomerLines(list);
        const { bindings } = decide(lines);
        for (const { line: bound, partner_id } of bindings) {
          const { subject, scope } = bound.customer;
          const addresses = addressesOf(lines, bound);
          // A payment is matched by id before its address, so the lines of the address apply to the id too.
          const own = lines.filter(
            (one) =>
              one.customer.subject === subject ||
              addresses.includes(one.customer.subject) ||
              (scope === "email" && addressesOf(lines, one).includes(subject)),
          );
          for (const { codes, partner_email, unreadable } of own) {
            expect(unreadable).toBeNull();
            const named = [
              ...codes.map((code) => code.toLowerCase()),
              ...(partner_email === null ? [] : [emailKey(partner_email).slice(0, 3)]),
            ];
            // A line without a partner does not assign the customer.
            expect(new Set(named)).toEqual(new Set([partner_id]));
          }
          if (partner_id === "ann") {
            for (const address of addresses) expect(["jo@x.example", "b.o.b+shop@x.example"]).toContain(address);
          } else if (addresses.includes("held@x.example")) expect(partner_id).toBe("bob");
          expect(["cus_held", "held@x.example"]).not.toContain(subject);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it("binds the same customers to the same partners in any order, and nothing the second time", () => {
    const bound = (bindings: ReturnType<typeof decide>["bindings"]) =>
      bindings.map(({ line: { customer }, partner_id }) => `${identityKey(customer)} ${partner_id}`).toSorted();
    fc.assert(
      fc.property(
        drafts.chain((list) =>
          fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length, maxLength: list.length })),
        ),
        ([list, shuffled]) => {
          const { bindings } = decide(toCustomerLines(list));
          expect(bound(decide(toCustomerLines(shuffled)).bindings)).toEqual(bound(bindings));
          const holders = new Map([
            ...known.holders,
            ...bindings.map(({ line: { customer }, partner_id }) => [identityKey(customer), [partner_id]] as const),
          ]);
          expect(decide(toCustomerLines(list), { ...known, holders }).bindings).toEqual([]);
        },
      ),
      { numRuns: 2_000 },
    );
  });
});
