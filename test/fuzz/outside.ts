/** Everything outside the service: a payment provider of many moods. */

const ANSWERS: (() => Response)[] = [
  () => json(200, { id: "acct_fuzz", object: "v2.core.account" }),
  () => json(200, { url: "https://connect.example/a", expires_at: "2030-01-01T00:00:00Z" }),
  () => json(200, { id: "tr_fuzz", object: "transfer", amount: 1, currency: "usd", destination: "acct_fuzz" }),
  () => json(200, { object: "list", data: [], has_more: false }),
  () => json(400, { error: { type: "invalid_request_error", code: "parameter_invalid", message: "No." } }),
  () => json(401, { error: { type: "invalid_request_error", message: "Invalid API Key provided" } }),
  () => json(500, { error: { type: "api_error" } }),
  () => json(200, null),
  () => json(200, { id: 5, data: "x", url: null }),
  () => new Response("<html>gateway</html>", { status: 502, headers: { "content-type": "text/html" } }),
  () => new Response("{", { status: 200 }),
  () => new Response(null, { status: 429, headers: { "retry-after": "x" } }),
  () => {
    throw new TypeError("connection lost");
  },
];

/** Answers in turn, for any request. */
export function outsideWorld(): typeof fetch {
  let asked = 0;
  return async () => {
    const answer = ANSWERS[asked++ % ANSWERS.length];
    return answer ? answer() : new Response();
  };
}

function json(status: number, body: unknown): Response {
  return Response.json(body, { status });
}
