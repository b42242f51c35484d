/** Visitors of partners' links, and the expected log and counts under any fault. */
import type { Chance } from "../../src/dev/chance.ts";
import type { PlayedDatabase } from "../../src/dev/stand-in/database.ts";
import { FIRST_SLUG } from "./history.ts";
import { time } from "./played-globals.ts";
import type { Reply } from "./deployment.ts";
import { CONTINENTS, type World } from "./world.ts";
import { LEFT_TO_ROLL_UP } from "../support/left-to-roll-up.ts";

/** A click that comes again under its id counts once, for so long (TRACK-12). */
const WINDOW = 1_800_000;
const REFS = ["ann", "ANN", "bob", "cara", "ivy", "dan", "dan", "nobody"];
const COLOS = ["FRA", "AMS"];
/** The platform's country codes; the last two are no countries. */
const COUNTRIES = ["DE", "NL", "T1", undefined];
/** Visitors come from where it is day. */
const DAYTIME = 14_400_000;
/** How long the answer of one click takes at most. */
const ANSWERED = 60_000;

interface Visit {
  landing: string;
  program: "program" | "neighbor";
  ref: string;
  /** Identifies a repetition; the page may omit it. */
  id: string | null;
  colo: string;
  continent: (typeof CONTINENTS)[number];
  country: string | undefined;
  bot: boolean;
  tries: { at: number; isTaken: boolean }[];
  /** The partner's statuses from the first try to the last flush. */
  statuses: Set<string>;
}

/** From `least` to `most`. */
type Range = [least: number, most: number];

const plus = (a: Range, b: Range): Range => [a[0] + b[0], a[1] + b[1]];

export class Visitors {
  readonly #visits: Visit[] = [];
  /** Clicks that are not completely in the log yet. */
  #open = new Set<Visit>();
  /** The clicks of each program that were accepted, tried and accounted for at the last check. */
  readonly #looked = new Map<string, Looked>();

  /** Somebody clicks, or a page reports a click again. */
  choose(world: World, chance: Chance): { text: string; run: () => Promise<Reply> } {
    const again = this.#visits.slice(-chance.of([2, 30])).filter((visit) => isClear(visit, time.now));
    const isAgain = again.length > 0 && chance.happens(0.4);
    const visit = isAgain ? chance.of(again) : this.#arrive(chance);
    const { landing, ref, id, colo, continent, country, bot } = visit;
    const tried = { at: time.now, isTaken: false };
    visit.tries.push(tried);
    this.#open.add(visit);
    const body = { program_id: world[visit.program].id, ref, landing, ...(id === null ? {} : { id }) };
    return {
      text: `a ${bot ? "bot" : "visitor"} of ${ref} at ${landing}${visit.program === "neighbor" ? " of the neighbor" : ""}${isAgain ? ", again" : ""}`,
      run: async () => {
        const reply = await world.click(body, { colo, continent, country, bot });
        tried.isTaken = reply.status === 202;
        return reply;
      },
    };
  }

