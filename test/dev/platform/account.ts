import { PlayedAssets, type VersionAssets } from "./assets.ts";
import { PlayedDatabase } from "./database.ts";
import { Refusal } from "./refusal.ts";

/** A binding of an upload: its type, its name, and the other fields of its type. */
export interface Binding {
  type: string;
  name: string;
  id?: string;
  database_id?: string;
  queue_name?: string;
  bucket_name?: string;
  jurisdiction?: string;
  text?: string;
}

export interface Consumer {
  consumer_id: string;
  type: "worker";
  script: string;
  dead_letter_queue?: string;
  settings: Record<string, unknown>;
}

export interface Queue {
  queue_id: string;
  queue_name: string;
  consumers: Consumer[];
}

export interface Version {
  id: string;
  bindings: Binding[];
  /** Null for an upload without assets. */
  assets: VersionAssets | null;
}

export interface Script {
  tag: string;
  migration_tag: string | null;
  versions: Version[];
  /** The version that runs comes first. */
  deployments: { id: string; versions: { version_id: string; percentage: number }[] }[];
  on_workers_dev: boolean;
  crons: string[];
  routes: string[];
  /** The origin of the last change: wrangler asks a person before it overwrites a change of another tool. */
  last_deployed_from: "wrangler" | "api";
  /** The observability setting of the upload. */
  observability: unknown;
  tags: string[];
}

export interface Domain {
  id: string;
  hostname: string;
  service: string;
}

export interface DnsRecord {
  name: string;
  type: string;
  content: string;
}

/** An account of the platform: its content, and the rules by which it changes. */
export class PlayedAccount {
  readonly id = crypto.randomUUID().replaceAll("-", "");
  readonly name: string;
  subdomain: string | null = null;
  readonly databases: PlayedDatabase[] = [];
  readonly queues: Queue[] = [];
  readonly scripts = new Map<string, Script>();
  readonly domains: Domain[] = [];
  readonly assets = new PlayedAssets();
  /** Zones by name. */
  readonly zones = new Map<string, { id: string; records: DnsRecord[] }>();
  /** Domains from which mail may be sent. */
  readonly sendingDomains: string[] = [];

  constructor(name = "Somebody's account") {
    this.name = name;
  }

  addZone(name: string): void {
    this.zones.set(name, { id: crypto.randomUUID().replaceAll("-", ""), records: [] });
  }

  addQueue(name: string): Queue {
    if (this.queues.some(({ queue_name }) => queue_name === name))
      throw new Refusal(409, 11009, "Queue name is taken.");
    const queue = { queue_id: crypto.randomUUID().replaceAll("-", ""), queue_name: name, consumers: [] };
    this.queues.push(queue);
    return queue;
  }

  addDatabase(name: string): PlayedDatabase {
    if (this.databases.some((database) => database.name === name)) {
      throw new Refusal(400, 7502, `A database with that name already exists`);
    }
    const database = new PlayedDatabase(name);
    this.databases.push(database);
    return database;
  }

  database(idOrName: string): PlayedDatabase {
    const found = this.databases.find(({ uuid, name }) => uuid === idOrName || name === idOrName);
    if (!found) throw new Refusal(404, 7404, "The database was not found");
    return found;
  }

  queue(id: string): Queue {
    const found = this.queues.find(({ queue_id }) => queue_id === id);
    if (!found) throw new Refusal(404, 11000, "Queue does not exist");
    return found;
  }

  script(name: string): Script {
    const found = this.scripts.get(name);
    if (!found) throw new Refusal(404, 10007, "This Worker does not exist on your account.");
    return found;
  }

  /** The zone that a host is in. */
  zoneOf(host: string): { id: string; records: DnsRecord[] } | null {
    const name = [...this.zones.keys()].find((zone) => host === zone || host.endsWith(`.${zone}`));
    return (name !== undefined && this.zones.get(name)) || null;
  }

  /** The running bindings; null if no version was ever deployed. */
  running(name: string): Binding[] | null {
    return this.runningVersion(name)?.bindings ?? null;
  }

  runningVersion(name: string): Version | null {
    const script = this.scripts.get(name);
    const id = script?.deployments[0]?.versions[0]?.version_id;
    return script?.versions.find((version) => version.id === id) ?? null;
  }

