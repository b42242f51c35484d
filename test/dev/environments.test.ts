/**
 * The second environment, staging, in wrangler.toml: wrangler does not pass bindings and variables on to it, so both are
 * declared twice, and must be equal except for their resources.
 */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { unstable_readConfig as readConfig } from "wrangler";
import { ROOT } from "./process.ts";

type Config = ReturnType<typeof readConfig>;

const of = (env?: string): Config => readConfig({ config: join(ROOT, "wrangler.toml"), ...(env ? { env } : {}) });
const production = of();
const staging = of("staging");

/** Fields that name a resource of the account: no two environments may share one. */
const RESOURCE = new Set(["database_name", "database_id", "queue", "dead_letter_queue", "bucket_name", "namespace_id"]);
/** Fields of the environment itself. */
const OWN = new Set(["name", "topLevelName", "targetEnvironment", "definedEnvironments", "env", "vars", "routes"]);

function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shapeOf);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, RESOURCE.has(key) ? "a resource" : shapeOf(inner)]),
  );
}

function resourcesOf(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    RESOURCE.has(key) && typeof inner === "string" ? [inner] : resourcesOf(inner),
  );
}

describe("the environments of wrangler.toml", () => {
  it("are production and staging", () => {
    assert.deepEqual(
      [production.name, staging.name],
      ["affiliate-program-service", "affiliate-program-service-staging"],
    );
  });

  it("declare the same bindings, crons and flags, with the same settings, and the same variables", () => {
    const keys = Object.keys(production).filter((key) => !OWN.has(key)) as (keyof Config)[];
    const declared = keys.filter((key) => Array.isArray(production[key]) && production[key].length > 0);
    for (const key of ["d1_databases", "ratelimits", "compatibility_flags"] as const) assert.ok(declared.includes(key));
    for (const key of keys) assert.deepEqual(shapeOf(staging[key]), shapeOf(production[key]), String(key));
    assert.deepEqual(Object.keys(staging.vars), Object.keys(production.vars));
    assert.deepEqual([staging.triggers.crons?.length, staging.durable_objects.bindings.length], [3, 1]);
  });

  it("have the bindings, variables and crons of the specification (DEP-1, JOB-4)", () => {
    const named = ({ binding }: { binding: string }) => binding;
    for (const { queues, durable_objects, d1_databases, triggers, vars } of [production, staging]) {
      assert.deepEqual(d1_databases.map(named), ["DB"]);
      assert.deepEqual(queues.producers?.map(named), ["DELIVERIES", "DELIVERIES_DEAD"]);
      assert.deepEqual(durable_objects.bindings, [{ name: "CLICKS", class_name: "ClickCounter" }]);
      const variables = [
        "DNS_RESOLVER_URL",
        "ENVIRONMENT",
        "PROVIDER_A_API_URL",
        "PROVIDER_B_API_URL",
        "PUBLIC_URL",
        "WORKER_NAME",
      ];
      assert.deepEqual(Object.keys(vars).toSorted(), variables);
      const crons = /^\* \* \* \* \* \| \d+ \d+ \* \* \* \| \d+ \d+ 1 \* \*$/;
      assert.match(triggers.crons?.join(" | ") ?? "", crons);
    }
  });

  it("begin every name that is global to an account with the Worker's name", () => {
    for (const [config, name] of [
      [production, "affiliate-program-service"],
      [staging, "affiliate-program-service-staging"],
    ] as const) {
      const names = resourcesOf(config).filter((resource) => !/^\d+$/.test(resource));
      assert.ok(names.length >= 6);
      for (const resource of names) assert.ok(resource === name || resource.startsWith(`${name}-`), resource);
    }
  });

  it("count rates under ids that no example has: Workers of an account with the same id share the counts", () => {
    const ids = [production, staging].flatMap(({ ratelimits }) =>
      ratelimits.map(({ namespace_id }: { namespace_id: string }) => namespace_id),
    );
    assert.deepEqual([ids.length > 8, new Set(ids).size], [true, ids.length]);
    for (const id of ids) assert.match(id, /^[1-9]\d{7}$/);
  });

  it("leave workers.dev to the routes: on without a domain, closed beside one; staging inherits no domain", async () => {
    for (const { workers_dev, routes } of [production, staging])
      assert.deepEqual([workers_dev, routes ?? []], [undefined, []]);
    const text = await readFile(join(ROOT, "wrangler.toml"), "utf8");
    assert.match(text, /^\[env\.staging\]\nroutes = \[\]$/m);
  });

  it("share no database, queue, bucket or rate limit", () => {
    const shared = resourcesOf(staging).filter((name) => resourcesOf(production).includes(name));
    assert.ok(resourcesOf(staging).length >= 9);
    assert.deepEqual(shared, []);
  });

  it("keep the service's own log lines and no record of requests, which hold tokens and IP addresses", () => {
    for (const { observability } of [production, staging]) {
      assert.equal(observability?.enabled, true);
      assert.equal(observability.logs?.invocation_logs, false);
      assert.notEqual(observability.logs?.enabled, false);
      assert.equal(observability.traces, undefined);
    }
  });

  it("end an invocation that computes for far longer than the largest request takes", () => {
    for (const { limits } of [production, staging]) assert.equal(limits?.cpu_ms, 10_000);
  });

  it("send requests to receivers the public way in, also to hosts of the operator's own zone", () => {
    for (const { compatibility_flags } of [production, staging]) {
      assert.ok(compatibility_flags.includes("global_fetch_strictly_public"));
    }
  });

  it("give the Worker its name, by which it refuses its own workers.dev addresses as targets", () => {
    for (const { name, vars } of [production, staging]) assert.equal(vars["WORKER_NAME"], name);
  });

  it("have no PUBLIC_URL of ours: npm run deploy asks for it", () => {
    for (const { vars } of [production, staging]) assert.equal(vars["PUBLIC_URL"], "");
  });

  it("have a dead letter queue that the Worker recognizes by its name", () => {
    for (const { queues } of [production, staging]) {
      const [live, dead] = queues.consumers ?? [];
      assert.equal(live?.dead_letter_queue, dead?.queue);
      assert.ok(dead?.queue.endsWith("deliveries-dead") && !live?.queue.endsWith("deliveries-dead"));
    }
  });
});
