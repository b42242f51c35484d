/** The mixed load, and its books: the requests, and the acknowledgements. */
import { setTimeout as sleep } from "node:timers/promises";
import type { RawService } from "../bench/raw-service.ts";
import { VENDOR_NAMES, type ListedVendor } from "../../src/providers/registry.ts";
import { signed } from "../support/signed.ts";
import { TEST_VENDORS } from "../support/vendors/index.ts";
import { SECRETS, type MixedPartner, type MixedWorld } from "./mixed-world.ts";
import type { Chance } from "../../src/dev/chance.ts";

/** One purchase of one customer, and the provider's reports of it. */
export interface Purchase {
  provider: ListedVendor;
  partner: MixedPartner;
  /** Provider A's customer, provider B's transaction: by which the service's rows are found. */
  key: string;
  /** The id of provider A's customer. */
  email: string | null;
  base_cents: number;
  /** Each of them describes the whole purchase. */
  events: VendorEvent[];
  refund: { event: VendorEvent; cents: number } | null;
  refundEvent: (cents: number) => Unsent;
  /** Refunded in full; a refunded one is not disputed, nor the other way around. */
  dispute: { opened: VendorEvent; lost: VendorEvent | null } | null;
  /** Null if the provider does not have it. */
  disputeEvents: { opened: Unsent; lost: Unsent } | null;
}

type Unsent = Omit<VendorEvent, "acknowledged" | "patient">;

export interface VendorEvent {
  provider: ListedVendor;
  id: string;
  body: string;
  acknowledged: boolean;
  /** Whether the provider sends it again until it is acknowledged. */
  patient: boolean;
}

/** A POST with an Idempotency-Key. */
export interface Creation {
  kind: "partner" | "commission" | "payouts" | "approve" | Move | "erase";
  path: string;
  key: string;
  body: string;
  /** Slug, note, payout or a purchase's key: identifies the made object. */
  mark: string;
  patient: boolean;
  answer: { status: number; body: string } | null;
}

/** A payout's requests, under the name of the path. */
export const MOVES = ["pay", "mark-paid", "cancel"] as const;
export type Move = (typeof MOVES)[number];

/** The owner's reference of a payment by hand. */
export const BY_HAND = "by hand";

export interface Patch {
  partner_id: string;
  value: string;
  acknowledged: boolean;
}

export class Books {
  readonly purchases: Purchase[] = [];
  readonly creations: Creation[] = [];
  readonly patches: Patch[] = [];
  /** Ids of commissions whose approval was acknowledged. */
  readonly approved = new Set<string>();
  /** Ids of commissions that were to be rejected; whether that was acknowledged. */
  readonly rejected = new Map<string, boolean>();
  /** Answers that no kill explains. */
  readonly unexpected: string[] = [];

  events(): VendorEvent[] {
    return this.purchases.flatMap(({ events, refund, dispute }) =>
      [...events, refund?.event, dispute?.opened, dispute?.lost].filter(
        (event) => event !== undefined && event !== null,
      ),
    );
  }
}

/** The process is gone, as the load sees it. */
export class Gone extends Error {}

interface Reply {
  status: number;
  headers: Headers;
  body: string;
}

export class Load {
  readonly books = new Books();
  /** Reported of every 2xx, at the moment it is known. */
  onAcknowledged: () => void = () => {};
  readonly #world: MixedWorld;
  readonly #chance: Chance;
  #service: RawService;
  #made = 0;

  constructor(world: MixedWorld, chance: Chance, service: RawService) {
    this.#world = world;
    this.#chance = chance;
    this.#service = service;
  }

  /** After a restart. */
  moveTo(service: RawService): void {
    this.#service = service;
  }

