/** Replaces the Worker in tests of its deploy alone: wrangler builds it at once. */
export class ClickCounter {
  readonly fetch = (): Response => new Response();
}

export default { fetch: () => new Response() };
