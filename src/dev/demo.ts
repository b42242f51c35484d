/**
 * `npm run demo`: plays the main journey and compares each step with the expected result. Exits with 1 if a step differs.
 *
 * It runs against BASE_URL (with ADMIN_TOKEN, or with API_KEY, which replaces that program's provider secrets), else
 * against the service that `npm start` runs here, else against a service of its own with temporary state. Only its own
 * service can deliver webhooks to the demo, because the service never sends to this machine or a private network.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { randomSecrets, readDevVars } from "./dev-vars.ts";
import { journey, RECEIVER_HOST, type Target } from "./demo/journey.ts";
import { PlayedWorld } from "./demo/receiver.ts";
import type { Steps } from "./demo/steps.ts";
import { DEFAULT_PORT, freePort, localUrl, startLocalService } from "./local-service.ts";
import { portFrom } from "./port.ts";

const steps = await run();
console.log(`\n${steps.count - steps.failed} of ${steps.count} steps as expected.`);
process.exit(steps.failed === 0 ? 0 : 1);

async function run(): Promise<Steps> {
  const target = await runningService();
  if (target) {
    console.log(`Against the service at ${target.url}.`);
    console.log(`Webhooks go to ${RECEIVER_HOST}, a name that does not exist, so their first attempt fails.\n`);
    return journey(target);
  }
  console.log(
    "Against a service of its own, with a simulated outside world (DNS resolver and receiver of webhooks).\n",
  );
  const state = await mkdtemp(join(tmpdir(), "affiliate-demo-"));
  const world = new PlayedWorld(RECEIVER_HOST);
  const secrets = { ...randomSecrets(), DNS_RESOLVER_URL: world.resolver_url };
  const service = await startLocalService({
    port: await freePort(),
    persistTo: state,
    secrets,
    outbound: world.outbound,
    onLog: ({ level, message }) => {
      if (level === "error") console.error(message);
    },
  });
  try {
    return await journey({ url: service.url, admin_token: secrets.ADMIN_TOKEN, world });
  } finally {
    await service.stop();
    await rm(state, { recursive: true, force: true });
  }
}

async function runningService(): Promise<Target | undefined> {
  const { BASE_URL, ADMIN_TOKEN, API_KEY, PORT } = process.env;
  const dev_vars = await readDevVars();
  if (BASE_URL) {
    const admin_token = ADMIN_TOKEN ?? (API_KEY ? undefined : dev_vars["ADMIN_TOKEN"]);
    if (!admin_token && !API_KEY) throw new Error("BASE_URL needs ADMIN_TOKEN or API_KEY beside it.");
    return { url: BASE_URL.replace(/\/+$/, ""), admin_token, api_key: API_KEY };
  }
  const url = localUrl(portFrom(PORT, DEFAULT_PORT));
  const admin_token = dev_vars["ADMIN_TOKEN"];
  if (!admin_token) return undefined;
  try {
    const response = await fetch(`${url}/admin/programs`, { headers: { authorization: `Bearer ${admin_token}` } });
    return response.ok ? { url, admin_token } : undefined;
  } catch {
    return undefined;
  }
}
