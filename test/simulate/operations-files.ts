/** Operations with files of payouts, and with changes of payout destinations. */
import {
  applyResults,
  cancelFile,
  changeDestination,
  makeFile,
  payFile,
  releaseHold,
  type Results,
} from "./model-files.ts";
import { isByTransfer, isHeld, movePayout } from "./model-payouts.ts";
import { nextKey, patch, post, type Maker, type Operation, type Scene } from "./operation.ts";
import { time } from "./played-globals.ts";
import type { PayoutFile, State } from "./model-state.ts";

const EXPORTS = "/payouts/exports";

/** Currencies in which a file would have a payout. */
function currenciesOf({ payouts }: State, status: "pending" | "failed"): string[] {
  return payouts.flatMap((one) => (one.status === status && !isByTransfer(one.slug) ? [one.currency] : []));
}

const make: Maker = (scene, chance) => {
  const { state } = scene;
  const [pending, failed] = [currenciesOf(state, "pending"), currenciesOf(state, "failed")];
  const retry = failed.length > 0 && (pending.length === 0 || chance.happens(0.4));
  const from = retry ? failed : pending;
  return from.length === 0 || scene.world.hasBefore ? null : makeIn(scene, chance.of(from), retry);
};

function makeIn({ world }: Scene, currency: string, retry: boolean): Operation {
  return {
    text: `a file of the ${retry ? "failed" : "pending"} payouts in ${currency}`,
    ...post(world, EXPORTS, { format: "wallet", currency, ...(retry ? { retry } : {}) }),
    effects: [(state, now) => makeFile(state, { currency, retry }, now)],
    sales: [],
  };
}

/** A payout that would be paid by a file, and whose partner has a hold. */
function heldIn({ payouts, held }: State) {
  return payouts.find(
    ({ slug, status }) => status === "pending" && !isByTransfer(slug) && (held[slug] ?? 0) > time.now,
  );
}

/** Tries to pay a held payout. */
export const payHeld: Maker = (scene, chance) => {
  const { world, state } = scene;
  const found = heldIn(state);
  if (found?.id === undefined) return null;
  const { id, slug, amount, currency } = found;
  if (chance.happens(0.5)) return makeIn(scene, currency, false);
  return {
    text: `mark-paid ${id} of ${slug} (${amount}), which is held`,
    payout: id,
    ...post(world, `/payouts/${id}/mark-paid`, {}),
    effects: [
      (state, now) =>
        movePayout(
          state,
          state.payouts.findIndex((one) => one.id === id),
          "paid",
          now,
        ),
    ],
    sales: [],
  };
};

type Item = PayoutFile["items"][number];
type Known = PayoutFile & { id: string };

const isKnown = (file: PayoutFile): file is Known => file.id !== undefined;

/** A file: mostly an open one, and the one of the payout to which something else happens. */
function fileOf({ state, nearPayout }: Scene, chance: Parameters<Maker>[1]): Known | null {
  const known = state.files.filter(isKnown);
  const open = known.filter(({ status }) => status === "open");
  const near = open.filter(({ items }) => items.some(({ payout }) => state.payouts[payout]!.id === nearPayout));
  const from = near.length > 0 ? near : open.length > 0 && chance.happens(0.8) ? open : known;
  return from.length > 0 ? chance.of(from) : null;
}

/** The sales in a file, and one of its payouts. */
function touchedBy({ rows, payouts }: State, { items }: PayoutFile) {
  const held = new Set(items.map(({ payout }) => payout));
  const sales = rows.flatMap(({ payout, sale }) => (payout !== null && held.has(payout) && sale ? [sale] : []));
  return { sales: [...new Set(sales)], payout: payouts[items[0]!.payout]!.id! };
}

const placeOf = (state: State, id: string) => state.files.findIndex((file) => file.id === id);

