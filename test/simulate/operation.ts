/** An operation: a call of the service, and its meaning to the model. */
import type { Chance } from "../../src/dev/chance.ts";
import type { Beside } from "./model-payouts.ts";
import type { Reply } from "./deployment.ts";
import type { Vendors } from "./vendors.ts";
import type { World } from "./world.ts";
import type { State } from "./model-state.ts";

export interface Operation {
  text: string;
  run: () => Promise<Reply>;
  /**
   * Its possible effects on the model, each changing the given state; false if the rules refuse it. A generation sees
   * more or less of concurrent operations.
   */
  effects: ((state: State, now: number, beside: Beside) => boolean | void)[];
  /** The purchases that it changes. */
  sales: string[];
  /** The payout that it moves. */
  payout?: string;
  /** Whether it frees rows of a payout with a debt. */
  frees?: boolean;
  /** Whether another event of the payment is waiting. */
  meets?: boolean;
  /** Whether it makes payouts or approves: it leaves out unsettled payments. */
  generates?: boolean;
  /** Whether it claims deliveries: a claim outlives the machine. */
  claims?: boolean;
  /** Whether a job continues it: no other operation runs until that is done. */
  goesOn?: boolean;
  /** Whether it is the only operation of its step. */
  isAlone?: boolean;
  /** Whether it switches the endpoint. */
  switches?: boolean;
  /** Sent again under the same key it must come to the same. */
  again?: () => Promise<Reply>;
  /** Whether it is sent again until it is answered for, before anything is compared. */
  insists?: boolean;
  /** After it the vendor sends its event no more. */
  arrived?: () => void;
}

/** The choices for operations. */
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
  /** Whether concurrent operations free commissions that are then settled. */
  isFreeing: boolean;
}

export type Maker = (scene: Scene, chance: Chance) => Operation | null;

let keys = 0;

/** Begins a run: its names and keys are those of its seed alone. */
export function restartKeys(): void {
  keys = 0;
}

/** A unique name or key. */
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