  /** Runs until the service is gone. */
  async run(): Promise<void> {
    const [first, second] = this.#world.partners;
    const turns = [
      ...Array.from({ length: 4 }, () => () => this.#pay()),
      ...Array.from({ length: 2 }, () => () => this.#create()),
      () => this.#patch(first!),
      () => this.#patch(second!),
      () => this.#payOut(),
      () => this.#decide(),
    ];
    await Promise.all(turns.map((turn) => this.#untilGone(turn)));
  }

  async send(event: VendorEvent): Promise<void> {
    const { provider, body } = event;
    const signature = await signed(provider, body, SECRETS[provider]);
    const path = `/webhooks/${provider}?program_id=${this.#world.program_id}`;
    const { status } = await this.#ask("POST", path, body, signature, [200]);
    if (status === 200) event.acknowledged = true;
  }

  /**
   * Sends a creation, or sends it again: under its key it must give the first answer. Within a minute of the death of
   * the request that took the key, it may also get that that one still runs.
   */
  async ask(creation: Creation): Promise<void> {
    const { path, key, body } = creation;
    const reply = await this.#api("POST", path, body, { "Idempotency-Key": key }, [200, 201, 409]);
    const { answer } = creation;
    if (reply.status === 409 && answer === null) {
      if (!/"(?:idempotency_conflict|invalid_transition)"/.test(reply.body)) this.#unexpected("POST", path, reply);
      // A final refusal: somebody else has moved it.
      if (reply.body.includes('"invalid_transition"')) creation.answer = { status: 409, body: "" };
      return;
    }
    if (answer === null) creation.answer = { status: reply.status, body: reply.body };
    else if (answer.status !== 409) {
      const isSame = reply.status === answer.status && reply.body === answer.body;
      if (!isSame || reply.headers.get("idempotent-replayed") !== "true") this.#unexpected("POST again", path, reply);
    }
  }

  async #untilGone(turn: () => Promise<void>): Promise<void> {
    try {
      for (;;) await turn();
    } catch (error) {
      if (!(error instanceof Gone)) throw error;
    }
  }

  /** A provider's turn: something new, or something again. */
  async #pay(): Promise<void> {
    const chance = this.#chance;
    const { purchases } = this.books;
    const open = this.books.events().filter(({ acknowledged, patient }) => !acknowledged && patient);
    if (open.length > 0 && chance.happens(0.5)) return this.send(chance.of(open));
    if (purchases.length > 0 && chance.happens(0.15)) return this.send(chance.of(chance.of(purchases).events));
    const recent = purchases.slice(-40);
    const disputed = recent.filter(({ dispute }) => dispute?.opened.acknowledged && dispute.lost === null);
    if (disputed.length > 0 && chance.happens(0.1)) {
      const { dispute, disputeEvents } = chance.of(disputed);
      dispute!.lost = this.#event(disputeEvents!.lost);
      return this.send(dispute!.lost);
    }
    const whole = recent.filter(
      ({ events, refund, dispute }) => refund === null && dispute === null && events.every((one) => one.acknowledged),
    );
    if (whole.length > 0 && chance.happens(0.3)) {
      const purchase = chance.of(whole);
      if (purchase.disputeEvents && chance.happens(0.3)) {
        purchase.dispute = { opened: this.#event(purchase.disputeEvents.opened), lost: null };
        return this.send(purchase.dispute.opened);
      }
      const cents = chance.whole(1, Math.floor(purchase.base_cents / 3));
      purchase.refund = { cents, event: this.#event(purchase.refundEvent(cents)) };
      return this.send(purchase.refund.event);
    }
    const purchase = this.#purchase();
    purchases.push(purchase);
    await Promise.all(purchase.events.map((event) => this.send(event)));
  }

  #purchase(): Purchase {
    const chance = this.#chance;
    const provider = chance.of(VENDOR_NAMES);
    const partner = chance.of(this.#world.partners);
    const { bodyOf, id_field, purchase } = TEST_VENDORS[provider];
    const bought = { ref: partner.slug, amount: chance.whole(300, 99_999), n: this.#made++ };
    const { key, email, events, refund, dispute } = purchase({ program: this.#world.program_id, ...bought }, chance);
    const of = (event: object): Unsent => {
      return { provider, id: String((event as Record<string, unknown>)[id_field]), body: bodyOf(event) };
    };
    return {
      ...{ provider, partner, key, email, base_cents: bought.amount, refund: null, dispute: null },
      events: events.map((event) => this.#event(of(event))),
      refundEvent: (cents) => of(refund(cents)),
      disputeEvents: dispute && { opened: of(dispute.opened), lost: of(dispute.lost) },
    };
  }

  #event(event: Unsent): VendorEvent {
    return { ...event, acknowledged: false, patient: this.#chance.happens(0.5) };
  }

  async #create(): Promise<void> {
    const chance = this.#chance;
    const earlier = this.books.creations.filter(({ kind }) => kind === "partner" || kind === "commission");
    const open = earlier.filter(({ answer, patient }) => answer === null && patient);
    if (open.length > 0 && chance.happens(0.3)) return this.ask(chance.of(open));
    const answered = earlier.filter(({ answer }) => answer !== null);
    if (answered.length > 0 && chance.happens(0.2)) return this.ask(chance.of(answered));
    const mark = `made${this.#made++}`;
    const body = chance.happens(0.5)
      ? { path: "/partners", body: { email: `${mark}@partners.example`, slug: mark } }
      : {
          path: "/commissions",
          body: { partner_id: chance.of(this.#world.partners).id, amount_cents: chance.whole(1, 5_000), note: mark },
        };
    await this.ask(this.#creation(body.path === "/partners" ? "partner" : "commission", body.path, body.body, mark));
  }

  #creation(kind: Creation["kind"], path: string, body: unknown, mark: string): Creation {
    const creation: Creation = {
      kind,
      path,
      key: `${kind} ${mark} ${this.#made++}`,
      body: JSON.stringify(body),
      mark,
      patient: this.#chance.happens(0.5),
      answer: null,
    };
    this.books.creations.push(creation);
    return creation;
  }

  /** One after another for each partner, so that the last value shows which of them were done. */
  async #patch(partner: MixedPartner): Promise<void> {
    const patch: Patch = { partner_id: partner.id, value: `Name ${this.#made++}`, acknowledged: false };
    this.books.patches.push(patch);
    await this.#api("PATCH", `/partners/${partner.id}`, JSON.stringify({ first_name: patch.value }), {}, [200]);
    patch.acknowledged = true;
    await sleep(this.#chance.whole(0, 30));
  }

  /** The owner's turn: approves, generates, pays. */
  async #payOut(): Promise<void> {
    const chance = this.#chance;
    const { body } = await this.#api("GET", "/commissions?status=pending&per_page=30", undefined, {}, [200]);
    const pending = (JSON.parse(body) as { data: { id: string; flagged: boolean }[] }).data;
    const ids = pending.filter(({ flagged }) => !flagged && chance.happens(0.7)).map(({ id }) => id);
    const [single, ...others] = ids;
    if (single !== undefined) {
      const reply = await this.#api("PATCH", `/commissions/${single}`, '{"status": "approved"}', {}, [200, 409]);
      if (reply.status === 200) this.books.approved.add(single);
    }
    if (others.length > 0) {
      const bulk = this.#creation("approve", "/commissions/bulk", { ids: others, status: "approved" }, "");
      await this.ask(bulk);
      const { data } = JSON.parse(bulk.answer?.body || '{"data": []}') as { data: { id: string; ok: boolean }[] };
      for (const { id, ok } of data) if (ok) this.books.approved.add(id);
    }
    const generation = this.#creation("payouts", "/payouts/generate", {}, "");
    await this.ask(generation);
    const { payouts } = JSON.parse(generation.answer?.body || '{"payouts": []}') as { payouts: { id: string }[] };
    for (const { id } of payouts) if (chance.happens(0.7)) await this.#move(id, "pay");
    await sleep(chance.whole(0, 100));
  }

  #move(id: string, move: Move): Promise<void> {
    const body = move === "mark-paid" ? { reference: BY_HAND } : {};
    return this.ask(this.#creation(move, `/payouts/${id}/${move}`, body, id));
  }

  /** The owner's other decisions, concurrent with payouts: each may come first. */
  async #decide(): Promise<void> {
    const chance = this.#chance;
    await chance.of([() => this.#reject(), () => this.#moveOpen(), () => this.#erase()])();
    await sleep(chance.whole(50, 200));
  }

  async #reject(): Promise<void> {
    const status = this.#chance.of(["pending", "approved"]);
    const { body } = await this.#api("GET", `/commissions?status=${status}&per_page=30`, undefined, {}, [200]);
    const { data } = JSON.parse(body) as { data: { id: string; kind: string; payout_id: string | null }[] };
    const free = data.filter(({ kind, payout_id }) => kind !== "clawback" && payout_id === null);
    if (free.length === 0) return;
    const { id } = this.#chance.of(free);
    const { rejected } = this.books;
    rejected.set(id, rejected.get(id) ?? false);
    const reply = await this.#api("PATCH", `/commissions/${id}`, '{"status": "rejected"}', {}, [200, 409]);
    if (reply.status === 200) rejected.set(id, true);
  }

  async #moveOpen(): Promise<void> {
    const { body } = await this.#api("GET", "/payouts?status=pending&per_page=30", undefined, {}, [200]);
    const { data } = JSON.parse(body) as { data: { id: string }[] };
    if (data.length > 0) await this.#move(this.#chance.of(data).id, this.#chance.of(MOVES));
  }

  /** Erases a customer and the provider's later reports. */
  async #erase(): Promise<void> {
    const known = this.books.purchases.filter(
      ({ email, events }) => email !== null && events.every(({ acknowledged }) => acknowledged),
    );
    if (known.length === 0 || this.#chance.happens(0.5)) return;
    const { key, email } = this.#chance.of(known);
    await this.ask(this.#creation("erase", "/customers/erase", { email }, key));
  }

  #api(method: string, path: string, body: string | undefined, headers: Record<string, string>, expected: number[]) {
    const authorization = `Bearer ${this.#world.api_key}`;
    return this.#ask(method, `/api/v1${path}`, body, { authorization, ...headers }, expected);
  }

  async #ask(
    method: string,
    path: string,
    body: string | undefined,
    headers: Record<string, string>,
    expected: number[],
  ): Promise<Reply> {
    let reply: Reply;
    try {
      const response = await fetch(this.#service.url + path, {
        method,
        headers: { "content-type": "application/json", ...headers },
        ...(body === undefined ? {} : { body }),
      });
      reply = { status: response.status, headers: response.headers, body: await response.text() };
    } catch (error) {
      throw new Gone("the service is gone", { cause: error });
    }
    if (reply.status < 300) this.onAcknowledged();
    if (!expected.includes(reply.status)) {
      this.#unexpected(method, path, reply);
      throw new Gone("an answer that nobody expected");
    }
    return reply;
  }

  #unexpected(method: string, path: string, reply: Reply): void {
    this.books.unexpected.push(`${method} ${path}: ${reply.status} ${reply.body.slice(0, 300)}`);
  }
}
