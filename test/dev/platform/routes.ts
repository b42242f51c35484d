import type { Binding, PlayedAccount } from "./account.ts";
import { Refusal } from "./refusal.ts";

/** A permission of a token, by the name that the dashboard shows. */
export type Permission =
  | "Account Settings: Read"
  | "D1: Edit"
  | "DNS: Read"
  | "Email Sending: Read"
  | "Queues: Edit"
  | "Workers R2 Storage: Edit"
  | "Workers Routes: Edit"
  | "Workers Scripts: Edit"
  | "Zone: Read";

/** A call to the platform, with the parts of its path. */
export interface Call {
  /** Every account, and the files uploaded for an import, by checksum. */
  platform: { accounts: PlayedAccount[]; files: Map<string, string>; url: string };
  account: PlayedAccount;
  parts: string[];
  query: URLSearchParams;
  /** The token of the request. */
  token: string;
  body: string;
  form: () => Promise<FormData>;
}

/** Replaces a permission: the token of an upload session. */
export const SESSION = "the token of an upload session";

interface Route {
  method: string;
  path: RegExp;
  /** The required permission; null if any token will do. */
  needs: Permission | typeof SESSION | null;
  answer: (call: Call) => unknown;
}

const json = <T>(call: Call): T => JSON.parse(call.body) as T;

const SCRIPT = "/workers/scripts/([^/]+)";

