import { checkWorkersDevName, registerWorkersDevName } from "./account.ts";
import { valuesOf } from "./arguments.ts";
import { NotReady, scriptPath, type Deployment } from "./environment.ts";
import type { PlatformApi } from "./platform-api.ts";

/** The chosen addresses, before anything is registered. */
export interface ChosenAddress {
  domains: string[];
  /** The domains that neither the configuration nor the arguments contain. */
  added: string[];
  /** `PUBLIC_URL`, or empty if it follows from the addresses. */
  given: string;
  /** Neither the configuration nor the arguments contain the address. */
  is_missing: boolean;
  on_workers_dev: boolean;
  /** A domain is not attached to this Worker yet: names and certificates take minutes. */
  is_new: boolean;
}

/** The final addresses of the service. */
export interface Address {
  /** Arguments for `wrangler deploy` that the configuration lacks. */
  args: string[];
  public_url: string;
  /** Every https origin that must answer. */
  origins: string[];
  is_new: boolean;
}

/**
 * Chooses the addresses of the deploy without changing the account. If `PUBLIC_URL` is not set, it is the custom domain of
 * `routes` or `--domain`. Without either, the deploy keeps the address of the deployed Worker, or asks for a domain at a
 * terminal; an empty answer chooses the workers.dev name, for trying out.
 * @throws NotReady if there is no address and no terminal, or if an address cannot be used
 */
export async function chooseAddress(deployment: Deployment): Promise<ChosenAddress> {
  const { selected, declared } = deployment;
  const domains = [...declared.domains, ...valuesOf(selected.rest, ["--domain", "--domains"])];
  let given = givenPublicUrl(deployment);
  const is_missing = given === "" && domains.length === 0;
  const kept = is_missing ? await addressThatRuns(deployment) : null;
  const asked = is_missing && !kept ? await askForDomain(deployment) : null;
  const added = kept?.domains ?? (asked === null ? [] : [asked]);
  domains.push(...added);
  given ||= kept?.public_url ?? "";
  const attached = await Promise.all(domains.map((domain) => checkDomain(deployment, domain)));
  const on_workers_dev = declared.workers_dev ?? (domains.length === 0 && !declared.has_patterns);
  if (on_workers_dev) await checkWorkersDevName(deployment);
  if (given === "" && domains.length === 0 && !on_workers_dev) {
    throw new NotReady(missing(deployment, "PUBLIC_URL does not follow from the routes"));
  }
  return { domains, added, given, is_missing, on_workers_dev, is_new: attached.includes("new") };
}

/**
 * Returns the deployed Worker's `PUBLIC_URL` and domains, if that URL is one of its custom domains or, without any, its
 * workers.dev name. Without this, a deploy whose configuration has no address would change the service's links.
 */
async function addressThatRuns(deployment: Deployment): Promise<{ public_url: string; domains: string[] } | null> {
  const { api, account, declared } = deployment;
  const settings = await api.find<{ bindings: { name: string; text?: string }[] }>(
    `${scriptPath(deployment)}/settings`,
  );
  const public_url = settings?.bindings.find(({ name }) => name === "PUBLIC_URL")?.text ?? "";
  if (!isOrigin(public_url)) return null;
  const path = `/accounts/${account}/workers/domains?service=${declared.name}`;
  const domains = (await api.call<{ hostname: string }[]>("GET", path)).map(({ hostname }) => hostname);
  const { hostname } = new URL(public_url);
  const isWorkersDev = hostname.startsWith(`${declared.name}.`) && hostname.endsWith(".workers.dev");
  return domains.includes(hostname) || (isWorkersDev && domains.length === 0) ? { public_url, domains } : null;
}

/** Registers the account's workers.dev name if it is needed and missing, and completes the address. */
export async function settleAddress(deployment: Deployment, chosen: ChosenAddress): Promise<Address> {
  const { selected, declared } = deployment;
  const origins = chosen.domains.map((domain) => `https://${domain}`);
  if (chosen.on_workers_dev) {
    origins.push(`https://${declared.name}.${await registerWorkersDevName(deployment)}.workers.dev`);
  }
  const public_url = chosen.given === "" ? (origins[0] ?? "") : chosen.given;
  const variable = `PUBLIC_URL:${public_url}`;
  const hasVariable = declared.public_url === public_url || valuesOf(selected.rest, ["--var"]).includes(variable);
  const args = [...chosen.added.flatMap((domain) => ["--domain", domain]), ...(hasVariable ? [] : ["--var", variable])];
  if (chosen.is_missing) printLines(deployment, chosen.added, public_url);
  return { args, public_url, origins: [...new Set([...origins, public_url])], is_new: chosen.is_new };
}

