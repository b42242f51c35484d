/** Operations of people, vendors and crons: calls of the service, and their meaning to the model. */
import { claimsPrograms } from "../../src/providers/registry.ts";
import type { PartnerRules, ProgramRules } from "../../src/domain/rules.ts";
import type { Chance } from "../../src/dev/chance.ts";
import type { Reply } from "./deployment.ts";
import { setPartnerStatus, waitingFor } from "./model-partners.ts";
import { generate, generateMonth, isByTransfer, isReleased, movePayout, payPayout } from "./model-payouts.ts";
import { changeRules, putPartner } from "./model-rules.ts";
import { approveDue, flag, judge, settle, sum } from "./model.ts";
import { nextKey, patch, post, type Maker, type Operation, type Scene } from "./operation.ts";
import { BESIDE_MAKERS } from "./operations-beside.ts";
import { EXCHANGE_MAKERS } from "./operations-exchange.ts";
import { bounce, endFile, FILE_MAKERS, payHeld } from "./operations-files.ts";
import { comparedIn, moveOf, RULE_MAKERS } from "./operations-rules.ts";
import { time } from "./played-globals.ts";
import { LIST_KEYS, VENDOR_KEYS } from "./world.ts";
import type { State } from "./model-state.ts";

/** The nearest of several things, if any. */
function nearest<T extends { sale: string }>(all: readonly T[], near: string | null): readonly T[] {
  const own = all.filter(({ sale }) => sale === near);
  return own.length > 0 ? own : all;
}

function isDecided({ judgements }: State, sale: string): boolean {
  return Object.entries(judgements).some(([key, { status }]) => status !== "pending" && key.startsWith(`${sale} `));
}

const NOTHING = async (): Promise<Reply> => ({ status: 200, body: {} });

const deliver: Maker = ({ world, vendors, state, near }, chance) => {
  const isAgain = vendors.sent.length > 0 && chance.happens(0.15);
  const events = isAgain ? vendors.sent : vendors.waiting;
  // Later facts may change the basis of a decision.
  const late = chance.happens(0.3) ? events.filter(({ sale }) => isDecided(state, sale)) : [];
  const own = events.filter(({ sale }) => sale === near);
  const from = own.length > 0 ? own : late.length > 0 ? late : events.slice(-20);
  const event = from.length > 0 ? chance.of(from) : null;
  if (!event) return null;
  const atAny = claimsPrograms(event.provider);
  const atNeighbor = atAny && chance.happens(0.4);
  const run = () => world.vendorEvent(event.provider, event.body, atNeighbor ? world.neighbor : world.program);
  // Waiting facts join their payment with the answered event.
  return {
    text: `${event.text} arrives${isAgain ? " again" : ""}${atNeighbor ? " at the neighbor's address" : ""}`,
    run,
    ...(atAny ? { again: run, insists: true } : {}),
    effects: [(state, now) => event.learn(state, now)],
    sales: vendors.touchedBy(event),
    meets: vendors.waiting.some((one) => one !== event && one.sale === event.sale),
    arrived: () => {
      const at = vendors.waiting.indexOf(event);
      if (at >= 0) vendors.sent.push(...vendors.waiting.splice(at, 1));
    },
  };
};

const decide: Maker = ({ world, vendors, state, near }, chance) => {
  const rows = state.rows.filter(({ status, payout }) => (status !== "paid" && payout === null) || chance.happens(0.1));
  if (rows.length === 0) return null;
  const clawbacks = rows.filter(({ kind }) => kind === "clawback");
  // Unknown facts may come after the decision.
  const open = rows.filter(({ sale }) => vendors.waiting.some((event) => event.sale === sale));
  const preferred = chance.of([clawbacks, open, rows]);
  const from = preferred.length > 0 ? preferred : rows;
  const { id, sale, slug, status, kind } = chance.of(nearest(from, near));
  const what = status === "rejected" ? "reopen" : chance.of(["approve", "approve", "approve", "reject"] as const);
  const to = { approve: "approved", reject: "rejected", reopen: "pending" }[what];
  return {
    text: `${what} ${kind} of ${slug} for ${sale} (${id})`,
    ...patch(world, `/commissions/${id}`, { status: to }),
    effects: [
      (state, now) => {
        const row = state.rows.find((one) => one.id === id);
        return row ? judge(state, row, what, now) : false;
      },
    ],
    sales: [sale],
  };
};