/** Routes of an account: the part after `/accounts/<id>`. */
const OF_ACCOUNT: [string, string, Route["needs"], Route["answer"]][] = [
  ["GET", "/workers/subdomain", "Workers Scripts: Edit", ({ account }) => subdomainOf(account)],
  ["PUT", "/workers/subdomain", "Workers Scripts: Edit", (call) => takeSubdomain(call)],
  ["GET", "/workers/subdomains/([^/]+)", "Workers Scripts: Edit", (call) => lookForSubdomain(call)],
  ["GET", "/workers/services/([^/]+)", "Workers Scripts: Edit", (call) => serviceOf(call)],
  [
    "GET",
    `${SCRIPT}/deployments`,
    "Workers Scripts: Edit",
    ({ account, parts: [name = ""] }) => ({
      deployments: account.script(name).deployments,
    }),
  ],
  ["POST", `${SCRIPT}/deployments`, "Workers Scripts: Edit", (call) => deployVersion(call)],
  [
    "GET",
    `${SCRIPT}/secrets`,
    "Workers Scripts: Edit",
    ({ account, parts: [name = ""] }) =>
      (account.script(name).versions[0]?.bindings ?? [])
        .filter(({ type }) => type === "secret_text")
        .map(({ name: secret, type }) => ({ name: secret, type })),
  ],
  [
    "GET",
    `${SCRIPT}/settings`,
    "Workers Scripts: Edit",
    ({ account, parts: [name = ""] }) => ({
      bindings: account.script(name).versions[0]?.bindings.map(withoutSecret) ?? [],
    }),
  ],
  [
    "POST",
    `${SCRIPT}/assets-upload-session`,
    "Workers Scripts: Edit",
    (call) =>
      call.account.assets.open(json<{ manifest: Record<string, { hash: string; size: number }> }>(call).manifest),
  ],
  [
    "POST",
    "/workers/assets/upload",
    SESSION,
    async ({ account, token, form }) => account.assets.take(token, await form()),
  ],
  ["PUT", SCRIPT, "Workers Scripts: Edit", (call) => upload(call, "deployed")],
  ["POST", `${SCRIPT}/versions`, "Workers Scripts: Edit", (call) => upload(call, "not deployed")],
  [
    "GET",
    `${SCRIPT}/script-settings`,
    "Workers Scripts: Edit",
    ({ account, parts: [name = ""] }) => {
      const { observability, tags } = account.script(name);
      return { observability, tags };
    },
  ],
  [
    "PATCH",
    `${SCRIPT}/script-settings`,
    "Workers Scripts: Edit",
    (call) => {
      const { observability, tags } = json<{ observability?: unknown; tags?: string[] }>(call);
      const script = call.account.script(call.parts[0] ?? "");
      if (observability !== undefined) script.observability = observability;
      if (tags) script.tags = tags;
      return {};
    },
  ],
  [
    "GET",
    `${SCRIPT}/subdomain`,
    "Workers Scripts: Edit",
    ({ account, parts: [name = ""] }) => ({
      enabled: account.script(name).on_workers_dev,
      previews_enabled: false,
    }),
  ],
  [
    "POST",
    `${SCRIPT}/subdomain`,
    "Workers Scripts: Edit",
    (call) => {
      const { enabled } = json<{ enabled: boolean }>(call);
      call.account.script(call.parts[0] ?? "").on_workers_dev = enabled;
      return { enabled, previews_enabled: false };
    },
  ],
  [
    "PUT",
    `${SCRIPT}/schedules`,
    "Workers Scripts: Edit",
    (call) => {
      const crons = json<{ cron: string }[]>(call).map(({ cron }) => cron);
      call.account.script(call.parts[0] ?? "").crons = crons;
      return { schedules: crons };
    },
  ],
  [
    "PUT",
    `${SCRIPT}/routes`,
    "Workers Routes: Edit",
    (call) => {
      const patterns = json<{ pattern: string }[]>(call).map(({ pattern }) => pattern);
      call.account.script(call.parts[0] ?? "").routes = patterns;
      return patterns;
    },
  ],
  ["POST", `${SCRIPT}/domains/changeset`, "Workers Routes: Edit", (call) => changesOf(call)],
  [
    "PUT",
    `${SCRIPT}/domains/records`,
    "Workers Routes: Edit",
    (call) => {
      const { origins, ...over } = json<Record<string, boolean> & { origins: { hostname: string }[] }>(call);
      const { override_existing_origin: origin = false, override_existing_dns_record: records = false } = over;
      call.account.attach(
        call.parts[0] ?? "",
        origins.map(({ hostname }) => hostname),
        { origin, records },
      );
      return [];
    },
  ],
  [
    "GET",
    "/workers/domains",
    "Workers Scripts: Edit",
    ({ account, query }) =>
      account.domains.filter(
        ({ hostname, service }) =>
          hostname === (query.get("hostname") ?? hostname) && service === (query.get("service") ?? service),
      ),
  ],
  [
    "GET",
    "/workers/domains/records/([^/]+)",
    "Workers Scripts: Edit",
    ({ account, parts: [id] }) => account.domains.find((domain) => domain.id === id) ?? null,
  ],
  [
    "GET",
    "/queues",
    "Queues: Edit",
    ({ account, query }) => {
      const names = query.getAll("name");
      return account.queues.filter(({ queue_name }) => names.length === 0 || names.includes(queue_name));
    },
  ],
  ["POST", "/queues", "Queues: Edit", (call) => call.account.addQueue(json<{ queue_name: string }>(call).queue_name)],
  ["POST", "/queues/([^/]+)/consumers", "Queues: Edit", (call) => addConsumer(call)],
  ["PUT", "/queues/([^/]+)/consumers/([^/]+)", "Queues: Edit", (call) => changeConsumer(call)],
  [
    "POST",
    "/d1/database",
    "D1: Edit",
    (call) => {
      const { uuid, name } = call.account.addDatabase(json<{ name: string }>(call).name);
      return { uuid, name };
    },
  ],
  [
    "GET",
    "/d1/database/([^/]+)",
    "D1: Edit",
    ({ account, parts: [idOrName = ""] }) => {
      const { uuid, name } = account.database(idOrName);
      return { uuid, name };
    },
  ],
  [
    "POST",
    "/d1/database/([^/]+)/query",
    "D1: Edit",
    (call) => inDatabase(() => call.account.database(call.parts[0] ?? "").query(json<{ sql: string }>(call).sql)),
  ],
  ["POST", "/d1/database/([^/]+)/import", "D1: Edit", (call) => importFile(call)],
  [
    "GET",
    "/email/sending/zones",
    "Email Sending: Read",
    ({ account }) => [...account.zones].map(([name, { id }]) => ({ id, name })),
  ],
];

