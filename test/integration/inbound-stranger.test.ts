/**
 * "Inbound webhooks: the form and the time of the signature header are judged before the body is read; where the URL
 * names the program the signature is verified before anything is parsed. What is refused this way costs no more than one
 * database read, and none once its address is over the limit." (contract-2 §2)
 */
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { newId } from "../../src/lib/id.ts";
import { makeProgram, SECRET_A, SECRET_B, type TestProgram } from "../support/program.ts";
import { bodyOfA, customerEvent, sessionCompleted, signA } from "../support/provider-a.ts";
import { bodyOfB, signB, transactionCompleted } from "../support/provider-b.ts";
import { limitOf, playLimiter, type PlayedLimiter } from "../support/rate-limits.ts";
import { eventually, inPlayedTime } from "../support/time.ts";
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
  /** Round trips to the database, after those that the answer does not wait for. */
  trips: number;
  /** Bytes of the body that were read. */
  read: number;
}

interface Options {
  provider?: "a" | "b";
  from?: string;
  header?: string | null;
  body?: string;
  /** Told, or not. */
  length?: number | null;
}

const forged = (provider: "a" | "b") =>
  provider === "a" ? `t=${nowSeconds()},v1=${"ab".repeat(32)}` : `ts=${nowSeconds()};h1=${"ab".repeat(32)}`;

/** Sends a body in pieces, of which the service reads as many as it wants. */
async function send(program_id: string | null, options: Options = {}): Promise<Sent> {
  const { provider = "a", from = VENDOR, body = "{}", header = forged(provider) } = options;
  const bytes = new TextEncoder().encode(body);
  const length = options.length === undefined ? bytes.length : options.length;
  let read = 0;
  const stream = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (read >= bytes.length) return controller.close();
        const piece = bytes.slice(read, read + 16_384);
        read += piece.length;
        controller.enqueue(piece);
      },
    },
    { highWaterMark: 0 },
  );
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
      body: stream,
    },
  );
  return { status: reply.status, code: reply.body.error?.code, trips: roundTrips.length, read };
}

const signed = async (body: string, secret = SECRET_A) => ({ body, header: await signA(body, secret) });
const large = "x".repeat(MIB);

describe("S7: what a stranger can make the service spend", () => {
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
    const told = await send(program.id, { body: large, length: MIB + 1 });
    expect(told).toEqual({ status: 413, code: "payload_too_large", trips: 0, read: 0 });
  });

  it("is one read for a wrong signature, and nothing of its body is parsed", async () => {
    const program = await makeProgram();
    const parse = vi.spyOn(JSON, "parse");
    const sent = await send(program.id, { body: `{"a": "${"x".repeat(1_000)}"}` });
    expect(parse.mock.calls.filter(([text]) => text.includes("xxx"))).toEqual([]);
    parse.mockRestore();
    expect(sent).toMatchObject({ status: 401, trips: 1 });
    const bare = await makeProgram({ provider_a_webhook_secret: null });
    expect(await send(bare.id, { body: large })).toMatchObject({ status: 409, trips: 1, read: 0 });
    expect(await send(newId("program", Date.now()), { body: large })).toMatchObject({ status: 404, trips: 1, read: 0 });
  });

  it("is limited: 30 failed signatures a minute for an address and program, then nothing, not even for a right one", async () => {
    const [program, other] = [await makeProgram(), await makeProgram()];
    const replies: Sent[] = [];
    for (let n = 0; n < 40; n++) replies.push(await send(program.id));
    expect(replies.map(({ status }) => status)).toEqual([
      ...Array.from({ length: LIMIT }, () => 401),
      ...Array.from({ length: 40 - LIMIT }, () => 429),
    ]);
    expect(await send(program.id, { body: large })).toEqual({ status: 429, code: "rate_limited", trips: 0, read: 0 });
    const right = await signed(bodyOfA(sessionCompleted({})));
    expect(await send(program.id, right)).toMatchObject({ status: 429, trips: 0, read: 0 });
    // Another program is not shut out by what this one's secret refuses, nor this one's events from elsewhere.
    expect((await send(other.id, right)).status).toBe(200);
    expect((await send(program.id, { ...right, from: "192.0.2.2" })).status).toBe(200);
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
    // A vendor whose owner mistyped the address asks for the same one again and again: that costs nothing, nor counts.
    for (let n = 0; n < 40; n++) expect(await send(unknown)).toMatchObject({ status: 404, trips: 0 });
    const trips: number[] = [];
    for (let n = 0; n < 40; n++) trips.push((await send(newId("program", Date.now()))).trips);
    expect(trips.reduce((sum, one) => sum + one, 0)).toBe(LIMIT);
    expect(await send(newId("program", Date.now()))).toEqual({ status: 429, code: "rate_limited", trips: 0, read: 0 });
    expect((await send(program.id, right)).status).toBe(200);
    expect((await send(newId("program", Date.now()), { from: "192.0.2.3" })).status).toBe(404);
  });

  it("of events that name their program themselves is limited for an address as well", async () => {
    const [program, other] = [await makeProgram(), await makeProgram()];
    const claiming = ({ id }: TestProgram) => ({
      provider: "b" as const,
      body: bodyOfB(transactionCompleted({ program: id })),
    });
    // By the claimed program first, so that one with a wrong secret does not shut out the others of the vendor's address.
    for (let n = 0; n < LIMIT; n++) expect((await send(null, claiming(program))).status).toBe(401);
    const right = claiming(other);
    const header = await signB(right.body, SECRET_B);
    expect(await send(null, claiming(program))).toMatchObject({ status: 429 });
    expect((await send(null, { ...right, header })).status).toBe(200);
    for (let n = 0; n <= LIMIT; n++) {
      expect(await send(null, claiming(program))).toMatchObject({ status: 429, trips: 0 });
    }
    expect(await send(null, { ...right, header, body: large })).toEqual({
      ...{ status: 429, code: "rate_limited", trips: 0, read: 0 },
    });
    // The program's own address does not share that.
    expect((await send(other.id, { ...right, header })).status).toBe(200);
  });
});

