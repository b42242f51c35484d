/** Texts and times of a vendor's event that cannot be stored as they are: refused with their path, or left out. */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { MAX_EVENT_BYTES } from "../../src/core/inbound/take-event.ts";
import { bytesIn } from "../../src/lib/slices.ts";
import { VENDORS, VENDOR_NAMES, type ListedVendor } from "../../src/providers/registry.ts";
import { giveCode } from "../support/codes.ts";
import { ledgerOf, sendA, sendB, sendBody } from "../support/ledger.ts";
import { makePartner, makeProgram, type TestProgram } from "../support/program.ts";
import { invoicePaid, sessionCompleted } from "../support/provider-a.ts";
import { transactionCompleted } from "../support/provider-b.ts";
import { saleAt } from "../support/sale.ts";
import { TEST_VENDORS } from "../support/vendors/index.ts";
import { watchDatabase } from "../support/watched-database.ts";

const BROKEN = ["kate\0", "kate\ud800"];

async function programOfKate() {
  const program = await makeProgram();
  await makePartner(program, { slug: "kate" });
  return program;
}

describe("a vendor's event (IN-4)", () => {
  it.each(BROKEN)(
    "with an id that is no text of whole characters (%j) is refused, and leaves nothing",
    async (text) => {
      const program = await programOfKate();
      const reply = await sendA(program, sessionCompleted({ id: text, ref: "kate" }));
      expect(reply).toMatchObject({ status: 422, body: { error: { details: [{ path: "data.object.id" }] } } });
      expect((await ledgerOf(program)).payments).toEqual([]);
    },
  );

  it.each(BROKEN)("with such a reference (%j) is taken as if without it", async (text) => {
    const program = await programOfKate();
    const named = sessionCompleted({ ref: text, metadata: { service_ref: "kate" }, customer: "cus_1" });
    expect((await sendA(program, named)).body.outcome).toBe("commission");
    for (const provider of VENDOR_NAMES) {
      const sale = saleAt(provider, { ref: text, program: program.id });
      expect([provider, (await sendBody(program, provider, sale)).body.outcome]).toEqual([provider, "no_ref"]);
    }
    const bag = sessionCompleted({ ref: null, metadata: { service_ref: text } });
    expect((await sendA(program, bag)).body.outcome).toBe("no_ref");
  });

  it.each(BROKEN)("with such an address (%j) is taken without it", async (text) => {
    const program = await programOfKate();
    const reply = await sendA(program, sessionCompleted({ ref: "kate", email: `${text}@example.com` }));
    expect(reply.body.outcome).toBe("commission");
    expect((await ledgerOf(program)).commissions).toMatchObject([{ customer_email: null }]);
  });

  it("with an address that is longer than any is taken without it, for nobody could have it erased", async () => {
    const program = await programOfKate();
    const at = (length: number) => `${"a".repeat(length - 12)}@example.com`;
    for (const email of [at(321), at(320)]) await sendA(program, sessionCompleted({ ref: "kate", email }));
    const { commissions } = await ledgerOf(program);
    expect(commissions.map(({ customer_email }) => customer_email).toSorted()).toEqual([at(320), null]);
  });

  it.each(["9999-12-31T23:59:59-23:59", "0000-01-01T00:00:00+23:59"])(
    "of a time that is in no year of four digits (%s) is refused",
    async (occurred_at) => {
      const program = await programOfKate();
      const event = transactionCompleted({ ref: "kate", program: program.id, occurred_at });
      const reply = await sendB(program, event);
      expect(reply).toMatchObject({ status: 422, body: { error: { details: [{ path: "occurred_at" }] } } });
    },
  );
});

/** Each is longer in JSON, in bytes or in both than it is in characters, or is no text at all. */
const UNITS = { backslash: "\\", quote: '"', control: "\u0001", emoji: "\u{1f4b8}", surrogate: "\ud800", letter: "x" };

/** Makes the ids of the two events differ, and the order reference one that billing writes. */
const mark = (n: number) => `in_zq${n}zq`;

type Vendor = (typeof VENDORS)[number];
type Path = readonly string[];

function put(value: unknown, [step, ...rest]: Path, text: string): unknown {
  if (step === undefined) return text;
  const inner = put((value as Record<string, unknown>)[step], rest, text);
  return Array.isArray(value) ? value.with(Number(step), inner) : { ...(value as object), [step]: inner };
}

/** The places of an event whose text is in its facts. */
function placesOf(vendor: Vendor, event: object): Path[] {
  const visit = (value: unknown, at: Path): Path[] => {
    if (typeof value === "object" && value !== null) {
      return Object.entries(value).flatMap(([name, inner]) => visit(inner, [...at, name]));
    }
    if (typeof value !== "string") return [];
    const read = vendor.parse(put(event, at, mark(0)));
    return read.ok && JSON.stringify(read.event.facts).includes(mark(0)) ? [at] : [];
  };
  return visit(JSON.parse(JSON.stringify(event)), []);
}