/** Every call that the platform knows. Others answer 404, and the tests name them. */
export const ROUTES: Route[] = [
  {
    method: "GET",
    path: /^\/accounts$/,
    needs: "Account Settings: Read",
    answer: ({ platform }) => platform.accounts.map(({ id, name }) => ({ id, name })),
  },
  {
    method: "GET",
    path: /^\/memberships$/,
    needs: "Account Settings: Read",
    answer: ({ platform }) => platform.accounts.map(({ id, name }) => ({ id, account: { id, name } })),
  },
  {
    method: "GET",
    path: /^\/zones$/,
    needs: "Zone: Read",
    answer: ({ account, query }) => {
      const zone = account.zones.get(query.get("name") ?? "");
      return zone ? [{ id: zone.id, name: query.get("name") }] : [];
    },
  },
  {
    method: "GET",
    path: /^\/zones\/([^/]+)\/dns_records$/,
    needs: "DNS: Read",
    answer: ({ account, parts: [id], query }) =>
      [...account.zones.values()]
        .filter((zone) => zone.id === id)
        .flatMap(({ records }) => records.filter(({ name }) => name === query.get("name"))),
  },
  {
    method: "GET",
    path: /^\/zones\/([^/]+)\/email\/sending\/subdomains$/,
    needs: "Email Sending: Read",
    answer: ({ account, parts: [id] }) =>
      [...account.zones]
        .filter(([, zone]) => zone.id === id)
        .flatMap(([zone]) => account.sendingDomains.filter((name) => name.endsWith(zone)))
        .map((name) => ({ name, enabled: true, tag: "t" })),
  },
  {
    method: "GET",
    path: /^\/zones\/([^/]+)\/workers\/routes$/,
    needs: "Workers Routes: Edit",
    answer: () => [],
  },
  ...OF_ACCOUNT.map(([method, path, needs, answer]) => ({
    ...{ method, needs, answer },
    path: new RegExp(`^/accounts/[^/]+${path}$`),
  })),
];

function withoutSecret({ text, ...binding }: Binding): Binding {
  return binding.type === "secret_text" || text === undefined ? binding : { ...binding, text };
}

function subdomainOf({ subdomain }: PlayedAccount): { subdomain: string } {
  if (subdomain === null) throw new Refusal(404, 10007, "You do not have a workers.dev subdomain.");
  return { subdomain };
}

function lookForSubdomain({ platform, parts: [name = ""] }: Call): { subdomain: string } {
  if (platform.accounts.some(({ subdomain }) => subdomain === name)) return { subdomain: name };
  throw new Refusal(404, 10032, "The subdomain is available.");
}

function takeSubdomain(call: Call): { subdomain: string } {
  const { subdomain } = json<{ subdomain: string }>(call);
  const isTaken = call.platform.accounts.some((other) => other.subdomain === subdomain);
  if (isTaken) throw new Refusal(409, 10031, "The subdomain is unavailable.");
  call.account.subdomain = subdomain;
  return { subdomain };
}

function serviceOf({ account, parts: [name = ""] }: Call): unknown {
  const found = account.scripts.get(name);
  if (!found) throw new Refusal(404, 10090, "workers.api.error.service_not_found");
  const { tag, tags, migration_tag, last_deployed_from } = found;
  const script = { tag, tags, last_deployed_from, ...(migration_tag === null ? {} : { migration_tag }) };
  return { id: name, default_environment: { environment: "production", script } };
}

interface Metadata {
  main_module: string;
  bindings: Binding[];
  keep_bindings?: string[];
  migrations?: { new_tag: string };
  observability?: unknown;
  assets?: { jwt: string; config: Record<string, unknown> };
}

