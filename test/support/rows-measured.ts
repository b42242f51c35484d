/** Measures the rows that operations read in a small deployment and in the same one grown. */
import { env } from "cloudflare:workers";
import { expect } from "vitest";
import { foldSearchTexts } from "../../src/core/partners/search.ts";
import { newId } from "../../src/lib/id.ts";
import { HOUR, MINUTE } from "../../src/lib/time.ts";
import { repeatStory, run } from "./grown-program.ts";
import { serveAll } from "./jobs.ts";
import { playOutside } from "./payouts.ts";
import { makeProgram, testContext } from "./program.ts";
import { GROWING } from "./rows-growing.ts";
import { meter, newSubject, openWorld, type Operation, type World } from "./rows-world.ts";
import { SENDING_NOTHING } from "./unsent-routes.ts";
import { runClockFrom } from "./time.ts";

/** How much a deployment grows. */
export interface Growth {
  /** The number of stories in the program before. */
  small: number;
  /** The number of stories in the program after, and in one other program. */
  grown: number;
  /** The number of other programs after. */
  others: number;
}

/**
 * Rows an operation may read in addition by chance: up to 20 deliveries of a counted lane, and partners with common
 * parts of names.
 */
const SLACK = 40;
/** Both histories are longer than any page. */
const HISTORY = { small: 120, grown: 320 };

type Measured = Map<string, ReturnType<typeof meter.taken>>;

const UNSENT = new Set(Object.values(SENDING_NOTHING).flat());

/** An operation's name is its route and, after it, its variant. */
export function routeOf(name: string): string {
  return name.split(",")[0]!;
}

async function messagesOf({ program }: World): Promise<number> {
  const count = env.DB.prepare("select count(*) as n from messages where program_id = ?").bind(program.id);
  return (await count.first<number>("n"))!;
}

async function measure(world: World, groups: Record<string, Operation>[], history: number): Promise<Measured> {
  const measured: Measured = new Map();
  playOutside(world.vendor);
  // The story's partners are copied as they were made, a moment ago: a minute later the job has been there.
  await serveAll(foldSearchTexts(testContext()));
  for (const group of groups) {
    const subject = await newSubject(world, history);
    for (const [name, operation] of Object.entries(group)) {
      const sent = await messagesOf(world);
      meter.taken();
      await operation(subject);
      measured.set(name, meter.taken());
      // An endpoint of the story is subscribed to everything.
      if (UNSENT.has(routeOf(name))) expect([name, await messagesOf(world)]).toEqual([name, sent]);
    }
  }
  return measured;
}

async function grow(world: World, { small, grown, others }: Growth): Promise<void> {
  const now = Date.now();
  await repeatStory(world.story, small, grown);
  const neighbor = await openWorld();
  await repeatStory(neighbor.story, 0, grown);
  for (let i = 1; i < others; i++) {
    const { id } = await makeProgram();
    await run(
      `insert into webhook_endpoints (id, program_id, url, secret, events, active, created_at, updated_at)
      select ?, ?, 'https://others.example.com', secret, '["*"]', 1, '', '' from webhook_endpoints limit 1`,
      ...[newId("endpoint", now), id],
    );
  }
}

/** Measures groups of operations before and after a growth. Returns those that read too many more rows. */
export async function growingBeyond(groups: Record<string, Operation>[], growth: Growth) {
  // A second hour would split the counts of the story: everything stays within one.
  runClockFrom(Math.ceil(Date.now() / HOUR) * HOUR + 10 * MINUTE);
  const world = await openWorld();
  await repeatStory(world.story, 0, growth.small);
  const small = await measure(world, groups, HISTORY.small);
  await grow(world, growth);
  const grown = await measure(world, groups, HISTORY.grown);
  return [...grown].flatMap(([name, { rows, most }]) => {
    const before = small.get(name)!.rows;
    const { story = 0, delivery = 0, program = 0 } = GROWING[name] ?? {};
    const deliveries = delivery * (HISTORY.grown - HISTORY.small);
    const more = story * (growth.grown - growth.small) + deliveries + program * growth.others;
    return rows - before <= SLACK + more ? [] : [{ name, before, rows, most }];
  });
}
