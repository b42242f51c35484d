/**
 * The proxy of the local runtime is between a test and the Worker: it answers a request other than GET with 500 if its
 * kept-alive connection had just been closed. Such a request has not reached the Worker, and is sent again.
 */
const LOST = "Error: Network connection lost.";

/** The reply of `send`, which is sent again for as long as the proxy has lost it, four times at most. */
export async function carried<T>(send: () => Promise<T>, read: (reply: T) => Promise<[number, string]>): Promise<T> {
  for (let again = 0; ; again++) {
    const reply = await send();
    const [status, text] = await read(reply);
    if (again === 3 || status !== 500 || !text.startsWith(LOST)) return reply;
  }
}

const bare = fetch;

/** The global `fetch`, carried so; it can take its place. */
export function carriedFetch(...request: Parameters<typeof fetch>): Promise<Response> {
  return carried(
    () => bare(...request),
    async (reply) => [reply.status, reply.status === 500 ? await reply.clone().text() : ""],
  );
}
