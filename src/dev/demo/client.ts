export interface Reply<T> {
  status: number;
  headers: Headers;
  body: T;
}

/** Calls the service. A body that is not a string is sent as JSON, and a JSON reply is parsed. */
export async function call<T = Record<string, unknown>>(
  url: string,
  init: { method?: string; bearer?: string; headers?: Record<string, string>; body?: unknown } = {},
): Promise<Reply<T>> {
  const headers = new Headers(init.headers);
  if (init.bearer !== undefined) headers.set("authorization", `Bearer ${init.bearer}`);
  if (init.body !== undefined && !headers.has("content-type")) headers.set("content-type", "application/json");
  const response = await fetch(url, {
    method: init.method ?? "GET",
    headers,
    ...(init.body === undefined ? {} : { body: typeof init.body === "string" ? init.body : JSON.stringify(init.body) }),
  });
  const text = await response.text();
  const isJson = response.headers.get("content-type")?.includes("json") ?? false;
  return { status: response.status, headers: response.headers, body: (isJson ? JSON.parse(text) : text) as T };
}

/** Returns the body of a reply with this status. @throws with the whole reply if the status differs */
export function expectStatus<T>(reply: Reply<T>, status: number): T {
  if (reply.status !== status) throw new Error(`status ${reply.status}: ${JSON.stringify(reply.body)}`);
  return reply.body;
}

/** Compares two values. @throws if they differ */
export function expectSame(actual: unknown, expected: unknown, what: string): void {
  if (actual !== expected) throw new Error(`${what} is ${JSON.stringify(actual)}, not ${JSON.stringify(expected)}`);
}

/** Formats 2500 as `25.00 USD`: the demo pays in dollars, which have two decimals. */
export function dollars(cents: number): string {
  return `${(cents / 100).toFixed(2)} USD`;
}
