/** The outside world in the process of the test, so that it outlives the service that is killed. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { OUTBOUND_CALL } from "../bench/raw-service.ts";

export interface Call {
  method: string;
  url: URL;
  headers: Headers;
  body: string;
}

export interface Answer {
  status: number;
  headers?: Headers;
  body?: string;
  /** Called once the answer is on its way. */
  onSent?: () => void;
}

export interface World {
  /** Used by `BASE_URL`. */
  outbound: string;
  /** Every call but the look-ups. */
  calls: Call[];
  /** Reported of every look-up. */
  onLookUp: () => void;
  /** Null leaves the call without an answer. */
  answer: (call: Call) => Answer | null | Promise<Answer | null>;
  close: () => void;
}

const PUBLIC_IPV4 = "93.184.215.14";

/** Every name resolves to a public address; every call is answered by `answer`. */
export async function openWorld(): Promise<World> {
  const server = createServer((request, response) => void handle(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const world: World = {
    outbound: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    calls: [],
    onLookUp: () => {},
    answer: () => ({ status: 204 }),
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const described = JSON.parse(decodeURIComponent(String(request.headers[OUTBOUND_CALL]))) as {
      method: string;
      url: string;
      headers: [string, string][];
    };
    const { method } = described;
    const url = new URL(described.url);
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    if (url.pathname === "/dns-query") {
      world.onLookUp();
      const isA = url.searchParams.get("type") === "A";
      const answers = isA ? [{ name: url.searchParams.get("name"), type: 1, TTL: 60, data: PUBLIC_IPV4 }] : [];
      response.setHeader("content-type", "application/dns-json");
      response.end(JSON.stringify({ Status: 0, TC: false, Answer: answers }));
      return;
    }
    const call = { method, url, headers: new Headers(described.headers), body: Buffer.concat(chunks).toString() };
    world.calls.push(call);
    const answer: Answer | null = await world.answer(call);
    if (answer === null) return;
    response.statusCode = answer.status;
    if (answer.headers) response.setHeaders(answer.headers);
    response.end(answer.body ?? "", answer.onSent);
  }
  return world;
}