/** Returns `PUBLIC_URL` of the arguments or the configuration, or an empty text. @throws NotReady if it is not an origin */
function givenPublicUrl({ selected, declared }: Deployment): string {
  const [argument] = valuesOf(selected.rest, ["--var"]).filter((text) => text.startsWith("PUBLIC_URL:"));
  const given = argument?.slice("PUBLIC_URL:".length) ?? declared.public_url;
  if (given === "" || isOrigin(given)) return given;
  throw new NotReady(`PUBLIC_URL is "${given}": it must be an https address without a path.`);
}

/** Returns whether a text is an https origin, as `lib/public-url.ts` requires. */
function isOrigin(text: string): boolean {
  const url = URL.parse(text);
  return url?.protocol === "https:" && url.href === `${url.origin}/`;
}

const DOMAIN = /^(?=.{4,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]*[a-z0-9]$/;

/** Asks the person for a domain. Returns null for the workers.dev name. @throws NotReady without a terminal */
async function askForDomain(deployment: Deployment): Promise<string | null> {
  const { tools, api, account } = deployment;
  if (!tools.ask) {
    throw new NotReady(missing(deployment, "The service has no address yet"));
  }
  for (;;) {
    const answer = (await tools.ask(QUESTION)).trim().toLowerCase();
    if (answer === "") return null;
    const domain = answer.replace(/^https:\/\//, "").replace(/\/$/, "");
    if (!DOMAIN.test(domain)) tools.print("That is not a domain.");
    else if ((await zoneOf(api, account, domain)) === null) tools.print(noZone(domain));
    else return domain;
  }
}

const QUESTION =
  "Domain for the service, in a zone of this account, such as affiliates.example.com (Enter: the workers.dev name, for trying out): ";

const noZone = (domain: string) => `${domain} is in no zone of this account. Add its domain to Cloudflare first.`;

function tableOf({ selected }: Deployment): string {
  return selected.environment === "" ? "[vars]" : `[env.${selected.environment}.vars]`;
}

function routesTableOf({ selected }: Deployment): string {
  return selected.environment === "" ? "at the top" : `below [env.${selected.environment}]`;
}

function missing(deployment: Deployment, what: string): string {
  const { name } = deployment.declared;
  return `${what}. Put into wrangler.toml, ${routesTableOf(deployment)}:
routes = [{ pattern = "affiliates.example.com", custom_domain = true }]
or, to try out the workers.dev name, below ${tableOf(deployment)}:
PUBLIC_URL = "https://${name}.<the account's name>.workers.dev"`;
}

function printLines(deployment: Deployment, domains: readonly string[], public_url: string): void {
  const routes = domains.map((domain) => `{ pattern = "${domain}", custom_domain = true }`).join(", ");
  const lines =
    domains.length === 0
      ? `below ${tableOf(deployment)}:\nPUBLIC_URL = "${public_url}"`
      : `${routesTableOf(deployment)}:\nroutes = [${routes}]`;
  deployment.tools.print(`The address is ${public_url}. Put it into wrangler.toml, ${lines}`);
}

/** Returns the id of the account's zone that contains a host, or null. */
async function zoneOf(api: PlatformApi, account: string, host: string): Promise<string | null> {
  const labels = host.split(".");
  for (let first = 0; first < labels.length - 1; first++) {
    const name = labels.slice(first).join(".");
    const [zone] = await api.call<{ id: string }[]>("GET", `/zones?name=${name}&account.id=${account}`);
    if (zone) return zone.id;
  }
  return null;
}

/**
 * Requires a domain that is free or the Worker's own, or `--take-over-domain`, because without a terminal wrangler replaces
 * the domain's present target without a question. At a terminal wrangler asks. @throws NotReady
 */
async function checkDomain(
  { tools, api, account, declared, selected }: Deployment,
  domain: string,
): Promise<"new" | "attached"> {
  const zone = await zoneOf(api, account, domain);
  if (zone === null) throw new NotReady(noZone(domain));
  const path = `/accounts/${account}/workers/domains?hostname=${domain}`;
  const [attached] = await api.call<{ hostname: string; service: string }[]>("GET", path);
  if (attached?.service === declared.name) return "attached";
  if (tools.ask || selected.takeOver) return "new";
  const way = "Give --take-over-domain to replace it, or use another domain.";
  if (attached) throw new NotReady(`${domain} is the address of the Worker ${attached.service}. ${way}`);
  const records = await api.call<{ type: string; content: string }[]>(
    "GET",
    `/zones/${zone}/dns_records?name=${domain}`,
  );
  if (records.length === 0) return "new";
  const list = records.map(({ type, content }) => `${type} ${content}`).join(", ");
  throw new NotReady(`${domain} has DNS records: ${list}. ${way}`);
}
