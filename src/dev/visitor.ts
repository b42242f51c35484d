/** Sends a request to the service, and does not follow redirects. */
export type Send = (
  path: string,
  init: { method?: string; headers: Record<string, string>; body?: FormData },
) => Promise<Response>;

/** A browser without scripts: keeps cookies, and sends forms with the hidden fields of the page they are on. */
export class Visitor {
  readonly #send: Send;
  readonly #cookies = new Map<string, string>();
  /** The page that was last received. */
  html = "";

  constructor(send: Send) {
    this.#send = send;
  }

  async open(path: string): Promise<void> {
    await this.#request(path, {});
  }

  /** Sends the page's form with these fields, and opens the page that answers it. @throws if it is refused */
  async submit(path: string, fields: Record<string, string | string[]>): Promise<void> {
    const body = new FormData();
    const hidden = this.html.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g);
    for (const [, name = "", value = ""] of hidden) body.set(name, value);
    for (const [name, value] of Object.entries(fields)) {
      body.delete(name);
      for (const one of [value].flat()) body.append(name, one);
    }
    const response = await this.#request(path, { method: "POST", body });
    if (response.status >= 400) throw new Error(`POST ${path} answered ${response.status}.`);
    const answer = response.headers.get("location");
    if (answer !== null) await this.open(answer);
  }

  /** Signs in with a one-time link. */
  async signIn(link: string): Promise<void> {
    const token = new URL(link).searchParams.get("token") ?? "";
    await this.open(`/sign-in?token=${token}`);
    await this.submit("/sign-in/confirm", { token });
  }

  async #request(path: string, sent: { method?: string; body?: FormData }): Promise<Response> {
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await this.#send(path, { ...sent, headers: { cookie } });
    for (const line of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (/max-age=0/i.test(line)) this.#cookies.delete(name);
      else this.#cookies.set(name, value);
    }
    this.html = await response.text();
    return response;
  }
}