/** Each place of each type of event once. */
function samplesOf(vendor: Vendor): { event: object; places: Path[] }[] {
  const seen = new Set<string>();
  return TEST_VENDORS[vendor.name as ListedVendor].samples.flatMap((event) => {
    const { type, event_type = type } = event as { type?: string; event_type?: string };
    const places = placesOf(vendor, event).filter((at) => seen.size < seen.add([event_type, ...at].join(" ")).size);
    return places.length === 0 ? [] : [{ event, places }];
  });
}

function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

describe.each(VENDORS)("a text of an event of $name", (vendor) => {
  const name = vendor.name as ListedVendor;
  const samples = samplesOf(vendor);
  const withId = (event: object, n: number) => put(event, [TEST_VENDORS[name].id_field], mark(n));
  /** The status of the answer, after a check that no bound value exceeds D1's limit. */
  const send = async (program: TestProgram, event: unknown) => {
    const { binding, roundTrips } = watchDatabase(env.DB);
    const { status } = await sendBody(program, name, JSON.stringify(event), { DB: binding });
    const longest = Math.max(...roundTrips.flat().flatMap(({ values }) => values.map((one) => bytesIn(String(one)))));
    return longest > 2_000_000 ? `${longest} bytes` : status;
  };
  const isRead = (event: unknown) => vendor.parse(JSON.parse(JSON.stringify(event))).ok;

  /** The event with the text repeated until the event is `most` bytes long. */
  const lengthened = (event: unknown, at: Path, unit: string, most: number) => {
    const room = most - bytesIn(JSON.stringify(put(event, at, "in_")));
    return put(event, at, `in_${unit.repeat(Math.floor(room / (bytesIn(JSON.stringify(unit)) - 2)))}`);
  };

  it("keeps no event out that is as long as it may be, unless it is an id (IN-2)", async () => {
    const program = await programOfKate();
    const units = Object.entries(UNITS);
    let stored = 0;
    for (const { event, places } of samples) {
      for (const at of places) {
        const own = withId(event, stored);
        const read = units.map(([, unit]) => vendor.parse(lengthened(own, at, unit, 20_000)));
        if (!read[0]!.ok) {
          const isIdOf = (length: number) => isRead(put(own, at, "x".repeat(length)));
          expect([at.join("."), isIdOf(255), isIdOf(256)]).toEqual([at.join("."), true, false]);
          continue;
        }
        // Its facts are short for every unit, so one event is sent to be stored, with each unit in turn.
        const longest = read.map((one) =>
          one.ok ? Math.max(...textsIn(one.event.facts).map(({ length }) => length)) : one,
        );
        expect([at.join("."), longest]).toEqual([
          at.join("."),
          longest.map(() => expect.toSatisfy((one) => one <= 255)),
        ]);
        const [kind, unit] = units[stored % units.length]!;
        const long = lengthened(own, at, unit, MAX_EVENT_BYTES);
        expect([at.join("."), kind, await send(program, long)]).toEqual([at.join("."), kind, 200]);
        stored++;
      }
    }
    expect(stored).toBeGreaterThan(units.length);
  });

  it.each(Object.entries(UNITS).filter(([unit]) => unit !== "surrogate"))(
    "may be as long as any that is kept, and all the others with it (IN-2): %s",
    async (_, unit) => {
      const program = await programOfKate();
      for (const [n, { event, places }] of samples.entries()) {
        const text = mark(n) + unit.repeat(Math.floor((255 - mark(n).length) / unit.length));
        const whole = places.reduce<unknown>((made, at) => put(made, at, text), withId(event, n));
        expect([places, await send(program, whole)]).toEqual([places, 200]);
      }
    },
  );
});

describe("a reference that is longer than any", () => {
  it("is none: a buyer's own data keeps no payment out (IN-2)", async () => {
    for (const ref of ["\\".repeat(100_000), "x".repeat(300_000), "x".repeat(256)]) {
      const program = await makeProgram();
      const { id } = await makePartner(program, { slug: "jane" });
      await giveCode(
        program,
        id,
        { code: "JANE20", provider: "provider_b", provider_code_id: "dsc_jane" },
        Date.now() - 60_000,
      );
      const data = { discount_id: "dsc_jane" };
      const reply = await sendB(program, transactionCompleted({ ref, customer: "ctm_1", subscription: "sub_1", data }));
      expect([ref.length, reply.status, reply.body.outcome]).toEqual([ref.length, 200, "commission"]);
    }
  });

  it("is one up to 255 characters, and many of them are stored (REF-1)", async () => {
    const program = await programOfKate();
    const ref = (n: number) => String.fromCharCode(n).padStart(255, "\u0001");
    const event = invoicePaid({ ref: "x", subscription: "sub_1", customer: "cus_1" });
    const data = Array.from({ length: 60 }, (_, n) => ({ metadata: { service_ref: ref(0x100 + n) } }));
    event.data.object["lines"] = { data };
    expect((await sendA(program, event)).body.outcome).toBe("unknown_ref");
    const [payment] = (await ledgerOf(program)).payments;
    expect(payment?.decision?.candidates?.map((one) => one.ref.length)).toEqual([
      1,
      ...Array.from({ length: 19 }, () => 255),
    ]);
  });
});
