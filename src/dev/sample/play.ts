/** Plays the sample's year through the service. */
import type { Chance } from "../chance.ts";
import { Visitor } from "../visitor.ts";
import { beginAt, timeNow } from "../stand-in/clock.ts";
import type { PastService } from "../stand-in/service.ts";
import { emailOf, INVITED, LEFT, type Member } from "./cast.ts";
import { FLOWS, GROUPS, IBANS, SETTINGS } from "./program.ts";
import * as vendor from "./vendor-events.ts";
import { codeId, orderOf, yearBefore, type Sale, type Step, type Visit } from "./year.ts";

export interface MadeProgram {
  id: string;
  api_key: string;
}

export interface Played {
  service: PastService;
  admin_token: string;
  owner: { name: string; owner_email: string };
  /** The first and the last instant of the year, in ms. */
  begin: number;
  end: number;
  chance: Chance;
  onProgress: (done: number) => void;
  /** Returns the Worker's log lines since the last call. */
  takeLog: () => string[];
}

const BROWSER =
  "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Safari/605.1.15";

/** How long an e-mail may wait for its cron. */
const MOST_MINUTES = 60;

/** Creates the newcomer's program a year ago and plays all that happens in it since. */
export async function playYear(played: Played): Promise<MadeProgram> {
  const { service, begin, end, onProgress } = played;
  beginAt(begin);
  const year = await Year.begin(played);
  const steps = yearBefore(end, played.chance, year.program.id);
  let done = 0;
  for (const step of steps) {
    await service.until(step.at);
    await year.play(step);
    done += 1;
    onProgress(done / steps.length);
  }
  await service.until(end);
  await year.end();
  await service.cron();
  await service.idle();
  return year.program;
}

class Year {
  readonly program: MadeProgram;
  readonly #played: Played;
  readonly #service: PastService;
  readonly #secrets: Record<string, string>;
  readonly #partners = new Map<string, string>();
  #groups = new Map<string, string>();

  private constructor(played: Played, program: MadeProgram) {
    this.#played = played;
    this.#service = played.service;
    this.program = program;
    this.#secrets = { provider_a: crypto.randomUUID(), provider_b: crypto.randomUUID() };
  }

  static async begin(played: Played): Promise<Year> {
    const created = await played.service.json<{ program: { id: string }; api_key: string }>("/admin/programs", {
      ...{ method: "POST", bearer: played.admin_token, body: played.owner },
    });
    const year = new Year(played, { id: created.program.id, api_key: created.api_key });
    await year.#setUp();
    return year;
  }