const mark: Maker = ({ world, state }, chance) => {
  const rows = state.rows.filter(({ status, kind }) => status !== "paid" && kind !== "clawback");
  if (rows.length === 0) return null;
  const { id, sale, slug, reasons } = chance.of(rows);
  const flagged = reasons.length === 0;
  return {
    text: `${flagged ? "flag" : "clear"} ${slug} for ${sale} (${id})`,
    ...patch(world, `/commissions/${id}`, { flagged }),
    effects: [
      (state, now) => {
        const row = state.rows.find((one) => one.id === id);
        return row ? flag(state, row, flagged, now) : false;
      },
    ],
    sales: [sale],
  };
};

const approveAll: Maker = ({ world, state }, chance) => {
  const ids = state.rows.flatMap(({ id, status }) => (status === "pending" && id && chance.happens(0.7) ? [id] : []));
  if (ids.length === 0) return null;
  const chosen = ids.slice(0, 20);
  return {
    text: `approve ${chosen.length} commissions at once`,
    ...post(world, "/commissions/bulk", { ids: chosen, status: "approved" }),
    effects: [
      (state, now) => {
        for (const row of state.rows.filter((one) => one.id !== undefined && chosen.includes(one.id))) {
          if (row.reasons.length === 0) judge(state, row, "approve", now);
        }
      },
    ],
    sales: state.rows.filter(({ id }) => id !== undefined && chosen.includes(id)).map(({ sale }) => sale),
  };
};

const addManual: Maker = ({ world, ids }, chance) => {
  const slug = chance.of(Object.keys(ids));
  const amount_cents = chance.whole(-3_000, 6_000) || 1;
  const note = `manual ${nextKey()}`;
  return {
    text: `${amount_cents} for ${slug} by hand`,
    ...post(world, "/commissions", { partner_id: ids[slug], amount_cents, note }),
    effects: [
      (state, now) => {
        if (state.partners[slug]!.status !== "active") return false;
        state.rows.push({
          ...{ kind: "manual", slug, sale: "", currency: "USD", status: "pending", amount: amount_cents },
          ...{ payout: null, reasons: [], dismissed: [], created: now, approved: null },
          ...{ held: now, until: state.auto_approve_days === null ? null : now + state.auto_approve_days * 86_400_000 },
        });
        return true;
      },
    ],
    sales: [],
  };
};

const makePayouts: Maker = ({ world }, chance) => {
  const period_end = chance.happens(0.7) ? null : time.now - chance.whole(1, 40) * 86_400_000;
  const body = period_end === null ? {} : { period_end: new Date(period_end).toISOString() };
  return {
    text: `generate payouts${period_end === null ? "" : ` up to ${new Date(period_end).toISOString()}`}`,
    ...post(world, "/payouts/generate", body),
    effects: [(state, now, beside) => generate(state, { now, period_end: period_end ?? now, beside })],
    sales: [],
    generates: true,
  };
};

function heldBy({ rows, payouts }: State, payout: State["payouts"][number]): State["rows"] {
  return rows.filter((row) => row.payout !== null && payouts[row.payout] === payout);
}

/** Whether an open payout has a debt. */
function isOwedBack(state: State, payout: State["payouts"][number]): boolean {
  return heldBy(state, payout).some(({ sale, slug }) =>
    state.rows.some((row) => row.kind === "clawback" && row.sale === sale && row.slug === slug && row.payout === null),
  );
}

const movePayouts: Maker = ({ world, state, nearPayout }, chance) => {
  const open = state.payouts.filter(({ status }) => status !== "paid" && !isReleased(status));
  const near = state.payouts.filter(({ id }) => id !== undefined && id === nearPayout);
  const owing = open.filter((one) => isOwedBack(state, one));
  const free = owing.length > 0 && chance.happens(0.4) ? owing : open;
  const paid = state.payouts.filter(({ status }) => status === "paid");
  const isReturn = paid.length > 0 && chance.happens(0.1);
  const of = isReturn ? paid : near.length > 0 ? near : free.length > 0 && chance.happens(0.9) ? free : state.payouts;
  const chosen = of.length > 0 ? chance.of(of) : null;
  if (chosen?.id === undefined) return null;
  const { id, slug, amount } = chosen;
  const [verb, to] = isReturn
    ? (["returned", "returned"] as const)
    : chance.of([
        ["cancel", "canceled"],
        ["mark-paid", "paid"],
        ["pay", "processing"],
        ["pay", "processing"],
      ] as const);
  if (verb === "pay" && chance.happens(0.6)) world.upsetVendor(chance);
  const place = (of: State) => of.payouts.findIndex((one) => one.id === id);
  const moves: Operation["effects"] = [(state, now) => movePayout(state, place(state), to, now)];
  if (verb === "pay") {
    for (const result of ["failed", "paid"] as const) {
      moves.push((state, now) => payPayout(state, place(state), result, now));
    }
  }
  return {
    text: `${verb} ${id} of ${slug} (${amount})`,
    payout: id,
    frees: verb === "cancel" && owing.some((one) => one.id === id),
    ...post(world, `/payouts/${id}/${verb}`, verb === "returned" ? { reason: "closed" } : {}),
    effects: verb === "pay" && !isByTransfer(slug) ? [() => false] : moves,
    sales: heldBy(state, chosen)
      .toSorted((one, other) => one.created - other.created)
      .flatMap(({ sale }) => sale || []),
  };
};

