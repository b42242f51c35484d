/** What an operation is: a call of the service, and what it means to the model. */
import type { Chance } from "../faults/random.ts";
import type { Beside } from "./model-payouts.ts";
import type { Reply } from "./deployment.ts";
import type { State } from "./model.ts";
import type { Vendors } from "./vendors.ts";
import type { World } from "./world.ts";

export interface Operation {
  text: string;
  run: () => Promise<Reply>;
  /**
   * What it may come to in the model, each changing the state it is given; false where the rules refuse it. A
   * generation sees more or less of what happens beside it.
   */
  effects: ((state: State, now: number, beside: Beside) => boolean | void)[];
  /** The purchases that it changes. */
  sales: string[];
  /** The payout that it moves. */
  payout?: string;
  /** Whether it frees what a payout holds, of which something is owed back. */
  frees?: boolean;
  /** Whether another event of the payment is waiting. */
  meets?: boolean;
  /** Whether it makes payouts or approves: it leaves out what is not settled. */
  generates?: boolean;
  /** Whether it claims deliveries: a claim outlives the machine. */
  claims?: boolean;
  /** Whether a job goes on with it: nothing else happens until that is done. */
  goesOn?: boolean;
  /** Whether it switches the endpoint. */
  switches?: boolean;
  /** Sent again under the same key it must come to the same. */
  again?: () => Promise<Reply>;
  /** Whether it is sent again until it is answered for, before anything is compared. */
  insists?: boolean;
  /** After it the vendor sends its event no more. */
  arrived?: () => void;
}

/** What operations are chosen from. */
export interface Scene {
  world: World;
  vendors: Vendors;
  /** One of the states in which the service may be. */
  state: State;
  /** Ids of partners by slug. */
  ids: Record<string, string>;
  /** Whether something else happens at the same moment. */
  isBeside: boolean;
  /** A purchase, and a payout, to which it happens. */
  near: string | null;
  nearPayout: string | null;
  /** Whether what happens at the same moment frees commissions that are then settled. */
  isFreeing: boolean;
}

export type Maker = (scene: Scene, chance: Chance) => Operation | null;

let keys = 0;

/** Begins a run: its names and keys are those of its seed alone. */
export function restartKeys(): void {
  keys = 0;
}

/** Of a name or key that nothing else has. */
export function nextKey(): number {
  return ++keys;
}

/** A POST under a key of its own, and the same again. */
export function post(world: World, path: string, body: object | string): Pick<Operation, "run" | "again"> {
  const headers = { "idempotency-key": `key-${nextKey()}` };
  const run = () => world.call("POST", `/api/v1${path}`, body, world.program.api_key, headers);
  return { run, again: run };
}

export const patch = (world: World, path: string, body: object) => ({
  run: () => world.call("PATCH", `/api/v1${path}`, body),
});