  async #setUp(): Promise<void> {
    const { provider_a, provider_b } = this.#secrets;
    await this.#api("PATCH", "/programs/me", {
      ...SETTINGS,
      ...{ provider_a_webhook_secret: provider_a, provider_b_webhook_secret: provider_b },
    });
    for (const group of GROUPS) {
      this.#groups.set(group.slug, (await this.#api<{ id: string }>("POST", "/groups", group)).id);
    }
    for (const flow of FLOWS) await this.#api("POST", "/flows", flow);
  }

  /** The providers' secrets are the newcomer's to set. */
  async end(): Promise<void> {
    await this.#api("PATCH", "/programs/me", { provider_a_webhook_secret: null, provider_b_webhook_secret: null });
  }

  async play(step: Step): Promise<unknown> {
    switch (step.is) {
      case "join":
        return this.#join(step.member);
      case "visit":
        return this.#visit(step.visit);
      case "sale":
        return this.#sell(step.sale);
      case "renewal":
        return this.#renew(step.sale);
      case "refund":
        return this.#refund(step.sale, step.at, step.amount);
      case "dispute":
        return this.#send(vendor.disputeA(step.sale, step.at));
      case "lead":
        return this.#api("POST", "/track/lead", {
          ...{ external_id: step.id, ref: step.ref, customer: { id: `user-${step.id}`, email: step.email } },
        });
      case "bonus": {
        const { amount_cents, note } = step;
        return this.#api("POST", "/commissions", { partner_id: this.#partners.get(step.ref), amount_cents, note });
      }
      case "claim":
        return this.#claim(step.ref, step.order_id, step.grant);
      case "apply":
        return this.#apply();
      case "invite":
        return this.#api("POST", "/partners", { ...INVITED, metadata: this.#mark });
      case "leave":
        return this.#api("PATCH", `/partners/${this.#partners.get(LEFT)}`, { status: "deactivated" });
      case "cron":
        return this.#service.cron(step.cron);
      case "pay":
        return this.#pay(step.reference, step.only);
    }
  }

  /** The metadata of the sample's partners, with the sample's last instant. */
  get #mark(): { sample_until: string } {
    return { sample_until: new Date(this.#played.end).toISOString() };
  }

  async #join(member: Member): Promise<void> {
    const { first_name, last_name, slug, group, payout, code, rate, country } = member;
    const group_id = group && this.#groups.get(group);
    const { id } = await this.#api<{ id: string }>("POST", "/partners", {
      ...{ email: emailOf(member), first_name, last_name, slug, metadata: this.#mark },
      ...(group_id ? { group_id } : {}),
      ...(rate === undefined ? {} : { commission_pct: rate }),
    });
    this.#partners.set(slug, id);
    await this.#api("PATCH", `/partners/${id}`, { status: "active" });
    if (payout === "wallet") {
      await this.#api("PUT", `/partners/${id}/payout-details`, { method: "wallet", email: emailOf(member) });
    } else if (payout) {
      const home = IBANS[country] ? country : "DE";
      await this.#api("PUT", `/partners/${id}/payout-details`, {
        ...{ method: "bank_transfer", account_holder: `${first_name} ${last_name}`, country: home, currency: "EUR" },
        iban: IBANS[home],
      });
    }
    if (code === undefined) return;
    for (const provider of ["provider_a", "provider_b"]) {
      const provider_code_id = codeId(provider, member);
      await this.#api("POST", `/partners/${id}/codes`, { code, provider, provider_code_id });
    }
  }

  async #visit({ ref, landing, referrer, country }: Visit): Promise<void> {
    await this.#service.json("/click", {
      method: "POST",
      headers: { "content-type": "text/plain", "user-agent": BROWSER },
      body: JSON.stringify({ program_id: this.program.id, ref, landing, ...(referrer ? { referrer } : {}) }),
      place: { country },
    });
  }

  async #sell(sale: Sale): Promise<void> {
    if (sale.at_provider === "provider_a") return this.#send(...vendor.checkoutA(sale));
    if (sale.at_provider === "provider_b") return this.#send(vendor.customerB(sale), vendor.transactionB(sale));
    const { customer: id, email, amount: amount_cents, currency, product: product_id } = sale;
    await this.#api("POST", "/track/sale", {
      ...{ external_id: orderOf(sale), customer: { id, email }, amount_cents, currency, net_of_tax: true },
      ...(sale.ref === null ? {} : { ref: sale.ref }),
      items: [{ product_id, amount_cents }],
    });
  }

  async #renew(sale: Sale): Promise<void> {
    await this.#send(sale.at_provider === "provider_a" ? vendor.invoiceA(sale) : vendor.transactionB(sale));
  }

  async #refund(sale: Sale, at: number, amount: number): Promise<void> {
    if (sale.at_provider === "provider_a") return this.#send(vendor.refundA(sale, at, amount));
    if (sale.at_provider === "provider_b") return this.#send(vendor.refundB(sale, at, amount));
    const order = orderOf(sale);
    const refund = { external_id: `refund-${sale.id}`, sale_external_id: order, amount_cents: amount };
    await this.#api("POST", "/track/refund", refund);
  }

  async #send(...events: vendor.VendorEvent[]): Promise<void> {
    for (const { provider, body: event } of events) {
      const body = JSON.stringify(event);
      const [name, signature] = vendor.signatureOf(provider, body, this.#secrets[provider]!, timeNow());
      await this.#service.json(`/webhooks/${provider}?program_id=${this.program.id}`, {
        method: "POST",
        headers: { "content-type": "application/json", [name]: signature },
        body,
      });
    }
  }

  async #claim(ref: string, order_id: string, isGranted: boolean): Promise<void> {
    const partner = this.#newVisitor();
    const link = await this.#service.json<{ url: string }>("/admin/sign-in-links", {
      ...{ method: "POST", bearer: this.#played.admin_token, body: { email: emailOf({ slug: ref }) } },
    });
    await partner.signIn(link.url);
    await partner.open("/portal/claims");
    await partner.submit("/portal/claims", { order_id });
    if (!isGranted) return;
    await this.#service.until(timeNow() + 5 * 3_600_000);
    const { data } = await this.#api<{ data: { id: string }[] }>("GET", "/claims?status=open");
    await this.#api("POST", `/claims/${data[0]!.id}/grant`, {});
  }

  async #apply(): Promise<void> {
    const applicant = this.#newVisitor();
    const page = `/join/${this.program.id}`;
    await applicant.open(page);
    await this.#service.until(timeNow() + 90_000);
    this.#played.takeLog();
    await applicant.submit(page, {
      ...{ name: "Fatima Zahra Benali", email: "fatima@benali.example", website: "benali.example", terms: "on" },
      answer_0: "In my newsletter about small online shops, which has 4,200 readers, and in two podcasts.",
      answer_1: "A client of mine uses it.",
    });
    const [path, token] = await this.#mailedLink(/(\/join\/[^\s?]+)\?token=([\w-]+)/);
    await applicant.open(`${path}?token=${token}`);
    await applicant.submit(path, { token });
  }

  #newVisitor(): Visitor {
    return new Visitor((path, init) => this.#service.send(path, init));
  }

  /** Returns the parts of a link in the e-mails that the crons send: it may wait behind many others. */
  async #mailedLink(pattern: RegExp): Promise<[string, string]> {
    for (let minute = 0; minute < MOST_MINUTES; minute++) {
      await this.#service.cron();
      for (const line of this.#played.takeLog()) {
        const mail_id = /"mail_id":"(mail_\w+)"/.exec(line)?.[1];
        if (mail_id === undefined) continue;
        const text = await (await this.#service.send(`/dev/mails/${mail_id}/text`)).text();
        const [, path, token] = pattern.exec(text) ?? [];
        if (path !== undefined && token !== undefined) return [path, token];
      }
      await this.#service.until(timeNow() + 60_000);
    }
    throw new Error("An expected e-mail was not sent.");
  }

  async #pay(reference: string, only: "wallet" | null): Promise<void> {
    const list = `/payouts?status=pending&per_page=100${only === null ? "" : `&method=${only}`}`;
    const { data } = await this.#api<{ data: { id: string }[] }>("GET", list);
    for (const { id } of data) await this.#api("POST", `/payouts/${id}/mark-paid`, { reference });
  }

  #api<T = unknown>(method: string, path: string, body?: object): Promise<T> {
    const bearer = this.program.api_key;
    return this.#service.json<T>(`/api/v1${path}`, { method, bearer, ...(body === undefined ? {} : { body }) });
  }
}
