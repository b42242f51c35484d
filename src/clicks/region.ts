import { isBound, type DatabaseBindings } from "../core/kernel/database.ts";
import { clickObjectOn, shardOfProgram } from "../domain/shard.ts";

/** The visitor's location, as far as the platform knows it: the fields of `request.cf` that are read. */
export interface VisitorLocation {
  continent?: unknown;
  longitude?: unknown;
  latitude?: unknown;
  colo?: unknown;
  country?: unknown;
}

export interface ClickObject {
  /** `<region>:<number>`, and `@<shard>` for a database other than the first. A finite set: no request adds objects. */
  name: string;
  /** The first object of its region and database, which takes all of their clicks while they are few. */
  first: string;
  hint: DurableObjectLocationHint;
}

/** Objects per region and database. Constant, so that a repeated click finds the object that knows it. */
export const OBJECTS_PER_REGION = 4;

/**
 * The click object for a visitor's data center and the programs of a shard, whose database must be bound: the region
 * follows from the continent (longitude splits Europe, North America and Asia), the number from the data center. One
 * isolate runs in one data center, so its clicks share one commit, and a visitor's retry reaches the same object, which
 * recognizes it as a duplicate. The first object of the region replaces it until the region is split (`accept`).
 */
export function clickObject(location: VisitorLocation | undefined, shard = 0): ClickObject {
  const hint = regionOf(location);
  const colo = typeof location?.colo === "string" ? location.colo : "";
  const named = (number: number) => clickObjectOn(shard, `${hint}:${number}`);
  return { name: named(numberOf(colo)), first: named(0), hint };
}

/** The visitor's country (ISO 3166-1 alpha-2); null if absent, `XX` (unknown) or `T1` (Tor). */
export function countryOf(location: VisitorLocation | undefined): string | null {
  const country = location?.country;
  return typeof country === "string" && COUNTRY_PATTERN.test(country) && country !== UNKNOWN_COUNTRY ? country : null;
}

/** Whether an object is the first of its region and database. */
export function isFirst(name: string): boolean {
  return /:0(?:@\d+)?$/.test(name);
}

/** The first object of an object's region and database; null for that object itself and for a name without a number. */
export function firstOf(name: string): string | null {
  const [, region, shard = ""] = /^(.+):[1-9]\d*(@\d+)?$/.exec(name) ?? [];
  return region === undefined ? null : `${region}:0${shard}`;
}

/** The shard whose objects take a program's clicks; null if its database is not bound: such clicks are refused. */
export function shardForClicks(program_id: string, bindings: DatabaseBindings): number | null {
  const shard = shardOfProgram(program_id);
  return isBound(bindings, shard) ? shard : null;
}

/** The location hint in a click object's name; the platform applies it only when it creates the object. */
export function hintOf(name: string): DurableObjectLocationHint {
  const region = name.slice(0, name.lastIndexOf(":"));
  return REGIONS.find((known) => known === region) ?? FALLBACK;
}

const COUNTRY_PATTERN = /^[A-Z]{2}$/;
const UNKNOWN_COUNTRY = "XX";

const REGIONS: readonly DurableObjectLocationHint[] = [
  "wnam",
  "enam",
  "sam",
  "weur",
  "eeur",
  "apac-ne",
  "apac-se",
  "oc",
  "afr",
  "me",
];
const FALLBACK: DurableObjectLocationHint = "enam";

function regionOf(location: VisitorLocation | undefined): DurableObjectLocationHint {
  const longitude = numberIn(location?.longitude);
  switch (location?.continent) {
    case "NA":
      return longitude !== null && longitude < -100 ? "wnam" : "enam";
    case "SA":
      return "sam";
    case "EU":
      return longitude !== null && longitude > 16 ? "eeur" : "weur";
    case "AS":
      if (longitude !== null && longitude < 63) return "me";
      return (numberIn(location.latitude) ?? 0) > 24 ? "apac-ne" : "apac-se";
    case "OC":
      return "oc";
    case "AF":
      return "afr";
    default:
      return FALLBACK;
  }
}

function numberIn(value: unknown): number | null {
  const number = typeof value === "string" ? Number.parseFloat(value) : Number.NaN;
  return Number.isNaN(number) ? null : number;
}

function numberOf(colo: string): number {
  let hash = 0;
  for (let i = 0; i < colo.length; i++) hash = (hash * 31 + colo.charCodeAt(i)) >>> 0;
  return hash % OBJECTS_PER_REGION;
}
