/** A played outside world behind one `fetch`: a DNS over HTTPS resolver with a zone, and receivers by host name. */

/** The DNS records of a name. `status` is the DNS response code; a name that is not in the zone is NXDOMAIN. */
export interface ZoneEntry {
  A?: readonly string[];
  AAAA?: readonly string[];
  /** Aliases in order; the addresses are under the last one. */
  CNAME?: readonly string[];
  /** Response code for both look-ups, or for one of them. */
  status?: number | { A?: number; AAAA?: number };
}

/** One look-up, seen by a name that answers directly. `nth` counts look-ups of this name and type from 1. */
export interface Question {
  name: string;
  type: "A" | "AAAA";
  nth: number;
  signal: AbortSignal;
}

/** A name that is not plain data: a raw HTTP answer, another entry each time, or no answer at all. */
export type ZoneAnswer = (question: Question) => ZoneEntry | Response | Promise<ZoneEntry | Response>;

export interface ReceivedRequest {
  url: URL;
  method: string;
  headers: Headers;
  body: Uint8Array<ArrayBuffer>;
  text: string;
  redirect: string;
  signal: AbortSignal;
}

export type Receiver = (request: ReceivedRequest) => Response | Promise<Response>;

export interface OutsideWorld {
  fetch: (url: string, init?: RequestInit) => Promise<Response>;
  /** Every look-up, in order. */
  questions: { name: string; type: string }[];
  /** Every request that reached a receiver, in order. */
  requests: ReceivedRequest[];
}

export const RESOLVER_URL = "https://resolver.test/dns-query";

/** The hosts of the service that asks. */
export const OWN_HOSTS = { public_host: "service.example", worker_name: "affiliate-program-service" };

/** A public address without special meaning. */
export const PUBLIC_IPV4 = "93.184.215.14";
export const PUBLIC_IPV6 = "2606:2800:21f:cb07:6820:80da:af6b:8b2c";

const CODES = { A: 1, AAAA: 28, CNAME: 5 } as const;

/**
 * Plays the world. A receiver without an entry in the zone resolves to a public address; an IP address as host is not
 * looked up. A host without a receiver refuses the connection.
 */
export function playOutsideWorld(world: {
  zone?: Readonly<Record<string, ZoneEntry | ZoneAnswer>>;
  receivers?: Readonly<Record<string, Receiver>>;
}): OutsideWorld {
  const zone = new Map(Object.entries(world.zone ?? {}));
  const receivers = new Map(Object.entries(world.receivers ?? {}));
  const questions: OutsideWorld["questions"] = [];
  const requests: OutsideWorld["requests"] = [];

  async function answerDns(request: Request): Promise<Response> {
    const url = new URL(request.url);
    const name = url.searchParams.get("name") ?? "";
    const type = url.searchParams.get("type") === "AAAA" ? "AAAA" : "A";
    questions.push({ name, type });
    if (request.headers.get("accept") !== "application/dns-json")
      return new Response("not acceptable", { status: 406 });
    const nth = questions.filter((asked) => asked.name === name && asked.type === type).length;
    const entry = zone.get(name) ?? (receivers.has(name) ? { A: [PUBLIC_IPV4], AAAA: [PUBLIC_IPV6] } : { status: 3 });
    const found = typeof entry === "function" ? await entry({ name, type, nth, signal: request.signal }) : entry;
    return found instanceof Response ? found : dnsJson(name, type, found);
  }

  return {
    questions,
    requests,
    // A `function`, to fail as the platform's does when it is called as a method.
    fetch: async function (this: unknown, input: string, init?: RequestInit) {
      if (this !== undefined)
        throw new TypeError("Illegal invocation: function called with incorrect `this` reference.");
      const request = new Request(input, init);
      if (request.url.startsWith(RESOLVER_URL)) return await answerDns(request);
      const url = new URL(request.url);
      const receiver = receivers.get(url.hostname);
      if (receiver === undefined) throw new TypeError("Network connection refused.");
      const body = new Uint8Array(await request.arrayBuffer());
      const received: ReceivedRequest = {
        url,
        method: request.method,
        headers: request.headers,
        body,
        text: new TextDecoder().decode(body),
        redirect: request.redirect,
        signal: request.signal,
      };
      requests.push(received);
      return await receiver(received);
    },
  };
}

/** An answer in the JSON form of the public resolvers: aliases with their final dot, addresses under the last name. */
export function dnsJson(name: string, type: "A" | "AAAA", entry: ZoneEntry): Response {
  const status = typeof entry.status === "object" ? (entry.status[type] ?? 0) : (entry.status ?? 0);
  const answer: { name: string; type: number; TTL: number; data: string }[] = [];
  let owner = name;
  for (const alias of entry.CNAME ?? []) {
    answer.push({ name: owner, type: CODES.CNAME, TTL: 60, data: `${alias}.` });
    owner = alias;
  }
  for (const data of entry[type] ?? []) answer.push({ name: owner, type: CODES[type], TTL: 60, data });
  return Response.json(
    {
      Status: status,
      TC: false,
      RD: true,
      RA: true,
      AD: false,
      CD: false,
      ...(answer.length > 0 && { Answer: answer }),
    },
    { headers: { "content-type": "application/dns-json" } },
  );
}

/** A promise that never settles: a peer that hangs, and ignores every signal. */
export function never(): Promise<never> {
  return new Promise(() => undefined);
}

/** A body that sends one piece at once and one more every `everyMs`, until it is canceled. */
export function dripping(
  piece: string,
  everyMs: number,
): { body: ReadableStream<Uint8Array>; canceled: () => boolean } {
  const bytes = new TextEncoder().encode(piece);
  let canceled = false;
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(bytes),
    pull: async (controller) => {
      await new Promise((resolve) => setTimeout(resolve, everyMs));
      if (!canceled) controller.enqueue(bytes);
    },
    cancel: () => {
      canceled = true;
    },
  });
  return { body, canceled: () => canceled };
}

/** A body of `total` bytes in pieces of `piece` that counts the bytes read from it. */
export function counted(
  total: number,
  piece: number,
): {
  body: ReadableStream<Uint8Array>;
  taken: () => number;
  canceled: () => boolean;
} {
  let taken = 0;
  let canceled = false;
  const body = new ReadableStream<Uint8Array>(
    {
      pull: (controller) => {
        const size = Math.min(piece, total - taken);
        if (size === 0) return controller.close();
        taken += size;
        controller.enqueue(new Uint8Array(size).fill(0x61));
      },
      cancel: () => {
        canceled = true;
      },
    },
    { highWaterMark: 0 },
  );
  return { body, taken: () => taken, canceled: () => canceled };
}

/** Counts the Worker's concurrent pending calls. */
export function countPending(world: OutsideWorld) {
  const counter = { now: 0, most: 0 };
  return {
    counter,
    fetch: async (url: string, init?: RequestInit) => {
      counter.most = Math.max(counter.most, ++counter.now);
      try {
        const { fetch } = world;
        return await fetch(url, init);
      } finally {
        counter.now--;
      }
    },
  };
}