  #arrive(chance: Chance): Visit {
    const n = this.#visits.length + 1;
    const visit: Visit = {
      landing: `/${n}`,
      program: chance.happens(0.9) ? "program" : "neighbor",
      ref: chance.of(REFS),
      id: chance.happens(0.7) ? `click-${n}` : null,
      colo: chance.of(COLOS),
      continent: CONTINENTS[Math.floor(time.now / DAYTIME) % CONTINENTS.length]!,
      country: COUNTRIES[n % COUNTRIES.length],
      bot: chance.happens(0.1),
      tries: [],
      statuses: new Set(),
    };
    this.#visits.push(visit);
    return visit;
  }

  /** Returns the partners' present statuses; called before and after every change. */
  note(world: World): void {
    if (this.#open.size === 0) return;
    const partners = world.database.look<{ slug: string; status: string }>(
      "select s.slug_key as slug, p.status from partner_slugs s join partners p on p.id = s.partner_id",
    );
    const statuses = new Map(partners.map(({ slug, status }) => [slug, status]));
    for (const { ref, statuses: seen } of this.#open) seen.add(statuses.get(ref.toLowerCase()) ?? "unknown");
  }

  /** Differences of log and counts from the expectation, once no click waits any more. */
  differences(world: World): string[] {
    this.#open = new Set();
    const found = [...countDifferences(world)];
    for (const side of ["program", "neighbor"] as const) {
      const { id } = world[side];
      const visits = this.#visits.filter(({ program }) => program === side);
      const events = eventsOf(world, id);
      for (const visit of visits) {
        const seen = events.get(visit.landing) ?? { n: 0, ref: "", country: null };
        const [least, most] = side === "program" ? recorded(visit) : [0, 0];
        if (seen.n < least || seen.n > most || (seen.n > 0 && seen.ref !== visit.ref.toLowerCase())) {
          found.push(`the log has ${seen.n} of ${seen.ref}, not ${least} to ${most} of ${textOf(visit)}`);
        }
        if (seen.n > 0 && seen.country !== countryOf(visit)) {
          found.push(`the log has ${seen.country} as the country of ${textOf(visit)}`);
        }
      }
      const total = [...events.values()].reduce((sum, { n }) => sum + n, 0);
      found.push(...dropDifferences(world, id, visits), ...this.#totalDifferences(world, id, visits, total));
    }
    return found;
  }

  /** Every arrival since the last look is in the log or dropped for a reason, once. */
  #totalDifferences(world: World, program_id: string, visits: readonly Visit[], recordedTotal: number): string[] {
    const before = this.#looked.get(program_id) ?? { range: [0, 0], all: 0 };
    const range = visits.map(triedOf).reduce(plus, [0, 0]);
    const all = [...droppedOf(world, program_id).values()].reduce((sum, n) => sum + n, recordedTotal);
    this.#looked.set(program_id, { range, all });
    const [n, least, most] = [all - before.all, range[0] - before.range[0], range[1] - before.range[1]];
    return n < least || n > most ? [`${n} more clicks are accounted for, not ${least} to ${most}`] : [];
  }
}

interface Looked {
  range: Range;
  all: number;
}

/** How many of a visit's clicks were taken, and how many tried. */
const triedOf = ({ tries }: Visit): Range => [tries.filter(({ isTaken }) => isTaken).length, tries.length];

function countryOf({ country }: Visit): string | null {
  return country === undefined || country === "T1" ? null : country;
}

function textOf({ statuses, ...visit }: Visit): string {
  return JSON.stringify({ ...visit, statuses: [...statuses] });
}

/** Not so close to the end of the window that it matters how long an answer takes. */
function isClear({ tries }: Visit, now: number): boolean {
  return tries.every(({ at }) => Math.abs(now - at - WINDOW) > 2 * ANSWERED);
}

/** How many of its tries are no repetitions. */
function firsts({ id, bot, tries }: Visit): Range {
  const taken = tries.filter(({ isTaken }) => isTaken).length;
  if (id === null || bot) return [taken, tries.length];
  let most = 0;
  let last = Number.NEGATIVE_INFINITY;
  for (const { at } of tries) {
    if (at - last < WINDOW) continue;
    most += 1;
    last = at;
  }
  return taken === tries.length ? [most, most] : [Math.min(taken, 1), most];
}

const isUnknown = ({ program, ref }: Visit) => program === "neighbor" || ref === "nobody";

/** How often it must be in the log. */
function recorded(visit: Visit): Range {
  if (visit.bot || isUnknown(visit)) return [0, 0];
  const [least, most] = firsts(visit);
  if (!visit.statuses.has("deactivated")) return [least, most];
  return visit.statuses.size === 1 ? [0, 0] : [0, most];
}

function homeOf({ program, database, neighborDatabase }: World, program_id: string): PlayedDatabase {
  return program_id === program.id ? database : neighborDatabase;
}

interface Seen {
  n: number;
  ref: string;
  country: string | null;
}

function eventsOf(world: World, program_id: string): Map<string, Seen> {
  const rows = homeOf(world, program_id).look<Seen & { landing: string }>(
    `select payload ->> 'landing' as landing, ${FIRST_SLUG} as ref, max(payload ->> 'country') as country,
      count(*) as n from events e join partners p on p.id = e.payload ->> 'partner_id'
      where e.program_id = ? and type = 'click' group by 1, 2`,
    program_id,
  );
  return new Map(rows.map(({ landing, ...seen }) => [landing, seen]));
}

/** How many clicks are dropped for each reason. */
function droppedOf(world: World, program_id: string): Map<string, number> {
  const rows = homeOf(world, program_id).look<{ reason: string; n: number }>(
    "select reason, sum(count) as n from click_drops where program_id = ? group by 1",
    program_id,
  );
  return new Map(rows.map(({ reason, n }) => [reason, n]));
}

/** Unrecorded clicks are dropped for a reason. */
function dropDifferences(world: World, program_id: string, visits: readonly Visit[]): string[] {
  const dropped = droppedOf(world, program_id);
  const sum = (of: (visit: Visit) => Range) => visits.map(of).reduce(plus, [0, 0]);
  const expected: Record<string, Range> = {
    bot: sum((visit) => (visit.bot ? triedOf(visit) : [0, 0])),
    unknown_ref: sum((visit) => (!visit.bot && isUnknown(visit) ? firsts(visit) : [0, 0])),
    partner_deactivated: sum((visit) => {
      if (visit.bot || isUnknown(visit) || !visit.statuses.has("deactivated")) return [0, 0];
      const [least, most] = firsts(visit);
      return visit.statuses.size === 1 ? [least, most] : [0, most];
    }),
    duplicate: sum((visit) => {
      const [[taken, all], [least, most]] = [triedOf(visit), visit.bot ? triedOf(visit) : firsts(visit)];
      return visit.id === null || visit.bot ? [0, 0] : [Math.max(taken - most, 0), all - least];
    }),
  };
  const found: string[] = [];
  for (const [reason, [least, most]] of Object.entries(expected)) {
    const n = dropped.get(reason) ?? 0;
    if (n < least || n > most) found.push(`${n} clicks are dropped as ${reason}, not ${least} to ${most}`);
  }
  return found;
}

/** Kept counts and the clicks that are left to the roll-up add up to the log. */
function countDifferences({ database }: World): string[] {
  const ofPartners = database
    .look(
      `select partner_id, sum(n) as difference from (
          select payload ->> 'partner_id' as partner_id, substr(created_at, 1, 10) as day, count(*) as n
            from events where type = 'click' group by 1, 2
          union all select partner_id, day, -count from click_counts
          union all select payload ->> 'partner_id', substr(created_at, 1, 10), -1 from ${LEFT_TO_ROLL_UP})
        group by partner_id, day having difference <> 0`,
    )
    .map((row) => `a partner's clicks are counted as they are in the log: ${JSON.stringify(row)}`);
  const ofCountries = database
    .look(
      `select program_id, country, sum(n) as difference from (
          select program_id, payload ->> 'country' as country, substr(created_at, 1, 10) as day, 1 as n
            from events where type = 'click'
          union all select program_id, value, day, -count from click_sources where kind = 'country'
          union all select program_id, payload ->> 'country', substr(created_at, 1, 10), -1 from ${LEFT_TO_ROLL_UP})
        where country is not null group by program_id, country, day having difference <> 0`,
    )
    .map((row) => `a country's clicks are counted as they are in the log: ${JSON.stringify(row)}`);
  return [...ofPartners, ...ofCountries];
}