async function upload(call: Call, then: "deployed" | "not deployed"): Promise<unknown> {
  const [name = ""] = call.parts;
  const form = await call.form();
  const metadata = JSON.parse(form.get("metadata") as string) as Metadata;
  if (!form.has(metadata.main_module)) throw new Refusal(400, 10021, `No such module "${metadata.main_module}".`);
  const kept = metadata.keep_bindings ?? ["secret_text", "secret_key"];
  const assets = metadata.assets ? call.account.assets.ofVersion(metadata.assets.jwt, metadata.assets.config) : null;
  const { script, version } = call.account.addVersion(name, metadata.bindings, kept, assets);
  if (metadata.migrations) script.migration_tag = metadata.migrations.new_tag;
  // A setting of the script, not of a version.
  if (metadata.observability !== undefined && then === "deployed") script.observability = metadata.observability;
  if (then === "deployed") runVersion(script, version.id);
  const result = { id: version.id, startup_time_ms: 20, etag: "e", deployment_id: version.id.replaceAll("-", "") };
  return { ...result, resources: { script: { etag: "e" } } };
}

function runVersion({ deployments }: { deployments: unknown[] }, version_id: string): void {
  deployments.unshift({ id: crypto.randomUUID(), versions: [{ version_id, percentage: 100 }] });
}

function deployVersion(call: Call): unknown {
  const script = call.account.script(call.parts[0] ?? "");
  const [version] = json<{ versions: { version_id: string }[] }>(call).versions;
  if (!script.versions.some(({ id }) => id === version?.version_id)) throw new Refusal(404, 10007, "No such version.");
  runVersion(script, version!.version_id);
  return script.deployments[0];
}

function changesOf(call: Call): unknown {
  const [service = ""] = call.parts;
  const hosts = json<{ hostname: string }[]>(call).map(({ hostname }) => hostname);
  const { domains } = call.account;
  const at = (host: string) => domains.find(({ hostname }) => hostname === host);
  const recordsAt = (host: string) => call.account.zoneOf(host)?.records.some(({ name }) => name === host);
  return {
    added: hosts.filter((host) => !at(host)).map((hostname) => ({ hostname })),
    removed: [],
    updated: hosts
      .flatMap((host) => at(host) ?? [])
      .map((domain) => ({ ...domain, modified: domain.service !== service })),
    conflicting: hosts.filter((host) => !at(host) && recordsAt(host)).map((hostname) => ({ hostname })),
  };
}

interface ConsumerGiven {
  script_name: string;
  dead_letter_queue?: string;
  settings: Record<string, unknown>;
}

function addConsumer(call: Call): unknown {
  const queue = call.account.queue(call.parts[0] ?? "");
  const { script_name, dead_letter_queue, settings } = json<ConsumerGiven>(call);
  call.account.script(script_name);
  if (queue.consumers.length > 0) throw new Refusal(409, 11004, "This queue already has a consumer.");
  const consumer = { consumer_id: crypto.randomUUID(), type: "worker" as const, script: script_name, settings };
  queue.consumers.push({ ...consumer, ...(dead_letter_queue === undefined ? {} : { dead_letter_queue }) });
  return consumer;
}

function changeConsumer(call: Call): unknown {
  const [id = "", consumerId] = call.parts;
  const consumer = call.account.queue(id).consumers.find(({ consumer_id }) => consumer_id === consumerId);
  if (!consumer) throw new Refusal(404, 11000, "Consumer does not exist");
  return Object.assign(consumer, { settings: json<ConsumerGiven>(call).settings });
}

function inDatabase<T>(run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (error instanceof Refusal) throw error;
    throw new Refusal(400, 7500, `${(error as Error).message}: SQLITE_ERROR`);
  }
}

/** The import of a file: `init` gives an address for it, `ingest` runs the uploaded file. */
function importFile(call: Call): unknown {
  const { action, etag } = json<{ action: string; etag: string }>(call);
  const database = call.account.database(call.parts[0] ?? "");
  if (action === "init") return { upload_url: `${call.platform.url}/files/${etag}`, filename: `${etag}.sql` };
  const text = call.platform.files.get(etag);
  if (text === undefined) throw new Refusal(400, 7500, "The file was not uploaded");
  inDatabase(() => database.import(text));
  const meta = { duration: 1, rows_read: 1, rows_written: 1, size_after: 4096 };
  return { success: true, type: "import", status: "complete", messages: [], result: { num_queries: 1, meta } };
}
