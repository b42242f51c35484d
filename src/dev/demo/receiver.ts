import { createHmac } from "node:crypto";
import { Webhook } from "standardwebhooks";
import { playOutsideWorld, RESOLVER_URL, type ReceivedRequest } from "../../../test/support/dns.ts";

/** A received webhook, and a check of its signatures with the secret from the create reply. */
export interface ReceivedWebhook {
  event: string;
  delivery_id: string;
  signed: boolean;
}

/** Plays the outside world of the demo's own service: a resolver, and one receiver that stores its webhooks. */
export class PlayedWorld {
  readonly resolver_url = RESOLVER_URL;
  readonly #requests: ReceivedRequest[];
  readonly #fetch: (url: string, init?: RequestInit) => Promise<Response>;

  constructor(host: string) {
    const { fetch, requests } = playOutsideWorld({ receivers: { [host]: () => new Response("thank you") } });
    this.#fetch = fetch;
    this.#requests = requests;
  }

  /** Answers the Worker's fetches. */
  readonly outbound = async (request: Request): Promise<Response> => {
    const { method, headers, redirect } = request;
    const body = method === "GET" || method === "HEAD" ? null : await request.arrayBuffer();
    const outside = this.#fetch;
    return outside(request.url, { method, headers: new Headers([...headers]), redirect, body });
  };

  received(secret: string): ReceivedWebhook[] {
    return this.#requests.map(({ headers, text }) => ({
      event: headers.get("x-service-event") ?? "",
      delivery_id: headers.get("x-service-delivery-id") ?? "",
      signed: isSigned(secret, headers, text),
    }));
  }
}

/** Verifies like a receiver: recomputes the plain signature, and checks the Standard Webhooks headers with that library. */
function isSigned(secret: string, headers: Headers, text: string): boolean {
  const hex = createHmac("sha256", secret).update(text).digest("hex");
  if (headers.get("x-service-signature") !== hex) return false;
  try {
    new Webhook(secret).verify(text, Object.fromEntries(headers));
    return true;
  } catch {
    return false;
  }
}
