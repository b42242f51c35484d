/** The scene of a webhook's occasion, and the common steps of several occasions. */
import { expect } from "vitest";
import { send } from "./every-event.ts";
import { sendA, sendBody } from "./ledger.ts";
import { makeCommissions, type makePayingProgram } from "./payouts.ts";
import { makePartner, type Reply } from "./program.ts";
import { sessionCompleted } from "./provider-a.ts";
import { saleAt } from "./sale.ts";
import { signInPartner, type Visitor } from "./visitor.ts";

export interface Scene extends Awaited<ReturnType<typeof makePayingProgram>> {
  /** The active partner. */
  slug: string;
  owner: Visitor;
  /** A call of the API that must go well. */
  api: (method: string, path: string, body?: unknown) => Promise<{ id: string }>;
}

/** Prepares an occasion. The returned function makes exactly one event. */
export type Occasion = (scene: Scene) => Promise<() => Promise<unknown>>;
/** Occasions of an audit event and of its webhook, by a description without the route. */
export type Occasions = Record<string, Occasion>;

/** How a change comes into the service. */
export type Way = "api" | "dashboard" | "portal" | "visitor" | "import" | "provider" | "job";

export const NEW = { email: "new@partners.example", slug: "new" };

/** A pending commission of the partner. */
export const pending = ({ program, partner_id }: Scene) =>
  makeCommissions(program, partner_id, [{ status: "pending" }]);
export const idOf = ([row]: { id: string }[]) => row!.id;

export async function well(reply: Reply<unknown> | Promise<Reply<unknown>>, status = 200): Promise<void> {
  const { status: got, body } = await reply;
  expect([got, body]).toEqual([status, body]);
}

/** An invited partner who is known by the payment of a customer, which waits for the partner. */
async function waited({ program }: Scene) {
  const partner = await makePartner(program, { slug: "waits" }, "invited");
  await well(sendA(program, sessionCompleted({ ref: "waits" })));
  return partner;
}

export const activated: Occasions = {
  "an invited partner is made active": async (scene) => {
    const { id } = await waited(scene);
    return () => scene.api("PATCH", `/partners/${id}`, { status: "active" });
  },
};
export const activatedByForm: Occasions = {
  "an invited partner is made active": async (scene) => {
    const { id } = await waited(scene);
    return () => send(scene.owner, `/dashboard/partners/${id}`, {}, "/activate");
  },
};
export const signedIn: Occasions = {
  "an invited partner signs in": async (scene) => {
    const { email } = await waited(scene);
    return () => signInPartner(email);
  },
};

/** Sells to a customer of the partner, ten minutes ago. Gives a time before that, and its day. */
export async function sold({ program, slug }: Scene) {
  const at = Date.now() - 600_000;
  const sale = saleAt("provider_a", { ref: slug, program: program.id, at: new Date(at) });
  await well(sendBody(program, "provider_a", sale));
  const of = (ms: number) => new Date(at - ms).toISOString();
  return { apply_from: of(600_000), day: of(86_400_000).slice(0, 10) };
}
