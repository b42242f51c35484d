/** Time, chance and cryptography of a simulated run, independent of the machine and its clock. */
import { createCipheriv, createDecipheriv, createHash, createHmac } from "node:crypto";
import { Chance } from "../../src/dev/chance.ts";
import { addByteReader } from "../../src/dev/stand-in/byte-reader.ts";
import type { Played } from "../../src/dev/stand-in/database.ts";

const REAL = { Date, setImmediate };

/** Monday, 5 January 2026. */
const START = Date.UTC(2026, 0, 5, 12);

interface Timer {
  id: number;
  at: number;
  fire: () => void;
}

let now = START;
let timers: Timer[] = [];
let nextTimer = 1;
let chance = new Chance(0);
/** Random values of SQLite alone. */
let minted = new Chance(0);

export const time = {
  get now(): number {
    return now;
  },
  advance(ms: number): void {
    now += ms;
  },
  /** Goes to the next timer and runs it; false without one. */
  fireNext(): boolean {
    const [next] = timers.toSorted((a, b) => a.at - b.at || a.id - b.id);
    if (!next) return false;
    timers = timers.filter((timer) => timer !== next);
    now = Math.max(now, next.at);
    next.fire();
    return true;
  },
};

/** Runs everything that does not wait for the played world. */
export async function breathe(): Promise<void> {
  for (let i = 0; i < 2; i++) await new Promise<void>((resolve) => REAL.setImmediate(resolve));
}

/** The same, if no event-loop turn is pending, which costs more than its work. */
export async function breatheLightly(): Promise<void> {
  for (let i = 0; i < 2; i++) await new Promise<void>((resolve) => process.nextTick(resolve));
}

/** Calls that wait for a moment wait forever. */
export function stopTimers(): void {
  timers = [];
}

/** Begins a run: the clock at its start, no timers, chance from the seed. */
export function restart(seed: number): void {
  now = START;
  timers = [];
  nextTimer = 1;
  chance = new Chance(seed);
  minted = new Chance(~seed);
}

/** Replaces SQLite's own functions of time and chance. */
export const played: Played = {
  random64: () =>
    BigInt.asIntN(64, (BigInt(chance.whole(0, 2 ** 32 - 1)) << 32n) | BigInt(chance.whole(0, 2 ** 32 - 1))),
  randomBytes: (length) => Uint8Array.from({ length }, () => minted.whole(0, 255)),
  now: () => now,
};

class PlayedDate extends REAL.Date {
  constructor(...given: unknown[]) {
    if (given.length === 0) super(now);
    else super(...(given as [number]));
  }

  static override now(): number {
    return now;
  }
}

function setPlayedTimeout(fire: (...args: unknown[]) => void, ms = 0, ...args: unknown[]): number {
  const id = nextTimer++;
  timers.push({ id, at: now + Math.max(0, ms), fire: () => fire(...args) });
  return id;
}

function clearPlayedTimeout(id: unknown): void {
  timers = timers.filter((timer) => timer.id !== id);
}

function fill<T extends ArrayBufferView | null>(array: T): T {
  if (array) {
    const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
    for (let i = 0; i < bytes.length; i++) bytes[i] = chance.whole(0, 255);
  }
  return array;
}

type Bytes = ArrayBuffer | ArrayBufferView;

function bytesOf(data: Bytes): Uint8Array {
  return ArrayBuffer.isView(data)
    ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
    : new Uint8Array(data);
}

interface Key {
  raw: Uint8Array;
}

interface AesGcm {
  iv: Bytes;
  additionalData?: Bytes;
}

const TAG_BYTES = 16;

/** The used part of it, run at once: the platform's own returns in any order. */
const subtle = {
  digest: async (_algorithm: string, data: Bytes) => exactly(createHash("sha256").update(bytesOf(data)).digest()),
  importKey: async (_format: string, raw: Bytes): Promise<Key> => ({ raw: Uint8Array.from(bytesOf(raw)) }),
  sign: async (_algorithm: string, key: Key, data: Bytes) =>
    exactly(createHmac("sha256", key.raw).update(bytesOf(data)).digest()),
  async encrypt({ iv, additionalData }: AesGcm, key: Key, data: Bytes) {
    const cipher = createCipheriv(cipherOf(key), key.raw, bytesOf(iv));
    if (additionalData) cipher.setAAD(bytesOf(additionalData));
    return exactly(Buffer.concat([cipher.update(bytesOf(data)), cipher.final(), cipher.getAuthTag()]));
  },
  async decrypt({ iv, additionalData }: AesGcm, key: Key, data: Bytes) {
    const all = bytesOf(data);
    const decipher = createDecipheriv(cipherOf(key), key.raw, bytesOf(iv));
    if (additionalData) decipher.setAAD(bytesOf(additionalData));
    decipher.setAuthTag(all.subarray(all.length - TAG_BYTES));
    return exactly(Buffer.concat([decipher.update(all.subarray(0, -TAG_BYTES)), decipher.final()]));
  },
};

function cipherOf({ raw }: Key): "aes-256-gcm" | "aes-128-gcm" {
  return raw.length === 16 ? ("aes-128-gcm" as const) : ("aes-256-gcm" as const);
}

function exactly(buffer: Buffer): ArrayBuffer {
  return Uint8Array.from(buffer).buffer;
}

const put = (target: object, name: string, value: unknown) =>
  Object.defineProperty(target, name, { value, configurable: true, writable: true });

addByteReader();
put(globalThis, "Date", PlayedDate);
put(globalThis, "setTimeout", setPlayedTimeout);
put(globalThis, "clearTimeout", clearPlayedTimeout);
put(globalThis, "scheduler", {
  wait: (ms: number) => new Promise<void>((resolve) => setPlayedTimeout(() => resolve(), ms)),
});
put(performance, "now", () => now - START);
put(Math, "random", () => chance.next());
put(crypto, "subtle", subtle);
put(crypto, "getRandomValues", fill);
put(crypto, "randomUUID", () => {
  const hex = [...fill(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
});