  /** A version of a script from an upload's bindings, as the platform checks them. Creates a new script if needed. */
  addVersion(
    name: string,
    uploaded: Binding[],
    kept: string[],
    assets: VersionAssets | null = null,
  ): { script: Script; version: Version } {
    const before = this.scripts.get(name)?.versions[0]?.bindings ?? [];
    const named = new Set(uploaded.map((binding) => binding.name));
    const inherited = uploaded.map((binding) => {
      if (binding.type !== "inherit") return binding;
      const found = before.find((one) => one.name === binding.name);
      if (!found) throw new Refusal(400, 10021, `inherited binding ${binding.name} is in no version`);
      return found;
    });
    const rest = before.filter((binding) => kept.includes(binding.type) && !named.has(binding.name));
    const bindings = [...inherited, ...rest];
    for (const binding of bindings) this.#check(binding);
    const script = this.scripts.get(name) ?? {
      tag: crypto.randomUUID().replaceAll("-", ""),
      ...{ migration_tag: null, versions: [], deployments: [], on_workers_dev: false, crons: [], routes: [] },
      ...{ observability: null, tags: [], last_deployed_from: "wrangler" as const },
    };
    const version = { id: crypto.randomUUID(), bindings, assets };
    script.versions.unshift(version);
    this.scripts.set(name, script);
    return { script, version };
  }

  #check({ type, name, id, database_id, queue_name = "" }: Binding): void {
    if (type === "d1" && !this.databases.some(({ uuid }) => uuid === (database_id ?? id))) {
      throw new Refusal(400, 10021, `binding ${name} of type d1 must have a valid \`id\` specified`);
    }
    if (type === "queue" && !this.queues.some((queue) => queue.queue_name === queue_name)) {
      throw new Refusal(400, 10021, `binding ${name} of type queue: Queue ${queue_name} does not exist`);
    }
  }

  /** Points custom domains at a script, and replaces existing records as far as the caller allows. */
  attach(service: string, hostnames: string[], over: { origin: boolean; records: boolean }): void {
    for (const hostname of hostnames) {
      const zone = this.zoneOf(hostname);
      if (!zone) throw new Refusal(400, 10082, `Could not find an active zone for ${hostname}.`);
      const other = this.domains.find((domain) => domain.hostname === hostname && domain.service !== service);
      if (other && !over.origin) throw new Refusal(409, 100116, `${hostname} is already attached to ${other.service}.`);
      const isMine = this.domains.some((domain) => domain.hostname === hostname);
      const isTaken = !isMine && zone.records.some((record) => record.name === hostname);
      if (isTaken && !over.records)
        throw new Refusal(409, 100117, `${hostname} already has externally managed DNS records.`);
      zone.records.splice(0, zone.records.length, ...zone.records.filter((record) => record.name !== hostname));
      zone.records.push({ name: hostname, type: "AAAA", content: "100::" });
      const at = this.domains.findIndex((domain) => domain.hostname === hostname);
      this.domains.splice(at < 0 ? this.domains.length : at, 1, { id: crypto.randomUUID(), hostname, service });
    }
  }

  /** All that a deploy can change, as a value. */
  state(): unknown {
    const { subdomain, queues, domains } = this;
    const databases = this.databases.map(({ name, tables, applied }) => ({ name, tables, applied }));
    const records = [...this.zones.values()].map((zone) => zone.records);
    return structuredClone({ subdomain, queues, domains, databases, records, scripts: [...this.scripts] });
  }

  /** The result of deploys, without the parts that differ from one to the next: ids, and the number of attempts. */
  shape(): unknown {
    const databases = this.databases.map(({ name, schema, applied }) => ({ name, schema, applied }));
    const queues = this.queues.map(({ queue_name, consumers }) => ({
      queue_name,
      consumers: consumers.map(({ consumer_id: _, ...consumer }) => consumer),
    }));
    const scripts = [...this.scripts].map(([name, { migration_tag, on_workers_dev, crons, routes, observability }]) => {
      const { bindings = [], assets } = this.runningVersion(name) ?? {};
      const bound = bindings.map(({ id, database_id = id, ...binding }) => ({
        ...binding,
        ...(binding.type === "d1" ? { database: this.database(database_id ?? "").name } : {}),
      }));
      const sorted = bound.toSorted((a, b) => a.name.localeCompare(b.name));
      return { name, migration_tag, on_workers_dev, crons, routes, observability, bindings: sorted, assets };
    });
    const domains = this.domains.map(({ hostname, service }) => ({ hostname, service }));
    const records = [...this.zones.values()].map((zone) => zone.records);
    const ordered = queues.toSorted((a, b) => a.queue_name.localeCompare(b.queue_name));
    return structuredClone({ subdomain: this.subdomain, databases, queues: ordered, scripts, domains, records });
  }

  /** The script that answers under a host, if any. */
  scriptAt(host: string): string | null {
    const domain = this.domains.find(({ hostname }) => hostname === host);
    const names = [...this.scripts].filter(([, script]) => script.deployments.length > 0);
    const found = names.find(
      ([name, script]) =>
        domain?.service === name || (script.on_workers_dev && host === `${name}.${this.subdomain}.workers.dev`),
    );
    return found?.[0] ?? null;
  }
}
