import type { ServerResponse } from "node:http";

/** The failures of a call, by the answer: of the API, of a proxy before it, or of the network. */
export const FAILURES = [
  "refused",
  "too many",
  "broken",
  "page",
  "forbidding page",
  "missing page",
  "reset",
  "cut",
  "hangs",
  "token revoked",
] as const;
export type Failure = (typeof FAILURES)[number];

export interface Fault {
  how: Failure;
  /** Whether the call is carried out and only its answer fails. */
  is_done: boolean;
  /** Runs at that moment. */
  meanwhile?: () => void;
}

const ANSWERS: Record<Exclude<Failure, "reset" | "cut" | "hangs">, [status: number, body: object | string]> = {
  refused: [400, refusal(10013, "An unknown error has occurred.")],
  "too many": [429, refusal(971, "Please wait and consider throttling your request speed")],
  broken: [500, refusal(10013, "An unknown error has occurred.")],
  page: [502, "<!DOCTYPE html><title>502: Bad gateway</title>"],
  "forbidding page": [403, "<!DOCTYPE html><title>Sorry, you have been blocked</title>"],
  "missing page": [404, "<!DOCTYPE html><title>404: Not found</title>"],
  "token revoked": [401, refusal(10001, "Unable to authenticate request")],
};

function refusal(code: number, message: string): object {
  return { success: false, errors: [{ code, message }], messages: [], result: null };
}

/** Fails a call whose request was read. One that hangs is held until the other side goes. */
export function failAs(response: ServerResponse, { how, meanwhile }: Fault): void {
  meanwhile?.();
  if (how === "hangs") return;
  if (how === "reset") return void response.socket?.resetAndDestroy();
  if (how === "cut") {
    response.writeHead(200, { "content-type": "application/json", "content-length": "1000" });
    return void response.write('{"success":true,"result":', () => response.socket?.destroy());
  }
  const [status, body] = ANSWERS[how];
  const isPage = typeof body === "string";
  response.writeHead(status, {
    "content-type": isPage ? "text/html" : "application/json",
    ...(how === "too many" ? { "retry-after": "1" } : {}),
  });
  response.end(isPage ? body : JSON.stringify(body));
}
