/**
 * The form and the time of the signature header are checked before the body is read; if the URL names the program, the
 * signature is verified before the body is parsed. A refusal costs at most one database read, and no read if the address is
 * over its limit (IN-5, IN-10).
 */
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { newId } from "../../src/lib/id.ts";
import { SECOND } from "../../src/lib/time.ts";
import { makeProgram, SECRET_A, SECRET_B, type TestProgram } from "../support/program.ts";
import { bodyOfA, customerEvent, sessionCompleted, signA } from "../support/provider-a.ts";
import { bodyOfB, signB, transactionCompleted } from "../support/provider-b.ts";
import { limitOf, playLimiter, type PlayedLimiter } from "../support/rate-limits.ts";
import { inPlayedTime } from "../support/time.ts";
import { nowSeconds } from "../support/vendor.ts";
import { callWith, watchDatabase } from "../support/watched-database.ts";

const LIMIT = limitOf("RATE_LIMIT_FAILED_AUTH");
const MIB = 1024 * 1024;
const VENDOR = "192.0.2.1";

let failures: PlayedLimiter;
beforeEach(() => {
  failures = playLimiter(LIMIT);
});

interface Sent {
  status: number;
  code: string | undefined;
  retry_after?: string;
  /** Round trips to the database, without those after the reply. */
  trips: number;
  /** Bytes that were read from the body. */
  read: number;
}

interface Options {
  provider?: "a" | "b";
  from?: string;
  header?: string | null;
  body?: string;
  /** The declared content length; null to omit it. */
  length?: number | null;
  pieces?: Pieces;
}

const forged = (provider: "a" | "b") =>
  provider === "a" ? `t=${nowSeconds()},v1=${"ab".repeat(32)}` : `ts=${nowSeconds()};h1=${"ab".repeat(32)}`;

const PIECE = 16_384;

interface Stream {
  body: ReadableStream<Uint8Array>;
  /** Returns the number of bytes read. */
  read: () => number;
}

interface Pieces {
  piece?: number;
  /** After `at` bytes the body stops, or the connection breaks. */
  stop?: { at: number; by: "silence" | "break" };
  onRead?: (read: number) => Promise<void> | void;
}

/** A body in pieces, of which the service reads as many as it needs. The platform reads into its own buffer too. */
function inPieces(bytes: Uint8Array, { piece = PIECE, stop, onRead }: Pieces = {}): Stream {
  let read = 0;
  const pull = async (controller: ReadableByteStreamController) => {
    if (stop && read >= stop.at) {
      if (stop.by === "break") controller.error(new Error("The client is gone."));
      return stop.by === "silence" ? new Promise<void>(() => {}) : undefined;
    }
    if (read < bytes.length) {
      const next = bytes.slice(read, read + piece);
      read += next.length;
      await onRead?.(read);
      return controller.enqueue(next);
    }
    controller.close();
    controller.byobRequest?.respond(0);
  };
  return { body: new ReadableStream({ type: "bytes", pull }, { highWaterMark: 0 }), read: () => read };
}

/** Sends a body in pieces, of which the service reads as many as it needs. */
async function send(program_id: string | null, options: Options = {}): Promise<Sent> {
  const { provider = "a", from = VENDOR, body = "{}", header = forged(provider) } = options;
  const bytes = new TextEncoder().encode(body);
  const length = options.length === undefined ? bytes.length : options.length;
  const stream = inPieces(bytes, options.pieces);
  const { binding, roundTrips } = watchDatabase(env.DB);
  const reply = await callWith<{ error?: { code: string } }>(
    { DB: binding, RATE_LIMIT_FAILED_AUTH: failures },
    `/webhooks/provider_${provider}${program_id === null ? "" : `?program_id=${program_id}`}`,
    {
      method: "POST",
      headers: {
        "cf-connecting-ip": from,
        ...(length === null ? {} : { "content-length": String(length) }),
        ...(header === null ? {} : { [`Provider-${provider.toUpperCase()}-Signature`]: header }),
      },
      body: stream.body,
    },
  );
  const retry_after = reply.headers.get("retry-after");
  return {
    ...{ status: reply.status, code: reply.body.error?.code, trips: roundTrips.length, read: stream.read() },
    ...(retry_after === null ? {} : { retry_after }),
  };
}

