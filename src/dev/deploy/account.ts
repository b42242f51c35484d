import { NotReady, type Deployment, type DeployTools, type Declared } from "./environment.ts";
import { PlatformRefusal, whatTokenLacks, type PlatformApi } from "./platform-api.ts";

/** Returns the account id: from the configuration or `CLOUDFLARE_ACCOUNT_ID`, else the only account, else the person's choice. */
export async function chooseAccount(tools: DeployTools, api: PlatformApi, declared: Declared): Promise<string> {
  const given = declared.account_id ?? tools.accountGiven;
  if (given !== null) return given;
  const accounts = await api.call<{ id: string; name: string }[]>("GET", "/accounts?per_page=50");
  const [first] = accounts;
  if (!first) throw new NotReady("These credentials have no access to an account. Set CLOUDFLARE_ACCOUNT_ID.");
  if (accounts.length === 1) return first.id;
  const list = accounts.map(({ id, name }, at) => `${at + 1}. ${name}: ${id}`).join("\n");
  if (!tools.ask) throw new NotReady(`There are several accounts. Set CLOUDFLARE_ACCOUNT_ID to one of these:\n${list}`);
  for (;;) {
    const answer = (await tools.ask(`${list}\nWhich account, by its number? `)).trim();
    const chosen = accounts[Number(answer) - 1] ?? accounts.find(({ id }) => id === answer);
    if (chosen) {
      tools.print(
        `So that the next deploy has it too, put this at the top of wrangler.toml:\naccount_id = "${chosen.id}"`,
      );
      return chosen.id;
    }
  }
}

/** A valid name of an account below workers.dev. */
const SUBDOMAIN = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

const subdomainPath = ({ account }: Deployment) => `/accounts/${account}/workers/subdomain`;

async function findWorkersDevName(deployment: Deployment): Promise<string | null> {
  const found = await deployment.api.find<{ subdomain: string | null }>(subdomainPath(deployment));
  return found?.subdomain ?? null;
}

/** Requires a name of the account below workers.dev, or a terminal to choose one. @throws NotReady */
export async function checkWorkersDevName(deployment: Deployment): Promise<void> {
  if (deployment.tools.ask || (await findWorkersDevName(deployment)) !== null) return;
  throw new NotReady(
    `The account has no workers.dev name yet. Choose one at https://dash.cloudflare.com/${deployment.account}/workers/onboarding, or use a domain of yours (src/docs/first-deploy.md).`,
  );
}

/** Returns the account's name below workers.dev. If it is missing, registers one that the person chooses. */
export async function registerWorkersDevName(deployment: Deployment): Promise<string> {
  const { tools, api, account } = deployment;
  const found = await findWorkersDevName(deployment);
  if (found !== null || !tools.ask) return found ?? "";
  for (;;) {
    const name = (
      await tools.ask("The account has no workers.dev name yet. Name to register (<name>.workers.dev): ")
    ).trim();
    if (!SUBDOMAIN.test(name)) {
      tools.print("Use lower-case letters, digits and hyphens.");
      continue;
    }
    if (await api.find(`/accounts/${account}/workers/subdomains/${name}`)) {
      tools.print(`${name}.workers.dev is taken.`);
      continue;
    }
    await api.call("PUT", subdomainPath(deployment), { subdomain: name });
    tools.print(`${name}.workers.dev is registered for the account.`);
    return name;
  }
}

/** Checks that no other application consumes the queues: it would take the service's messages. @throws NotReady */
export async function checkQueues({ api, account, declared }: Deployment): Promise<void> {
  for (const name of declared.queues) {
    const path = `/accounts/${account}/queues?name=${encodeURIComponent(name)}`;
    const queues = await api.call<{ queue_name: string; consumers?: { script?: string; service?: string }[] }[]>(
      "GET",
      path,
    );
    const consumers = queues.filter((queue) => queue.queue_name === name).flatMap((queue) => queue.consumers ?? []);
    const other = consumers.map(({ script, service }) => script ?? service).find((script) => script !== declared.name);
    if (other === undefined) continue;
    throw new NotReady(
      `The queue ${name} belongs to the Worker ${other}. Give the queue another name in wrangler.toml.`,
    );
  }
}

/**
 * Warns if the account may not send e-mail from the domain of `EMAIL_FROM`, or if this cannot be looked up. Only a warning,
 * because the domain can be onboarded later. @throws NotReady if `EMAIL_FROM` is not an address
 */
export async function checkEmail(deployment: Deployment): Promise<void> {
  const { tools, declared } = deployment;
  if (declared.email_from === null) return;
  const domain = declared.email_from.split("@")[1] ?? "";
  if (domain === "")
    throw new NotReady(
      "EMAIL is bound, but EMAIL_FROM is not an address. Set it among the variables in wrangler.toml.",
    );
  const sending = await sendingDomains(deployment).catch((error: unknown) => {
    if (error instanceof PlatformRefusal) return error;
    throw error;
  });
  if (sending instanceof PlatformRefusal) {
    const why = whatTokenLacks(sending) ?? `${sending.message}.`;
    tools.print(`E-mail: could not check whether mail can be sent from ${domain}. ${why}`);
    return;
  }
  if (sending.includes(domain)) return;
  tools.print(
    `E-mail: mail cannot be sent from ${domain}. Choose "Onboard domain" under Email Sending, for a subdomain that sends no other mail: onboarding adds a DMARC record with p=reject, by which receivers refuse mail from that domain that others send (src/docs/operate.md, "E-mail").`,
  );
}

async function sendingDomains({ api, account }: Deployment): Promise<string[]> {
  const zones = await api.call<{ id: string }[]>("GET", `/accounts/${account}/email/sending/zones`);
  const paths = zones.map(({ id }) => `/zones/${id}/email/sending/subdomains`);
  const lists = await Promise.all(paths.map((path) => api.call<{ name: string; enabled: boolean }[]>("GET", path)));
  return lists.flat().flatMap(({ name, enabled }) => (enabled ? name : []));
}
