/** The steps of `npm run deploy`, over a platform, a wrangler and a terminal that a test can play. */
import { checkEmail, checkQueues, chooseAccount } from "./account.ts";
import { chooseAddress, settleAddress, type Address } from "./address.ts";
import { readArguments, type Selected } from "./arguments.ts";
import { checkDatabases, migrate } from "./databases.ts";
import { NotReady, scriptPath, StepFailed, wranglerOn, type Deployment, type DeployTools } from "./environment.ts";
import { PlatformRefusal, whatTokenLacks } from "./platform-api.ts";
import { missingSecrets, secretsSet, type Secrets } from "./secrets.ts";

/** How far a deploy came. */
type Reached = "looked" | "changed" | "uploading";

/** What runs: the version that takes requests; null where there is none. */
type Running = string | null;

/** What a deploy knows when it ends. */
interface Progress {
  reached: Reached;
  before: Running;
  secrets: Secrets;
}

/**
 * Deploys an environment (`--env=<name>`; production where none is named) and returns the exit code. The account, the
 * address and the secrets are looked at first, and nothing is changed before all of them fit. Every database is made
 * where it is missing and migrated, and the database itself has confirmed that no migration is left, before the Worker is
 * uploaded: code is never ahead of its schema. Whatever fails, the same command goes on from there, and the last lines
 * say what runs now.
 */
export async function deploy(tools: DeployTools, args: readonly string[]): Promise<number> {
  const selected = readArguments(args);
  if (selected.rest.includes("--dry-run")) {
    return dryRun(tools, selected);
  }
  let deployment: Deployment;
  try {
    deployment = await openDeployment(tools, selected);
  } catch (error) {
    return reportNothingChanged(tools, error);
  }
  const progress: Progress = { reached: "looked", before: null, secrets: {} };
  try {
    return await runSteps(deployment, progress);
  } catch (error) {
    if (progress.reached === "looked") return reportNothingChanged(tools, error);
    return reportFailure(deployment, progress, error);
  }
}

async function dryRun(tools: DeployTools, selected: Selected): Promise<number> {
  const { public_url } = await tools.declared(selected);
  return tools.withSite(public_url || null, async (folder) => {
    const args = ["deploy", "--minify", `--assets=${folder}`, ...selected.everywhere, ...selected.rest];
    return (await tools.wrangler(args, "shown", {})).code;
  });
}

/** What someone who is not logged in has to do. */
const LOG_IN =
  "Nobody is logged in: run npx wrangler login, or set CLOUDFLARE_API_TOKEN (permissions in src/docs/first-deploy.md).";

async function openDeployment(tools: DeployTools, selected: Selected): Promise<Deployment> {
  const [declared, api] = await Promise.all([tools.declared(selected), tools.platform()]);
  if (!api) throw new NotReady(LOG_IN);
  return { tools, selected, declared, api, account: await chooseAccount(tools, api, declared) };
}

async function runSteps(deployment: Deployment, progress: Progress): Promise<number> {
  const { declared, tools } = deployment;
  progress.before = await running(deployment);
  const set = await secretsSet(deployment);
  await checkDatabases(deployment);
  await checkQueues(deployment);
  await checkEmail(deployment);
  const chosen = await chooseAddress(deployment);
  progress.secrets = await missingSecrets(deployment, set);
  progress.reached = "changed";
  const address = await settleAddress(deployment, chosen);
  for (const database of declared.databases) await migrate(deployment, database);
  progress.reached = "uploading";
  const { code, output, version } = await upload(deployment, address, progress.secrets);
  // Wrangler ends with 0 too where the person, asked whether to go on, said no.
  if (code !== 0 || version === null) throw new StepFailed("The upload did not end well.", output);
  await confirmLogs(deployment);
  return confirmHealth(tools, progress, address, deployment.selected);
}

function upload(deployment: Deployment, address: Address, secrets: Secrets) {
  const { tools, selected } = deployment;
  const shown = tools.ask ? "terminal" : "shown";
  return tools.withSite(address.public_url, (folder) => {
    const args = ["deploy", "--minify", `--assets=${folder}`, ...selected.rest, ...address.args];
    if (Object.keys(secrets).length === 0) return wranglerOn(deployment, args, shown);
    return tools.withFile("secrets.json", JSON.stringify(secrets), (path) =>
      wranglerOn(deployment, [...args, `--secrets-file=${path}`], shown),
    );
  });
}