/** A partner's next status: inactive ones soon become active. */
const TURNS = {
  active: ["deactivated", "deactivated", "invited"],
  deactivated: ["active", "active", "invited"],
  invited: ["active", "active", "deactivated"],
} as const;

const switchPartner: Maker = (scene, chance) => {
  const { world, state, ids } = scene;
  // Flows with conditions are the riskiest.
  const isCalled = chance.happens(0.4);
  const asked = isCalled ? comparedIn(state, "partner_slug").map((slug) => slug.replace("-2", "")) : [];
  const slug = chance.of(asked.length > 0 ? asked : Object.keys(ids));
  const change = (of: { [K in keyof PartnerRules]?: unknown }) => patch(world, `/partners/${ids[slug]}`, of);
  // A partner's inputs of payments, all played: one more does not compile without.
  const rules: Record<keyof PartnerRules, () => Operation> = {
    commission_pct: () => {
      const pct = chance.happens(0.3) ? null : chance.whole(0, 60);
      return {
        text: `${slug} gets ${pct ?? "the program's"} %`,
        ...change({ commission_pct: pct }),
        effects: [(state, now) => changeRules(state, now, { partner: [slug, pct] })],
        sales: [],
      };
    },
    status: () => {
      const status = chance.of(TURNS[state.partners[slug]!.status]);
      return {
        text: `${slug} turns ${status}`,
        ...change({ status }),
        effects: [(state, now) => setPartnerStatus(state, slug, status, now)],
        sales: status === "active" ? waitingFor(state, slug) : [],
      };
    },
    group_id: () => moveOf(scene, slug, chance),
    slug: () => {
      const called = state.partners[slug]!.called === slug ? `${slug}-2` : slug;
      return {
        text: `${slug} is called ${called}`,
        ...change({ slug: called }),
        effects: [(state, now) => void putPartner(state, slug, { called }, now)],
        sales: [],
      };
    },
  };
  if (isCalled) return rules.slug();
  return rules[chance.happens(0.4) ? chance.of(["commission_pct", "group_id"] as const) : "status"]();
};

const isPaying = ({ state }: Scene) =>
  state.payouts.some(({ status, slug }) => status === "processing" && isByTransfer(slug));

/** The present payables of partners by currency. */
function dueNow(state: State): number[] {
  const due = state.rows.filter(
    ({ status, payout, reasons }) => status === "approved" && payout === null && reasons[0] !== "disputed",
  );
  const amounts = [...Map.groupBy(due, ({ slug, currency }) => `${slug} ${currency}`).values()].map(sum);
  return amounts.filter((amount) => amount > 0);
}

/** A minimum, often exactly some partner's sum. */
function leastOf({ state }: Scene, chance: Chance): number {
  const amounts = dueNow(state);
  return amounts.length > 0 && chance.happens(0.7) ? chance.of(amounts) : chance.whole(0, 4_000);
}

/** One change for each of its fields. */
function eachOf<T extends object>(fields: T): Partial<T>[] {
  return Object.entries(fields).map(([name, value]) => ({ [name]: value }) as Partial<T>);
}

const changeProgram: Maker = (scene, chance) => {
  const { world } = scene;
  const key = { provider_a_api_key: chance.of(VENDOR_KEYS) };
  const listed = { provider_b_api_key: chance.of([...LIST_KEYS, null]) };
  const change: { [K in "default_commission_pct" | "min_payout_cents"]?: number } & {
    auto_approve_days?: number | null;
    attribution?: "first" | "last";
    provider_a_api_key?: string;
    provider_b_api_key?: string | null;
  } =
    isPaying(scene) && chance.happens(0.8)
      ? key
      : chance.of([
          key,
          listed,
          // A program's inputs of payments: one more does not compile until it is played.
          ...eachOf({
            default_commission_pct: chance.whole(0, 50),
            attribution: chance.of(["first", "last"] as const),
            code_precedence: chance.of(["link", "code"] as const),
            auto_approve_days: chance.happens(0.3) ? null : chance.whole(0, 20),
          } satisfies Record<keyof ProgramRules, unknown>),
          { min_payout_cents: chance.happens(0.5) ? 0 : leastOf(scene, chance) },
        ]);
  return {
    text: `the program changes: ${JSON.stringify(change)}`,
    ...patch(world, "/programs/me", change),
    effects: [
      (state, now) => {
        const { default_commission_pct: pct, attribution } = change;
        if (pct !== undefined) changeRules(state, now, { pct });
        if (attribution) changeRules(state, now, { attribution });
        if (change.auto_approve_days !== undefined) changeRules(state, now, { days: change.auto_approve_days });
        if (change.min_payout_cents !== undefined) state.min_payout_cents = change.min_payout_cents;
      },
    ],
    sales: [],
  };
};

