/** The steps of `npm run deploy`. A test can play the platform, wrangler and the terminal. */
import { checkEmail, checkQueues, chooseAccount } from "./account.ts";
import { chooseAddress, settleAddress, type Address } from "./address.ts";
import { readArguments, type Selected } from "./arguments.ts";
import { checkDatabases, migrate } from "./databases.ts";
import { NotReady, scriptPath, StepFailed, wranglerOn, type Deployment, type DeployTools } from "./environment.ts";
import { PlatformRefusal, whatTokenLacks } from "./platform-api.ts";
import { missingSecrets, secretsSet, type Secrets } from "./secrets.ts";

/** The stage that a deploy reached. */
type Reached = "looked" | "changed" | "uploading";

/** The running version, which receives the requests, or null. */
type Running = string | null;

/** The state at the end of a deploy. */
interface Progress {
  reached: Reached;
  before: Running;
  secrets: Secrets;
}

/**
 * Deploys an environment (`--env=<name>`, or production) and returns the exit code. It checks the account, the address and
 * the secrets before the first change. Before it uploads the Worker, it creates missing databases, migrates all of them, and
 * reads from each that every migration is applied, so that code is never ahead of its schema. After a failure the last lines
 * report the running version, and the same command continues from there.
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

/** The instructions for a person who is not logged in. */
const LOG_IN =
  "You are not logged in: run npx wrangler login, or set CLOUDFLARE_API_TOKEN (permissions in src/docs/first-deploy.md).";

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
  // Wrangler also exits with 0 if the person answers no to its question.
  if (code !== 0 || version === null) throw new StepFailed("The upload failed.", output);
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

/** Detects refused settings of an existing Worker, including its logs: wrangler only warns about them. */
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

/** Descriptions of the state after a failure, by the reached stage and the running version. */
const SENTENCES = {
  nothing_runs: "No version was deployed, and none is running yet. The new databases stay.",
  before_runs:
    "No new version was deployed: the previous version keeps running. Migrations only add, so it works with any of them.",
  new_runs:
    "The new version is running, but not all of its settings (addresses, schedules, queue consumers, logs) are applied.",
  unknown: "Could not look up which version is running: npx wrangler deployments list.",
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
  tools.print("Run the same command again: it continues from here.");
  printPermission(tools, error instanceof StepFailed ? error.output : error);
  return 1;
}

function printPermission(tools: DeployTools, failure: unknown): void {
  if (!(failure instanceof PlatformRefusal || typeof failure === "string")) return;
  const lacking = whatTokenLacks(failure);
  if (lacking !== null) tools.print(lacking);
}

/** The waiting time in seconds: the platform needs some minutes for a new name and its certificate. */
const HEALTHY_WITHIN_SECONDS = { new: 600, known: 60 };

/** Checks that every address answers. Reports one that does not, with a remedy. */
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
      answers[at] ? `${origin}/healthz answers: the service runs.` : `${origin}/healthz does not answer with 200.`,
    );
  }
  if (answers.every(Boolean)) return 0;
  tools.print(
    before === null
      ? "The version is deployed. Check again in a few minutes; npx wrangler tail shows what it logs."
      : `The new version is deployed. To go back to the previous version: npx wrangler rollback ${everywhere.join(" ")}`,
  );
  return 1;
}