const signed = async (body: string, secret = SECRET_A) => ({ body, header: await signA(body, secret) });
const large = "x".repeat(MIB);

describe("what a stranger can make the service spend (IN-5, IN-10)", () => {
  it.each([
    ["no header", null],
    ["an empty one", ""],
    ["no signature in it", "t=1"],
    ["none of the form", "v1=ab,hello"],
    ["one of another time", `t=${nowSeconds() - 301},v1=${"ab".repeat(32)}`],
    ["one of the future", `t=${nowSeconds() + 600},v1=${"ab".repeat(32)}`],
  ])("is nothing for %s: 401 without a database read, without a byte of the body", async (_, header) => {
    for (const id of [(await makeProgram()).id, newId("program", Date.now())]) {
      const sent = await send(id, { header, body: large, from: `198.51.100.${Math.random()}` });
      expect(sent).toMatchObject({ status: 401, code: "invalid_signature", read: 0 });
    }
  });

  it("is nothing for a program that cannot be one, and for a length that is too long", async () => {
    for (const [id, provider] of [
      [null, "a"],
      ["prog_x", "a"],
      ["prog_0000000000000000000000000I", "b"],
      ["", "b"],
    ] as const) {
      expect(await send(id, { provider, body: large })).toEqual({ status: 404, code: "not_found", trips: 0, read: 0 });
    }
    const program = await makeProgram();
    const declared = await send(program.id, { body: large, length: MIB + 1 });
    expect(declared).toEqual({ status: 413, code: "payload_too_large", trips: 0, read: 0 });
  });

  it("is one read for a wrong signature, and nothing of its body is parsed", async () => {
    const program = await makeProgram();
    const parse = vi.spyOn(JSON, "parse");
    const sent = await send(program.id, { body: `{"a": "${"x".repeat(1_000)}"}` });
    expect(parse.mock.calls.filter(([text]) => text.includes("xxx"))).toEqual([]);
    parse.mockRestore();
    // One read, and one write for the refusal, once a minute.
    expect(sent).toMatchObject({ status: 401, trips: 2 });
    expect(await send(program.id)).toMatchObject({ status: 401, trips: 1 });
    const bare = await makeProgram({ provider_a_webhook_secret: null });
    expect(await send(bare.id, { body: large })).toMatchObject({ status: 409, trips: 2, read: 0 });
    expect(await send(bare.id, { body: large })).toMatchObject({ status: 409, trips: 1, read: 0 });
    expect(await send(newId("program", Date.now()), { body: large })).toMatchObject({ status: 404, trips: 1, read: 0 });
  });

  it("is limited: 30 failed signatures a minute for an address and program, then nothing, not even for a right one (HTTP-26)", async () => {
    const [program, other] = [await makeProgram(), await makeProgram()];
    const replies: Sent[] = [];
    for (let n = 0; n < 40; n++) replies.push(await send(program.id));
    expect(replies.map(({ status }) => status)).toEqual([
      ...Array.from({ length: LIMIT }, () => 401),
      ...Array.from({ length: 40 - LIMIT }, () => 429),
    ]);
    expect(await send(program.id, { body: large })).toMatchObject({
      status: 429,
      code: "rate_limited",
      trips: 0,
      read: 0,
    });
    const right = await signed(bodyOfA(sessionCompleted({})));
    expect(await send(program.id, right)).toMatchObject({ status: 429, trips: 0, read: 0, retry_after: "60" });
    // Refusals of this program's secret do not block another program, nor this program's events from another address.
    expect((await send(other.id, right)).status).toBe(200);
    expect((await send(program.id, { ...right, from: "192.0.2.2" })).status).toBe(200);
    // The vendor repeats the event, and it is accepted after the minute.
    const later = await signed(bodyOfA(sessionCompleted({})));
    expect(await send(program.id, later)).toMatchObject({ status: 429, retry_after: "60" });
    failures.used.clear();
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 61 * SECOND });
    expect(await send(program.id, later)).toMatchObject({ status: 200 });
    vi.useRealTimers();
  });

  it("counts what was presented, malformed or late as well, and not who presents nothing", async () => {
    const program = await makeProgram();
    for (let n = 0; n < 35; n++) expect((await send(program.id, { header: null })).status).toBe(401);
    for (let n = 0; n <= LIMIT; n++) {
      const header = n % 2 === 0 ? "garbage" : `t=1,v1=${"ab".repeat(32)}`;
      expect((await send(program.id, { header })).status).toBe(n < LIMIT ? 401 : 429);
    }
    expect((await send(program.id, await signed("{}"))).status).toBe(429);
  });

  it("of unknown programs is one read for each, 30 a minute for an address; those that are here go on", async () => {
    const program = await makeProgram();
    const right = await signed(bodyOfA(customerEvent({})));
    expect((await send(program.id, right)).status).toBe(200);
    const unknown = newId("program", Date.now());
    expect(await send(unknown)).toMatchObject({ status: 404, trips: 1 });
    // A vendor with a mistyped address repeats its request many times, without a read and without counting toward the limit.
    for (let n = 0; n < 40; n++) expect(await send(unknown)).toMatchObject({ status: 404, trips: 0 });
    const trips: number[] = [];
    for (let n = 0; n < 40; n++) trips.push((await send(newId("program", Date.now()))).trips);
    expect(trips.reduce((sum, one) => sum + one, 0)).toBe(LIMIT);
    expect(await send(newId("program", Date.now()))).toMatchObject({
      status: 429,
      code: "rate_limited",
      trips: 0,
      read: 0,
    });
    expect((await send(program.id, right)).status).toBe(200);
    expect((await send(newId("program", Date.now()), { from: "192.0.2.3" })).status).toBe(404);
  });

  it("is one read for an event that claims one program and names what others may store", async () => {
    const program = await makeProgram();
    const claimed = transactionCompleted({ program: program.id, subscription: "sub_of_a_stranger" });
    const forgedEvent = { provider: "b" as const, body: bodyOfB(claimed) };
    // One read, and one write for the refusal, once a minute.
    expect(await send(null, forgedEvent)).toMatchObject({ status: 401, trips: 2 });
    expect(await send(null, forgedEvent)).toMatchObject({ status: 401, trips: 1 });
    const unknown = transactionCompleted({ program: newId("program", Date.now()), subscription: "sub_of_a_stranger" });
    expect(await send(null, { ...forgedEvent, body: bodyOfB(unknown) })).toMatchObject({ status: 404, trips: 1 });
  });

  it("of events that name their program themselves is limited for an address as well", async () => {
    const [program, other] = [await makeProgram(), await makeProgram()];
    const claiming = ({ id }: TestProgram) => ({
      provider: "b" as const,
      body: bodyOfB(transactionCompleted({ program: id })),
    });
    // The claimed program has its own limit, so its wrong secret does not block the others at the vendor's address.
    for (let n = 0; n < LIMIT; n++) expect((await send(null, claiming(program))).status).toBe(401);
    const right = claiming(other);
    const header = await signB(right.body, SECRET_B);
    expect(await send(null, claiming(program))).toMatchObject({ status: 429 });
    expect((await send(null, { ...right, header })).status).toBe(200);
    for (let n = 0; n <= LIMIT; n++) {
      expect(await send(null, claiming(program))).toMatchObject({ status: 429, trips: 0 });
    }
    expect(await send(null, { ...right, header, body: large })).toMatchObject({
      ...{ status: 429, code: "rate_limited", trips: 0, read: 0 },
    });
    // The program's own address has a separate limit.
    expect((await send(other.id, { ...right, header })).status).toBe(200);
  });
});