/** Wrangler only warns where the platform did not take the settings of a Worker that is there, of its logs too. */
async function confirmLogs(deployment: Deployment): Promise<void> {
  if (deployment.declared.logs_requests) return;
  const { observability } = await deployment.api.call<{ observability?: { logs?: { invocation_logs?: boolean } } }>(
    "GET",
    `${scriptPath(deployment)}/script-settings`,
  );
  if (observability?.logs?.invocation_logs !== true) return;
  throw new StepFailed(
    "The platform did not take [observability.logs]: it logs each request, with the visitor's address.",
  );
}

async function running(deployment: Deployment): Promise<Running> {
  const found = await deployment.api.find<{ deployments: { versions: { version_id: string }[] }[] }>(
    `${scriptPath(deployment)}/deployments`,
  );
  return found?.deployments[0]?.versions[0]?.version_id ?? null;
}

/** What is true after a failure, by how far it came and what runs now. */
const SENTENCES = {
  nothing_runs: "No version was deployed, and none runs yet. The databases that were made stay as they are.",
  before_runs:
    "No new version was deployed: the version before runs on. Migrations only add, so it runs on any of them.",
  new_runs: "The new version runs, but what is around it (addresses, schedules, queue consumers, logs) is not all set.",
  unknown: "It could not be looked up which version runs: npx wrangler deployments list.",
} as const;

function reportNothingChanged(tools: DeployTools, error: unknown): number {
  if (!(error instanceof NotReady || error instanceof PlatformRefusal)) throw error;
  tools.print(error.message);
  tools.print("Nothing was changed. Run the same command again after that.");
  printPermission(tools, error);
  return 1;
}

async function reportFailure(ended: Deployment, progress: Progress, error: unknown): Promise<number> {
  if (!(error instanceof StepFailed || error instanceof PlatformRefusal || error instanceof NotReady)) throw error;
  const { tools } = ended;
  const deployment = { ...ended, api: ended.api.afterStop() };
  tools.print(error.message);
  const now = await running(deployment).catch(() => "unknown" as const);
  const isNew = now !== "unknown" && now !== progress.before;
  const state = isNew ? "new_runs" : progress.before === null ? "nothing_runs" : "before_runs";
  tools.print(SENTENCES[now === "unknown" ? "unknown" : state]);
  const set = await secretsSet(deployment).catch(() => null);
  const discarded = Object.keys(progress.secrets).filter((name) => set !== null && !set.includes(name));
  if (discarded.length > 0) tools.print(`Not set yet, and asked for again: ${discarded.join(", ")}.`);
  tools.print("Run the same command again: it goes on from here.");
  printPermission(tools, error instanceof StepFailed ? error.output : error);
  return 1;
}

function printPermission(tools: DeployTools, failure: unknown): void {
  if (!(failure instanceof PlatformRefusal || typeof failure === "string")) return;
  const lacking = whatTokenLacks(failure);
  if (lacking !== null) tools.print(lacking);
}

/** A new name, and its certificate, take some minutes at the platform. */
const HEALTHY_WITHIN_SECONDS = { new: 600, known: 60 };

/** Every address has to answer. One that does not is reported together with what can be done. */
async function confirmHealth(
  tools: DeployTools,
  { before }: Progress,
  { origins, is_new }: Address,
  { everywhere }: Selected,
): Promise<number> {
  const isNew = before === null || is_new;
  if (isNew) tools.print("Waiting for the address: a new name and its certificate can take some minutes.");
  const seconds = HEALTHY_WITHIN_SECONDS[isNew ? "new" : "known"];
  const answers = await Promise.all(origins.map((origin) => tools.isHealthy(origin, seconds)));
  for (const [at, origin] of origins.entries()) {
    tools.print(
      answers[at] ? `${origin}/healthz answers: the service runs.` : `${origin}/healthz does not answer 200.`,
    );
  }
  if (answers.every(Boolean)) return 0;
  tools.print(
    before === null
      ? "The version is deployed. Look again in some minutes; npx wrangler tail shows what it logs."
      : `The new version is deployed. Back to the version before: npx wrangler rollback ${everywhere.join(" ")}`,
  );
  return 1;
}
