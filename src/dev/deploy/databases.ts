import {
  NotReady,
  scriptPath,
  StepFailed,
  wranglerOn,
  type BoundResource,
  type Deployment,
  type Migration,
} from "./environment.ts";

interface Found {
  uuid: string;
  name: string;
}

const pathOf = ({ account }: Deployment, idOrName: string) => `/accounts/${account}/d1/database/${idOrName}`;

/** A binding of the deployed Worker. */
interface Bound {
  type: string;
  name: string;
  id?: string;
  database_id?: string;
  bucket_name?: string;
  jurisdiction?: string;
}

/**
 * Requires that each database is missing, empty or the service's own, and is the deployed Worker's database, which has the
 * data. Other storage of the deployed Worker must be empty.
 * @throws NotReady, PlatformRefusal
 */
export async function checkDatabases(deployment: Deployment): Promise<void> {
  const { api, declared } = deployment;
  const settings = await api.find<{ bindings: Bound[] }>(`${scriptPath(deployment)}/settings`);
  const bindings = settings?.bindings ?? [];
  for (const { binding, name } of declared.databases) {
    const found = await api.find<Found>(pathOf(deployment, name));
    const bound = bindings.find((one) => one.type === "d1" && one.name === binding);
    const id = bound?.database_id ?? bound?.id;
    if (id !== undefined && id !== found?.uuid) {
      const before = await api.find<Found>(pathOf(deployment, id));
      throw new NotReady(
        `The deployed Worker stores its data in the database ${before?.name ?? id}, and wrangler.toml binds ${name} as ${binding}. Set database_name = "${before?.name ?? id}" there.`,
      );
    }
    if (found && !(await isOurs(deployment, found))) {
      throw new NotReady(
        `The database ${name} belongs to another application. Give ${binding} another database_name in wrangler.toml.`,
      );
    }
  }
  await checkUndeclared(deployment, bindings);
}

/**
 * Requires that the configuration binds the deployed Worker's databases and buckets. Other bindings do not store data:
 * queues only wake, and are consumed without a binding too; the platform itself keeps the classes of Durable Objects.
 */
async function checkUndeclared(deployment: Deployment, bindings: readonly Bound[]): Promise<void> {
  const { databases, buckets } = deployment.declared;
  const lines: string[] = [];
  for (const { type, name: binding, id = "", database_id = id, bucket_name = "", jurisdiction } of bindings) {
    if (type === "d1" && !databases.some((one) => one.binding === binding)) {
      const found = await deployment.api.find<Found>(pathOf(deployment, database_id));
      if (found === null || !(await hasPrograms(deployment, found))) continue;
      lines.push(...linesOf(deployment, "d1_databases", { binding, database_name: found.name }));
      lines.push('migrations_dir = "migrations"');
    }
    // Without a name in the configuration, wrangler keeps the bound bucket if its jurisdiction is the same.
    const kept = buckets.some(
      (one) => one.binding === binding && ["", bucket_name].includes(one.name) && one.jurisdiction === jurisdiction,
    );
    if (type === "r2_bucket" && !kept)
      lines.push(
        ...linesOf(deployment, "r2_buckets", {
          binding,
          bucket_name,
          ...(jurisdiction === undefined ? {} : { jurisdiction }),
        }),
      );
  }
  if (lines.length === 0) return;
  throw new NotReady(
    `The deployed Worker has bindings with data that wrangler.toml lacks. Restore them there, with their variables, NEW_PROGRAM_SHARD or CLICK_RETENTION_DAYS:${lines.join("\n")}`,
  );
}

function linesOf({ selected }: Deployment, table: string, values: Record<string, string>): string[] {
  const within = selected.environment === "" ? "" : `env.${selected.environment}.`;
  return ["", `[[${within}${table}]]`, ...Object.entries(values).map(([key, value]) => `${key} = "${value}"`)];
}

async function hasPrograms(deployment: Deployment, { uuid }: Found): Promise<boolean> {
  const tables = await query(deployment, uuid, "SELECT name FROM sqlite_master WHERE name = 'programs'");
  return tables.length > 0 && (await query(deployment, uuid, "SELECT id FROM programs LIMIT 1")).length > 0;
}

/** Tables that exist in every version of the service. */
const TABLES = ["programs", "partners", "commissions"];

async function isOurs(deployment: Deployment, { uuid }: Found): Promise<boolean> {
  const rows = await query<{ name: string }>(deployment, uuid, "SELECT name FROM sqlite_master WHERE type = 'table'");
  const tables = rows.map(({ name }) => name).filter((name) => !/^(?:sqlite_|_cf_|d1_migrations$)/.test(name));
  return tables.length === 0 || TABLES.every((name) => tables.includes(name));
}

async function query<T>({ api, account }: Deployment, uuid: string, sql: string): Promise<T[]> {
  const path = `/accounts/${account}/d1/database/${uuid}/query`;
  const [first] = await api.call<{ results: T[] }[]>("POST", path, { sql });
  return first?.results ?? [];
}

/** Creates the database if it is missing, and applies its migrations. @throws StepFailed, PlatformRefusal */
export async function migrate(deployment: Deployment, { binding, name }: BoundResource): Promise<void> {
  const { tools, api, account } = deployment;
  const made = async () => {
    const found = await api.call<Found>("POST", `/accounts/${account}/d1/database`, { name });
    tools.print(`The database ${name} was made.`);
    return found;
  };
  const { uuid } = (await api.find<Found>(pathOf(deployment, name))) ?? (await made());
  if ((await left(deployment, uuid)).length === 0) return;
  const run = await wranglerOn(deployment, ["d1", "migrations", "apply", binding, "--remote"], "shown");
  let missing = await left(deployment, uuid);
  if (missing.length > 0 && isSplit(run.output)) {
    await importAll(deployment, binding, missing);
    missing = await left(deployment, uuid);
  }
  // Wrangler can exit with 0 although a migration is not applied, so the database is queried.
  if (missing.length === 0) return;
  throw new StepFailed(
    `${name} still has migrations to apply: ${missing.map((one) => one.name).join(", ")}.`,
    run.output,
  );
}

/** Returns the migrations that a database lacks. */
async function left(deployment: Deployment, uuid: string): Promise<Migration[]> {
  const tables = await query(deployment, uuid, "SELECT name FROM sqlite_master WHERE name = 'd1_migrations'");
  const rows =
    tables.length === 0 ? [] : await query<{ name: string }>(deployment, uuid, "SELECT name FROM d1_migrations");
  const applied = new Set(rows.map(({ name }) => name));
  return (await deployment.tools.migrations()).filter(({ name }) => !applied.has(name));
}

/** Returns whether the platform split a file's statements in the wrong places (workers-sdk #15178). */
function isSplit(output: string): boolean {
  return /incomplete input|syntax error/.test(output);
}

/** Applies migrations by the platform's import instead: one file of all of them, unchanged, whole or not at all. */
async function importAll(deployment: Deployment, binding: string, files: readonly Migration[]): Promise<void> {
  const { tools } = deployment;
  tools.print("The platform did not take a migration in this form. The rest is imported as a file.");
  const noted = files.map(({ name, text }) => `${text}\nINSERT INTO d1_migrations (name) VALUES ('${name}');\n`);
  const run = await tools.withFile("migrations.sql", noted.join(""), (path) =>
    wranglerOn(deployment, ["d1", "execute", binding, "--remote", "--yes", `--file=${path}`], "shown"),
  );
  if (run.code !== 0) throw new StepFailed("The migrations could not be imported.", run.output);
}