const reprocess: Maker = ({ world, state }, chance) => {
  const known = Object.entries(state.sales).filter(([, { id }]) => id !== undefined);
  if (known.length === 0) return null;
  const [key, { id }] = chance.of(known);
  return {
    text: `reprocess ${key}`,
    ...post(world, `/payments/${id}/reprocess`, {}),
    effects: [(state, now) => settle(state, key, now, true)],
    sales: [key],
  };
};

const fireCron: Maker = (scene, chance) => {
  const { world } = scene;
  if (isPaying(scene) && chance.happens(0.6)) world.upsetVendor(chance);
  // The minute's lookups of open transfers.
  const crons = ["* * * * *", "17 3 * * *", "17 3 * * *", "23 0 1 * *"];
  const cron = isPaying(scene) && chance.happens(0.6) ? "* * * * *" : chance.of(["* * * * *", ...crons]);
  return {
    text: `cron ${cron}`,
    run: () => world.cron(cron).then(NOTHING),
    effects: cron.startsWith("*") ? MINUTE : cron.endsWith("1 * *") ? [() => {}, generateMonth] : [approveDue],
    sales: [],
    generates: true,
  };
};

type Effect = Operation["effects"][number];

/** A minute's cron also runs the overdue daily or monthly job; if both are, the month waits. */
const MINUTE: Effect[] = [() => {}, approveDue, generateMonth];

/** Several of them. */
export const MINUTES: Effect[] = [
  ...MINUTE,
  (state, now, beside) => {
    approveDue(state, now, beside);
    generateMonth(state, now, beside);
  },
];

const consume: Maker = ({ world }, chance) => {
  if (chance.happens(0.3)) world.refusals.push(...[500, 404].slice(0, chance.whole(1, 2)));
  return {
    text: "the queue is worked off",
    run: () => world.consume(chance).then(NOTHING),
    effects: [() => {}],
    sales: [],
    claims: true,
  };
};

const MAKERS: readonly [Maker, number][] = [
  [deliver, 40],
  [decide, 16],
  [mark, 3],
  [approveAll, 7],
  [addManual, 4],
  [makePayouts, 8],
  [movePayouts, 14],
  [switchPartner, 5],
  [changeProgram, 5],
  [reprocess, 2],
  [fireCron, 8],
  [consume, 5],
  ...BESIDE_MAKERS,
  ...RULE_MAKERS,
  ...FILE_MAKERS,
  ...EXCHANGE_MAKERS,
];
const WEIGHT = MAKERS.reduce((sum, [, weight]) => sum + weight, 0);

/** Some operation that makes sense in the scene. */
export function choose(scene: Scene, chance: Chance): Operation {
  // While a transfer is open it is looked up, and its key may go.
  if (isPaying(scene) && chance.happens(0.4)) {
    return (chance.happens(0.4) ? changeProgram : fireCron)(scene, chance)!;
  }
  // A partner with exactly the minimum is paid before it changes.
  if (dueNow(scene.state).includes(scene.state.min_payout_cents) && chance.happens(0.5)) {
    return makePayouts(scene, chance)!;
  }
  // A payout that may not be paid now.
  if (chance.happens(0.3)) {
    const operation = payHeld(scene, chance);
    if (operation) return operation;
  }
  // Money that was paid by a file comes back.
  if (chance.happens(0.15)) {
    const operation = bounce(scene, chance);
    if (operation) return operation;
  }
  // Two events of one payment that are settled at the same moment.
  if (scene.vendors.waiting.some(({ sale }) => sale === scene.near) && chance.happens(0.6)) {
    const operation = deliver(scene, chance);
    if (operation) return operation;
  }
  // Rows of a canceled payout are generated again during settling.
  if (scene.isFreeing && chance.happens(0.8)) return makePayouts(scene, chance)!;
  if (scene.nearPayout !== null && chance.happens(0.6)) {
    return (chance.happens(0.5) ? endFile(scene, chance) : null) ?? movePayouts(scene, chance)!;
  }
  for (;;) {
    let at = chance.next() * WEIGHT;
    const [make] = MAKERS.find(([, weight]) => (at -= weight) < 0) ?? MAKERS[0]!;
    const operation = make(scene, chance);
    if (operation) return operation;
  }
}
