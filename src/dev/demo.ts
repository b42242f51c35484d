/**
 * `npm run demo`: plays the main journey and compares each step with the expected result. Exits with 1 if a step differs.
 *
 * It plays in the program that `npm start` created, if that runs here, and ends with links to the result; in a program of
 * its own there, if that one has secrets of providers, which the demo would replace; else in a service of its own with
 * temporary state. With BASE_URL it plays there, with ADMIN_TOKEN in a new program or with
 * API_KEY in that program, whose provider secrets it replaces. Only its own service can deliver webhooks to the demo,
 * because the service never sends to this machine or a private network.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { randomSecrets, readDevVars } from "./dev-vars.ts";
import { journey, RECEIVER_HOST, type Played, type Target } from "./demo/journey.ts";
import { call, expectStatus } from "./demo/client.ts";
import { deleteKeys, openOwnProgram } from "./demo/own-program.ts";
import { PlayedWorld } from "./demo/receiver.ts";
import { DEFAULT_PORT, freePort, localUrl, startLocalService } from "./local-service.ts";
import { portFrom } from "./port.ts";
import { VENDOR_NAMES } from "../providers/registry.ts";
import { line, operatorAt, signInLink } from "./welcome.ts";

const NO_RECEIVER = `Webhooks go to ${RECEIVER_HOST}, a name that does not exist, so their first attempt fails.\n`;

const { steps, links } = await run();
console.log(`\n${steps.count - steps.failed} of ${steps.count} steps as expected.`);
if (links.length > 0) console.log(`\n${links.join("\n")}`);
process.exit(steps.failed === 0 ? 0 : 1);

interface Shown extends Pick<Played, "steps"> {
  /** Lines with links to the result. */
  links: string[];
}

async function run(): Promise<Shown> {
  const target = await givenService();
  if (target) {
    console.log(`Against the service at ${target.url}.`);
    console.log(NO_RECEIVER);
    return { ...(await journey(target)), links: [] };
  }
  return (await inOwnProgram()) ?? inOwnService();
}

/** Plays in the newcomer's program; null unless `npm start` runs here. */
async function inOwnProgram(): Promise<Shown | null> {
  const url = localUrl(portFrom(process.env["PORT"], DEFAULT_PORT));
  const admin_token = (await readDevVars())["ADMIN_TOKEN"];
  if (!admin_token || !(await opens(url, admin_token))) return null;
  const program = await openOwnProgram(url, admin_token);
  if (!program) return null;
  try {
    if (await hasSecrets(url, program.api_key)) {
      console.log(
        `In a program of its own, at ${url}: ${program.name} has secrets of providers, which stay as they are.`,
      );
      console.log(NO_RECEIVER);
      return { ...(await journey({ url, admin_token })), links: [] };
    }
    console.log(`In ${program.name}, at ${url}.`);
    console.log(NO_RECEIVER);
    const { steps, partner_email, payment_id } = await journey({ url, api_key: program.api_key });
    const operator = operatorAt(url, admin_token);
    const links = [
      line("Dashboard", `${await signInLink(operator, program.owner_email)}   (in place of earlier links)`),
      line("Portal", `${await signInLink(operator, partner_email)}   (of Jane, the demo's partner)`),
      line("Payment", `${url}/dashboard/payments/${payment_id ?? ""}   (sign in to the dashboard first)`),
      line("E-mails", `${url}/dev/mails`),
    ];
    return { steps, links };
  } finally {
    await deleteKeys(url, program.api_key);
  }
}

async function hasSecrets(url: string, bearer: string): Promise<boolean> {
  const settings = expectStatus(await call(`${url}/api/v1/programs/me`, { bearer }), 200);
  return VENDOR_NAMES.some((name) => settings[`${name}_webhook_secret_set`] === true);
}

async function inOwnService(): Promise<Shown> {
  console.log("In a service of its own, with a simulated outside world (DNS resolver and receiver of webhooks).");
  console.log("To play in your own program, run npm start first.\n");
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
    return { ...(await journey({ url: service.url, admin_token: secrets.ADMIN_TOKEN, world })), links: [] };
  } finally {
    await service.stop();
    await rm(state, { recursive: true, force: true });
  }
}

/** The service that the environment names. */
async function givenService(): Promise<Target | null> {
  const { BASE_URL, ADMIN_TOKEN, API_KEY } = process.env;
  if (!BASE_URL) return null;
  const admin_token = ADMIN_TOKEN ?? (API_KEY ? undefined : (await readDevVars())["ADMIN_TOKEN"]);
  if (!admin_token && !API_KEY) throw new Error("BASE_URL needs ADMIN_TOKEN or API_KEY beside it.");
  return { url: BASE_URL.replace(/\/+$/, ""), admin_token, api_key: API_KEY };
}

async function opens(url: string, admin_token: string): Promise<boolean> {
  try {
    const response = await fetch(`${url}/admin/programs`, { headers: { authorization: `Bearer ${admin_token}` } });
    return response.ok;
  } catch {
    return false;
  }
}
