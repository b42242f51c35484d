/**
 * Load over keep-alive connections, each sending its next request when the last is answered. Speaks HTTP/1.1 on raw
 * sockets: Node's own client costs as much as the Worker it would measure. Runs in a process of its own.
 */
import { spawn } from "node:child_process";
import { readFile, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export interface LoadPlan {
  port: number;
  connections: number;
  seconds: number;
  /** Raw requests, sent in turn and from the beginning again; `PLACE` in one becomes a number of its own. */
  requests: string[];
  /** So many bytes follow each request, which then has its own connection: the server may leave them unread. */
  body_bytes?: number;
  /** Requests per second over all connections, evenly; as fast as they are answered unless given. */
  rate?: number;
}

export interface LoadResult {
  /** Answers per second. */
  rate: number;
  answers: number;
  /** Milliseconds. */
  p50: number;
  p99: number;
  statuses: Record<string, number>;
}

/** Ten characters, so that a request keeps its length. */
export const PLACE = "0123456789".replaceAll(/./g, "~");

export function rawRequest(method: string, path: string, headers: Record<string, string>, body = ""): string {
  const all = { Host: "service.example", ...headers, ...(body ? { "Content-Length": Buffer.byteLength(body) } : {}) };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${path} HTTP/1.1\r\n${lines.join("")}\r\n${body}`;
}

let plans = 0;

export async function load(plan: LoadPlan): Promise<LoadResult> {
  const file = join(tmpdir(), `load-${process.pid}-${plans++}.json`);
  await writeFile(file, JSON.stringify(plan));
  try {
    const child = spawn(process.execPath, [fileURLToPath(import.meta.url), file], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const chunks: Buffer[] = await Array.fromAsync(child.stdout);
    return JSON.parse(Buffer.concat(chunks).toString()) as LoadResult;
  } finally {
    await rm(file, { force: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const plan = JSON.parse(await readFile(process.argv[2]!, "utf8")) as LoadPlan;
  process.stdout.write(JSON.stringify(await run(plan)));
  process.exit(0);
}

function run({ port, connections, seconds, requests, body_bytes = 0, rate }: LoadPlan): Promise<LoadResult> {
  const templates = requests.map((request) => {
    const bytes = Buffer.from(request);
    const places: number[] = [];
    for (let at = bytes.indexOf(PLACE); at >= 0; at = bytes.indexOf(PLACE, at + PLACE.length)) places.push(at);
    return { bytes, places };
  });
  const latencies: number[] = [];
  const statuses: Record<string, number> = {};
  let sent = Date.now() * 100;
  let next = 0;
  let over = false;
  const body = Buffer.alloc(body_bytes, "x");
  /** Between two requests of one connection. */
  const pause = rate === undefined ? 0 : (connections / rate) * 1000;
  const due = Array.from({ length: connections }, (_, turn) => performance.now() + (pause * turn) / connections);

  function open(turn: number): void {
    const socket = connect(port, "127.0.0.1").setNoDelay(true);
    let began = 0;
    let received = "";
    const send = (): void => {
      if (over || socket.destroyed) return;
      const { bytes, places } = templates[next++ % templates.length]!;
      const request = Buffer.from(bytes);
      if (places.length > 0) {
        const number = (sent++).toString(36).padStart(PLACE.length, "0").slice(-PLACE.length);
        for (const place of places) request.write(number, place);
      }
      began = performance.now();
      socket.write(request);
      if (body_bytes > 0) socket.write(body);
    };
    const sendWhenDue = (): void => {
      due[turn] = Math.max(due[turn]! + pause, performance.now());
      if (pause === 0) send();
      else setTimeout(send, Math.max(due[turn] - performance.now(), 0));
    };
    socket.on("connect", sendWhenDue);
    socket.on("error", (error: NodeJS.ErrnoException) => count(error.code ?? "error"));
    socket.on("close", () => over || open(turn));
    socket.on("data", (data) => {
      received += data.toString("latin1");
      const end = endOfAnswer(received);
      if (end < 0) return;
      count(received.slice(9, 12));
      latencies.push(performance.now() - began);
      received = received.slice(end);
      if (body_bytes > 0) socket.destroy();
      else if (!over) sendWhenDue();
    });
  }

  const count = (status: string): void => void (statuses[status] = (statuses[status] ?? 0) + 1);
  const started = performance.now();
  for (let i = 0; i < connections; i++) open(i);
  return new Promise((resolve) => {
    setTimeout(() => {
      over = true;
      const elapsed = (performance.now() - started) / 1000;
      const sorted = Float64Array.from(latencies).toSorted();
      const at = (share: number) => sorted[Math.floor(sorted.length * share)] ?? Number.NaN;
      resolve({ rate: sorted.length / elapsed, answers: sorted.length, p50: at(0.5), p99: at(0.99), statuses });
    }, seconds * 1000);
  });
}

/** The end of the first answer in `bytes`, or -1 while it is incomplete. */
function endOfAnswer(text: string): number {
  const head = text.indexOf("\r\n\r\n");
  if (head < 0) return -1;
  const headers = text.slice(0, head).toLowerCase();
  if (headers.includes("\r\ntransfer-encoding: chunked")) {
    const last = text.indexOf("\r\n0\r\n\r\n", head);
    return last < 0 ? -1 : last + 7;
  }
  const length = /\r\ncontent-length: (\d+)/.exec(headers)?.[1] ?? "0";
  const end = head + 4 + Number(length);
  return end <= text.length ? end : -1;
}
