/**
 * What a stranger costs the others: reads of one program while forged webhooks of 1 MiB are sent to another over 64
 * connections. "64 connections of forged signatures with 1 MiB bodies may not lower the rate of API reads of another
 * program by more than a fifth."
 *
 * Sender, reader and runtime share the machine, so that sending alone slows the reads. What they are held against is
 * therefore reads beside the same sender, at the rate that the service let it reach, which sends to a bare Worker in a
 * runtime of its own that refuses at once and reads no body: the ratio is what the service itself spends. Reads with
 * nobody beside them are printed too. Rounds alternate.
 */
import { makeBenchWorld, readRequest, type BenchWorld } from "./cases.ts";
import { load, rawRequest, type LoadResult } from "./load.ts";
import type { RawService } from "./raw-service.ts";

const CONNECTIONS = 64;
const READERS = 16;
const BODY_BYTES = 1024 * 1024;
const GOAL = 0.8;
/** How long a sender runs before and after the reads are measured. */
const MARGIN_SECONDS = 1;

/** One address is refused by the limit of failures before its body is read; with many, bodies are read and verified. */
const SENDERS = { "one address": 1, "1,000 addresses": 1_000 };

export interface ForgedLine {
  case: string;
  /** Reads a second: alone, beside the sender to the bare Worker, and beside the sender to the service. */
  alone_rate: number;
  beside_rate: number;
  attacked_rate: number;
  /** The last to the one before, of the same round. */
  ratio: number;
  goal: number;
  p99: number;
  beside_p99: number;
  /** Forged webhooks that the service answered, a second, by status. */
  forged_rate: number;
  statuses: Record<string, number>;
}

interface Workers {
  bare: RawService;
  service: RawService;
}

export async function measureForged(workers: Workers, rounds: number, seconds: number): Promise<ForgedLine[]> {
  const [target, reader] = [await makeBenchWorld(workers.service.url), await makeBenchWorld(workers.service.url)];
  const lines: ForgedLine[] = [];
  for (const [name, addresses] of Object.entries(SENDERS)) {
    lines.push({
      case: `forged, ${name}`,
      ...(await compare(workers, { target, reader, addresses }, rounds, seconds)),
    });
  }
  return lines;
}

interface Scene {
  target: BenchWorld;
  reader: BenchWorld;
  addresses: number;
}

async function compare(workers: Workers, scene: Scene, rounds: number, seconds: number) {
  const { bare, service } = workers;
  const read = () => readFor(service, scene.reader, seconds);
  const attack = async (worker: RawService, rate?: number) => {
    const sending = send(worker, scene, seconds + 2 * MARGIN_SECONDS, rate);
    await new Promise((resolve) => setTimeout(resolve, MARGIN_SECONDS * 1000));
    return { reads: await read(), sent: await sending };
  };
  await read();
  const done: { alone: LoadResult; beside: LoadResult; attacked: LoadResult; sent: LoadResult }[] = [];
  let { sent: before } = await attack(service);
  for (let round = 0; round < rounds; round++) {
    const alone = await read();
    // Each comes first in turn; the rate of the sender is that of the attack before it.
    const first = round % 2 === 0 ? await attack(bare, before.rate) : null;
    const attacked = await attack(service);
    before = attacked.sent;
    const beside = first ?? (await attack(bare, before.rate));
    done.push({ alone, beside: beside.reads, attacked: attacked.reads, sent: attacked.sent });
  }
  const of = (value: (round: (typeof done)[number]) => number) => median(done.map(value));
  const statuses: Record<string, number> = {};
  for (const { sent } of done) {
    for (const [status, count] of Object.entries(sent.statuses)) statuses[status] = (statuses[status] ?? 0) + count;
  }
  return {
    alone_rate: of(({ alone }) => alone.rate),
    beside_rate: of(({ beside }) => beside.rate),
    attacked_rate: of(({ attacked }) => attacked.rate),
    ratio: of(({ attacked, beside }) => attacked.rate / beside.rate),
    goal: GOAL,
    p99: of(({ attacked }) => attacked.p99),
    beside_p99: of(({ beside }) => beside.p99),
    forged_rate: of(({ sent }) => sent.rate),
    statuses,
  };
}

function readFor({ port }: RawService, reader: BenchWorld, seconds: number): Promise<LoadResult> {
  return load({ port, connections: READERS, seconds, requests: [readRequest(reader)] });
}

/** Each with a signature of the right form and time, and wrong. */
function send({ port }: RawService, { target, addresses }: Scene, seconds: number, rate?: number): Promise<LoadResult> {
  const requests = Array.from({ length: addresses }, (_, n) =>
    rawRequest("POST", `/webhooks/provider_a?program_id=${target.program_id}`, {
      "Content-Type": "application/json",
      "Content-Length": String(BODY_BYTES),
      "CF-Connecting-IP": `198.18.${Math.floor(n / 250)}.${n % 250}`,
      "Provider-A-Signature": `t=${Math.floor(Date.now() / 1000)},v1=${"ab".repeat(32)}`,
    }),
  );
  const plan = { port, connections: CONNECTIONS, seconds, requests, body_bytes: BODY_BYTES };
  return load(rate === undefined ? plan : { ...plan, rate });
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

export function printForged({ goal, ...line }: ForgedLine): void {
  const rate = (value: number) => `${value.toFixed(0)}/s`;
  console.log(
    `${line.case.padEnd(24)} reads ${rate(line.attacked_rate)}, beside the same sender to a bare Worker ` +
      `${rate(line.beside_rate)}, alone ${rate(line.alone_rate)}: ratio ${line.ratio.toFixed(3)} (goal ≥ ${goal.toFixed(2)}); ` +
      `p99 ${line.p99.toFixed(1)} ms, beside ${line.beside_p99.toFixed(1)}; ` +
      `forged ${rate(line.forged_rate)} ${JSON.stringify(line.statuses)}`,
  );
}