/** Marks a file as paid, cancels it, or applies a result file. */
export const endFile: Maker = (scene, chance) => {
  const { world, state, isBeside } = scene;
  const file = fileOf(scene, chance);
  if (!file) return null;
  const { id, items } = file;
  const idOf = (payout: number) => state.payouts[payout]!.id ?? "";
  const what = chance.of(["paid", "cancel", ...(isBeside ? [] : ["results", "results"])]);
  if (what === "cancel") {
    return {
      text: `${id} is canceled`,
      ...post(world, `${EXPORTS}/${id}/cancel`, {}),
      effects: [(state, now) => cancelFile(state, placeOf(state, id), now)],
      ...touchedBy(state, file),
    };
  }
  if (what === "paid") {
    const except = items.flatMap(({ payout }) => (chance.happens(0.2) ? [payout] : []));
    return {
      text: `${id} is paid${except.length > 0 ? `, except ${except.map(idOf).join()}` : ""}`,
      ...post(world, `${EXPORTS}/${id}/paid`, { reference: `batch ${nextKey()}`, except: except.map(idOf) }),
      effects: [(state, now) => payFile(state, placeOf(state, id), except, now)],
      ...touchedBy(state, file),
    };
  }
  // Each return is a change of its own: of several, a failure could leave some.
  let returned = 0;
  // Whole files fail or are paid, too.
  const fate = chance.happens(0.5) ? chance.of(["paid", "failed"] as const) : null;
  const results = new Map(
    items.flatMap(({ payout, status }) => {
      const result = fate ?? chance.of(["paid", "paid", "failed", "pending"] as const);
      const isSaid =
        (fate !== null || chance.happens(0.8)) && (result !== "failed" || status !== "paid" || returned++ === 0);
      return isSaid ? [[payout, result] as const] : [];
    }),
  );
  return results.size === 0 ? null : reportIn(scene, file, results);
};

/** A payment that a result file had reported as paid is reported as failed by this or another one. */
export const bounce: Maker = (scene, chance) => {
  const { state, isBeside } = scene;
  if (isBeside) return null;
  const isBack = ({ payout, status }: Item) => status === "paid" && state.payouts[payout]!.status === "paid";
  const back = state.files.flatMap((file) =>
    isKnown(file) ? file.items.filter(isBack).map(({ payout }) => [file, payout] as const) : [],
  );
  if (back.length === 0) return null;
  const [file, payout] = chance.of(back);
  return reportIn(scene, file, new Map([[payout, "failed"]]));
};

function reportIn({ world, state }: Scene, file: Known, results: Results): Operation {
  const { id } = file;
  const lines = [...results].map(([payout, result]) => `${state.payouts[payout]!.id ?? ""},${result}`);
  return {
    text: `a result file of ${id}: ${lines.join("; ")}`,
    ...post(world, `${EXPORTS}/${id}/results`, `payout_id,status\n${lines.join("\n")}\n`),
    // Broken off, the rest is done by the same file again; until then its payouts are not another's to change.
    ...{ insists: true, isAlone: true },
    effects: [(state, now) => applyResults(state, placeOf(state, id), results, now)],
    ...touchedBy(state, file),
  };
}

const changeDetails: Maker = ({ world, state, ids, nearPayout }, chance) => {
  if (world.hasBefore) return null;
  const near = state.payouts.flatMap((one) => (one.id !== undefined && one.id === nearPayout ? [one.slug] : []));
  const isWaiting = ({ slug, status }: State["payouts"][number]) => status === "pending" && !isByTransfer(slug);
  const waiting = state.payouts.filter(isWaiting).map(({ slug }) => slug);
  const from = near.length > 0 ? near : chance.happens(0.7) && waiting.length > 0 ? waiting : Object.keys(ids);
  const slug = chance.of(from);
  return {
    text: `${slug} is paid elsewhere`,
    ...patch(world, `/partners/${ids[slug]}`, { payout_email: `${slug}-${nextKey()}@wallet.example` }),
    effects: [(state, now) => changeDestination(state, slug, now)],
    sales: [],
  };
};

const release: Maker = ({ world, state, ids }, chance) => {
  const held = Object.keys(ids).filter((slug) => isHeld(state, slug, time.now));
  if (held.length === 0) return null;
  const slug = chance.of(held);
  return {
    text: `the hold of ${slug} is released`,
    ...post(world, `/partners/${ids[slug]}/release-hold`, {}),
    effects: [(state, now) => releaseHold(state, slug, now)],
    sales: [],
  };
};

export const FILE_MAKERS: readonly [Maker, number][] = [
  [make, 9],
  [endFile, 9],
  [changeDetails, 3],
  [release, 3],
];