describe("S7: bodies larger than an API call's", () => {
  const SLOTS = 4;

  it("are read a few at a time, however many come at once, told or not; small ones go on beside them", async () => {
    const program = await makeProgram();
    const right = await signed(bodyOfA(customerEvent({})));
    let inside = 0;
    let most = 0;
    const body = () => {
      let pieces = 0;
      const pull = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
        if (pieces++ === 0) most = Math.max(most, ++inside);
        await scheduler.wait(2);
        if (pieces <= 16) return controller.enqueue(new Uint8Array(16_384));
        inside--;
        controller.close();
      };
      return new ReadableStream<Uint8Array>({ pull }, { highWaterMark: 0 });
    };
    const reading = Array.from({ length: 12 }, async (_, n) => {
      const headers = {
        "Provider-A-Signature": forged("a"),
        ...(n % 2 ? {} : { "content-length": String(256 * 1024) }),
      };
      const init = { method: "POST", headers, body: body() };
      return (await callWith({}, `/webhooks/provider_a?program_id=${program.id}`, init)).status;
    });
    expect((await send(program.id, right)).status).toBe(200);
    expect(new Set(await Promise.all(reading))).toEqual(new Set([401]));
    expect(most).toBe(SLOTS);
  });

  it("that do not come, hold nobody up for long: 400, and those that wait for their place 429", async () => {
    const program = await makeProgram();
    const hang = () =>
      new ReadableStream<Uint8Array>({ start: (controller) => controller.enqueue(new Uint8Array(10)) });
    const post = (stream: ReadableStream) =>
      callWith<{ error: { code: string } }>({}, `/webhooks/provider_a?program_id=${program.id}`, {
        method: "POST",
        headers: { "Provider-A-Signature": forged("a") },
        body: stream,
      });
    const replies = await inPlayedTime(() => Promise.all(Array.from({ length: SLOTS + 2 }, () => post(hang()))));
    const answers = replies.map(({ status, body }) => [status, body.error.code]).toSorted();
    expect(answers).toEqual([
      ...Array.from({ length: SLOTS }, () => [400, "invalid_json"]),
      ...Array.from({ length: 2 }, () => [429, "rate_limited"]),
    ]);
    const text = JSON.stringify({ ...customerEvent({}), filler: "x".repeat(200_000) });
    await eventually(async () => expect((await send(program.id, await signed(text))).status).toBe(200));
  });
});