describe("bodies that nobody has vouched for (IN-12)", () => {
  const KIB = 1024;
  const event = (bytes: number) => {
    const text = JSON.stringify({ ...customerEvent({}), filler: "" });
    return text.replace('"filler":""', `"filler":"${"x".repeat(bytes - text.length)}"`);
  };

  const SIZES = [1 * KIB, 8 * KIB, 8 * KIB + 1, 64 * KIB, 64 * KIB + 1, 300 * KIB, MIB];
  const LENGTHS = { declared: 0, "not declared": null, "declared too short": -500, "declared too long": 500 } as const;
  const combinations = SIZES.flatMap((size) =>
    Object.entries(LENGTHS).flatMap(([declared, by]) =>
      [700, 5_000, MIB].map((piece) => ({ size, declared, by, piece: Math.max(piece, size / 200) })),
    ),
  );

  it("are taken when genuine, up to the limit, whatever length is declared and in whatever pieces they come", async () => {
    const program = await makeProgram();
    const answers: Record<string, number> = {};
    for (const { size, declared, by, piece } of combinations) {
      const length = by === null ? null : Math.min(size + by, MIB);
      const right = { ...(await signed(event(size))), length, pieces: { piece } };
      answers[`${size} ${declared} ${piece}`] = (await send(program.id, right)).status;
    }
    expect(Object.entries(answers).filter(([, status]) => status !== 200)).toEqual([]);
  });

  it.each([
    ["declared", MIB + 1],
    ["not declared", null],
    ["declared too short", 100],
  ])("are 413 above the limit, %s", async (_, length) => {
    const program = await makeProgram();
    const sent = await send(program.id, { ...(await signed("x".repeat(MIB + PIECE))), length });
    expect(sent).toMatchObject({ status: 413, code: "payload_too_large" });
    expect(sent.read).toBeLessThanOrEqual(MIB + PIECE);
  });

  it("are judged without waiting, small ones without a declared length as well, while large ones wait", async () => {
    const program = await makeProgram();
    const hung = await hang(program, 4);
    const looks = vi.spyOn(globalThis, "setTimeout");
    for (const length of [undefined, null]) {
      expect((await send(program.id, { ...(await signed(event(20 * KIB))), ...declared(length) })).status).toBe(200);
    }
    const waits = looks.mock.calls.filter(([, ms]) => ms === 250);
    looks.mockRestore();
    expect(waits).toEqual([]);
    await hung.end();
  });

  const declared = (length: number | null | undefined) => (length === undefined ? {} : { length });

  /** Waits until the four places are free again after bodies were refused. */
  async function cooled(program: TestProgram): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, 600));
    const right = await signed(event(100 * KIB));
    const sending = Array.from({ length: 4 }, (_, n) => send(program.id, { ...right, from: `198.19.${n}.1` }));
    for (const { status } of await Promise.all(sending)) expect(status).toBe(200);
  }

  /** Large bodies that stop after their start, each from its own network, until `end`. */
  async function hang(program: TestProgram, bodies: number) {
    const started = Array.from({ length: bodies }, () => Promise.withResolvers<void>());
    const over = Promise.withResolvers<void>();
    const sending = started.map(({ resolve }, n) => {
      const onRead = (read: number) => {
        if (read <= 80 * KIB) return;
        resolve();
        return over.promise;
      };
      return send(program.id, {
        ...{ body: "x".repeat(200 * KIB), from: `198.18.${n}.1`, pieces: { onRead } },
        ...declared(n % 2 ? null : undefined),
      });
    });
    await Promise.all(started.map(({ promise }) => promise));
    return {
      end: async () => {
        over.resolve();
        return (await Promise.all(sending)).map(({ status }) => status);
      },
    };
  }

  it("are refused unread at once, and a second late where they are declared to be large", async () => {
    const program = await makeProgram();
    const lateness: number[] = [];
    for (const length of [2 * KIB, null, 64 * KIB, 64 * KIB + 1, MIB]) {
      const timers = vi.spyOn(globalThis, "setTimeout");
      expect(await send(program.id, { header: null, body: large, length })).toMatchObject({ status: 401, read: 0 });
      lateness.push(timers.mock.calls.filter(([, ms]) => ms === 1_000).length);
      timers.mockRestore();
    }
    expect(lateness).toEqual([0, 0, 0, 1, 1]);
  });

  it("are held four at a time where they are large, however many come, declared or not; small ones go on", async () => {
    const program = await makeProgram();
    let inside = 0;
    let most = 0;
    const pieces = (): Pieces => ({
      onRead: async (read) => {
        // Past the bytes that are read before a body of unknown length counts as large.
        if (read === 6 * PIECE) most = Math.max(most, ++inside);
        await scheduler.wait(2);
        if (read === 16 * PIECE) inside--;
      },
    });
    const reading = Array.from({ length: 12 }, async (_, n) => {
      const from = `198.18.${n}.1`;
      return (
        await send(program.id, { body: event(256 * KIB), from, pieces: pieces(), ...declared(n % 2 ? null : 262_144) })
      ).status;
    });
    expect((await send(program.id, await signed(event(2 * KIB)))).status).toBe(200);
    expect(new Set(await Promise.all(reading))).toEqual(new Set([401]));
    expect(most).toBe(4);
  });

  it.each([
    ["network have half of the places", 2, () => "198.51.100.1"],
    ["site have three quarters of the places", 3, (n: number) => `2001:db8:b:${n}::1`],
  ])("of one %s: who holds all it can get keeps no other out (HTTP-12)", async (_, share, from) => {
    const program = await makeProgram();
    const silent = (__: unknown, n: number) =>
      send(program.id, {
        ...{ body: event(200 * KIB), from: from(n) },
        pieces: { stop: { at: 100 * KIB, by: "silence" } },
      });
    const replies = await inPlayedTime(async () => {
      const hung = Array.from({ length: 6 }, silent);
      const right = await signed(event(200 * KIB));
      expect((await send(program.id, { ...right, from: "198.51.100.200" })).status).toBe(200);
      const refused = await Promise.all(hung);
      await cooled(program);
      return refused;
    });
    const codes = replies.map(({ status, code }) => `${status} ${code}`).toSorted();
    expect(codes).toEqual([
      ...Array.from({ length: share }, () => "400 invalid_json"),
      ...Array.from({ length: 6 - share }, () => "429 rate_limited"),
    ]);
  });

  it("are bounded in bytes where they are small: 8 MiB in all, and half of them of one network", async () => {
    const program = await makeProgram();
    const over = Promise.withResolvers<void>();
    let held = 0;
    const small = (from: string) =>
      send(program.id, {
        ...{ body: "x".repeat(64 * KIB), from },
        pieces: {
          piece: 64 * KIB,
          onRead: () => {
            held += 64 * KIB;
            return over.promise;
          },
        },
      });
    const [fitting, late] = await inPlayedTime(async () => {
      const sending = ["203.0.113.1", "203.0.113.2"].flatMap((from) => Array.from({ length: 64 }, () => small(from)));
      const refused = await Promise.all([small("203.0.113.1"), small("203.0.113.3")]);
      over.resolve();
      return [await Promise.all(sending), refused];
    });
    expect(late.map(({ code, read }) => [code, read])).toEqual(Array.from({ length: 2 }, () => ["rate_limited", 0]));
    expect(fitting.map(({ read }) => read)).toEqual(Array.from({ length: 128 }, () => 64 * KIB));
    expect(held).toBe(8 * MIB);
  });

  it.each(["silence", "break"] as const)(
    "that do not come (%s) are 400, give their place back, and count as failures",
    async (by) => {
      const program = await makeProgram();
      for (const [size, length] of [
        [20 * KIB, undefined],
        [20 * KIB, null],
        [200 * KIB, undefined],
        [200 * KIB, null],
      ] as const) {
        failures.used.clear();
        const right = { ...(await signed(event(size))), ...declared(length) };
        await inPlayedTime(async () => {
          const broken = Array.from({ length: 4 }, (_, n) =>
            send(program.id, { ...right, from: `198.18.${n}.1`, pieces: { stop: { at: size / 2, by } } }),
          );
          for (const reply of await Promise.all(broken))
            expect(reply).toMatchObject({ status: 400, code: "invalid_json" });
          await cooled(program);
        });
        expect([...failures.used.values()]).toEqual([1, 1, 1, 1]);
      }
    },
  );
});
