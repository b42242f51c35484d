import { sql, type SQL } from "drizzle-orm";
import { literal } from "../../db/client.ts";
import { selectRows, text } from "../../db/rows.ts";
import type { ProviderName } from "../../domain/provider-name.ts";
import { logLine, reasonOf } from "../../lib/log.ts";
import { iso, MINUTE } from "../../lib/time.ts";
import type { Ctx, ProgramCtx } from "../kernel/context.ts";
import type { Owner, Work } from "../kernel/work.ts";
import type { PaymentKey } from "../ledger/facts.ts";
import { settle } from "../ledger/settle.ts";
import { openProgram } from "../programs/programs.ts";
import { finishWithdrawal } from "./elsewhere.ts";
import { finishOpenEvents } from "./receive.ts";

/** Younger work belongs to the request that is doing it. */
const LEFT_AFTER = MINUTE;

/** The limit of one step, for one program and for all together. */
const ITEMS_AT_ONCE = 50;
const PROGRAMS_AT_ONCE = 20;

/** Unfinished work of a crash in one program, in random order: an item that always fails does not block the rest. */
interface Left<Item> extends Owner {
  items: Item[];
  program: ProgramCtx | null;
  /** The items that this run has begun, each once. */
  tried: Set<string>;
  failure: { error: unknown } | null;
}

interface OpenEvent {
  provider: ProviderName;
  event_id: string;
}

/** Finishes vendor events whose audit event a crash left unwritten (architecture, invariant 2). */
export function finishVendorEvents(ctx: Ctx): Work<Left<OpenEvent>> {
  const open = sql`select program_id, json_object('provider', provider, 'event_id', event_id) as item
    from provider_events indexed by provider_events_open
    where audit_event_id is null and received_at < ${iso(ctx.now - LEFT_AFTER)}`;
  return {
    cost: 60,
    due: async (after) => readLeft<OpenEvent>(ctx, open, sql`program_id > ${after}`),
    serve: async (left) =>
      finishNext(ctx, left, open, async (program, event) => {
        await finishWithdrawal(program, event.provider, event.event_id);
        return finishOpenEvents(program, [event]);
      }),
  };
}

/** Settles payments whose ledger a crash left behind their facts. */
export function settleUnsettled(ctx: Ctx): Work<Left<PaymentKey>> {
  const open = sql`select program_id, json_object('id', id, 'provider', provider,
      'provider_transaction_id', provider_transaction_id) as item
    from payments indexed by payments_unsettled
    where settled_revision < facts_revision and updated_at < ${iso(ctx.now - LEFT_AFTER)}`;
  return {
    cost: 40,
    due: async (after) => readLeft<PaymentKey>(ctx, open, sql`program_id > ${after}`),
    serve: async (left) => finishNext(ctx, left, open, settle),
  };
}

/** Groups the unfinished items by program. Their indexes are not by program: all items are read, and there are few. */
async function readLeft<Item>(ctx: Ctx, open: SQL, chosen: SQL): Promise<Left<Item>[]> {
  const rows = await selectRows(
    ctx.db,
    { key: text, items: text },
    sql`
    select program_id as key, json_group_array(json(item)) as items from (
      select program_id, item, row_number() over (partition by program_id order by random()) as place
      from (${open}) where ${chosen})
    where place <= ${literal(ITEMS_AT_ONCE)} group by program_id order by program_id limit ${literal(PROGRAMS_AT_ONCE)}`,
  );
  return rows.map(({ key, items }) => ({
    key,
    items: JSON.parse(items) as Item[],
    program: null,
    tried: new Set(),
    failure: null,
  }));
}

/** Finishes one item. @throws at the end, if an item could not be finished. */
async function finishNext<Item extends object>(
  ctx: Ctx,
  left: Left<Item>,
  open: SQL,
  finish: (program: ProgramCtx, item: Item) => Promise<unknown>,
): Promise<boolean> {
  const item = left.items.pop();
  if (item) {
    left.tried.add(JSON.stringify(item));
    try {
      left.program ??= await openProgram(ctx, left.key);
      await finish(left.program, item);
    } catch (error) {
      left.failure = { error };
      logLine("error", { what: "work left unfinished", program_id: left.key, ...item, reason: reasonOf(error) });
    }
    if (left.items.length > 0) return true;
  }
  const [rest] = await readLeft<Item>(ctx, open, sql`program_id = ${left.key}`);
  left.items = (rest?.items ?? []).filter((one) => !left.tried.has(JSON.stringify(one)));
  if (left.items.length > 0) return true;
  if (left.failure) throw left.failure.error;
  return false;
}
