/**
 * The samples of the reference, as its pages show them: each curl command is run by a shell, each TypeScript sample is
 * compiled strictly and run by Node, against a service that `npm start` started.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { readDevVars } from "../../src/dev/dev-vars.ts";
import { freePort } from "../../src/dev/local-service.ts";
import { placesOf, samplesOf, type Samples } from "../../src/http/openapi/samples.ts";
import type { OpenApiDocument } from "../../src/http/openapi/types.ts";
import { carried, carriedFetch } from "../support/local-proxy.ts";
import { ROOT, runScript, type Running } from "./process.ts";

/** Samples that the service refuses here, with the status and the reason; every other one is answered below 300. */
const REFUSED: Record<string, { status: number; why: string }> = {
  reconcileIntegration: { status: 409, why: "no key of the provider is set" },
  createIntegrationDestination: { status: 409, why: "no key of the provider is set" },
  startPartnerOnboarding: { status: 409, why: "no key of the provider is set" },
  forgetPartnerAccount: { status: 409, why: "no partner has an account at the provider" },
  releasePartnerHold: { status: 409, why: "the partner's payouts are not held" },
  payPayout: { status: 409, why: "no key of the provider is set" },
  concludePayout: { status: 409, why: "no transfer is open" },
  createPayoutExport: { status: 409, why: "no payout by this method is pending" },
  getApplication: { status: 404, why: "only a person applies" },
  approveApplication: { status: 404, why: "only a person applies" },
  declineApplication: { status: 404, why: "only a person applies" },
  checkInstallation: { status: 422, why: "the local program has no domain" },
  getClaim: { status: 404, why: "only a partner claims" },
  grantClaim: { status: 404, why: "only a partner claims" },
  declineClaim: { status: 404, why: "only a partner claims" },
};

/** It is refused during the delivery, which may end whenever the name of the endpoint is looked up. */
const EITHER = "redeliverWebhookDelivery";

interface Prepared {
  id: string;
  samples: Samples;
}

describe("the samples of the reference (HTTP-33)", () => {
  let folder: string;
  let running: Running;
  let url: string;
  let env: Record<string, string>;
  let program: string;
  let prepared: Prepared[];

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "affiliate-samples-"));
    running = runScript("src/dev/start.ts", { PORT: String(await freePort()), PERSIST_TO: join(folder, "state") }, [
      "--empty",
    ]);
    await running.until(/Ctrl\+C stops the service/);
    const printed = (what: string) => new RegExp(`^ {2}${what} +(\\S+)`, "m").exec(running.printed.out)?.[1] ?? "";
    url = printed("Base URL");
    program = printed("Program");
    env = { API_KEY: printed("API key"), ADMIN_TOKEN: (await readDevVars())["ADMIN_TOKEN"] ?? "" };
    const document = (await (await fetch(`${url}/openapi.json`)).json()) as OpenApiDocument;
    assert.equal(document.servers[0]?.url, url);
    prepared = placesOf(document).flatMap((place) => {
      const samples = samplesOf(place, url);
      return samples ? [{ id: place.operation.operationId, samples }] : [];
    });
    assert.ok(prepared.length > 60);
  });
  after(async () => {
    running.child.kill("SIGTERM");
    await running.ended;
    await rm(folder, { recursive: true, force: true });
  });

  async function made<T = { id: string }>(path: string, body?: unknown, method = "POST"): Promise<T> {
    const admin = path.startsWith("/admin/");
    const reply = await carriedFetch(`${url}${admin ? "" : "/api/v1"}${path}`, {
      method,
      headers: {
        Authorization: `Bearer ${admin ? env["ADMIN_TOKEN"] : env["API_KEY"]}`,
        "Content-Type": "application/json",
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await reply.text();
    assert.ok(reply.ok, `${path}: ${text}`);
    return JSON.parse(text) as T;
  }

  let count = 0;
  const next = () => `n${++count}`;

  /** Makers of a new object, by the prefix of its id. */
  const makers: Record<string, (operation: string) => Promise<string>> = {
    par: async (operation) => {
      const slug = next();
      const { id } = await made("/partners", { slug, email: `${slug}@example.com` });
      if (operation !== "invitePartner") await made(`/partners/${id}`, { status: "active" }, "PATCH");
      return id;
    },
    com: async () => {
      const partner_id = await makers["par"]!("");
      return (await made("/commissions", { partner_id, amount_cents: 100, note: "sample" })).id;
    },
    pay: async (operation) => {
      const commission = await makers["com"]!("");
      await made(`/commissions/${commission}`, { status: "approved" }, "PATCH");
      const { payouts } = await made<{ payouts: { id: string }[] }>("/payouts/generate", {});
      const id = payouts[0]?.id ?? "";
      if (operation === "returnPayout") await made(`/payouts/${id}/mark-paid`, {});
      return id;
    },
    exp: async () => {
      const slug = next();
      const email = `${slug}@example.com`;
      // Details that are set later would hold the payout.
      const paid_by = { payout_method: "wallet", payout_email: email };
      const { id: partner_id } = await made("/partners", { slug, email, ...paid_by });
      await made(`/partners/${partner_id}`, { status: "active" }, "PATCH");
      const { id } = await made("/commissions", { partner_id, amount_cents: 100, note: "sample" });
      await made(`/commissions/${id}`, { status: "approved" }, "PATCH");
      await made("/payouts/generate", {});
      return (await made("/payouts/exports", { format: "wallet", currency: "USD" })).id;
    },
    pmt: async () => {
      const sale = { external_id: next(), ref: "nobody", amount_cents: 100, currency: "USD", net_of_tax: true };
      await made("/track/sale", sale);
      return (await made<{ data: { id: string }[] }>("/payments", undefined, "GET")).data[0]?.id ?? "";
    },
    flw: async () => (await made("/flows", { name: "Sample", action_type: "percentage", action_value: 5 })).id,
    grp: async () => (await made("/groups", { name: next(), slug: next() })).id,
    cod: async () => {
      const partner = await makers["par"]!("");
      return (await made(`/partners/${partner}/codes`, { code: next(), provider: "provider_a" })).id;
    },
    whe: async () => (await made("/webhooks", { url: "https://hooks.example.com/", events: ["*"] })).id,
    key: async () => (await made("/api-keys", { name: next(), scopes: ["read"] })).id,
    mem: async () => (await made("/members", { email: `${next()}@example.com`, role: "viewer" })).id,
    evt: async () => (await made<{ data: { id: string }[] }>("/events", undefined, "GET")).data[0]?.id ?? "",
    prog: async (operation) => {
      if (operation === "recordClick") return program;
      const owner_email = `${next()}@example.com`;
      return (await made<{ program: { id: string } }>("/admin/programs", { name: "Sample", owner_email })).program.id;
    },
  };

  /** A sample with ids of existing objects, and with unused names. */
  async function filled(id: string, sample: string): Promise<string> {
    let text = sample;
    for (const [example, prefix = ""] of new Map(
      [...sample.matchAll(/\b([a-z]+)_01kj41r9q0x5v7n2m8w3d6t4bz/g)].map(([whole, one]) => [whole, one]),
    )) {
      const make = makers[prefix];
      if (make) text = text.replaceAll(example, await make(id));
    }
    if (text.includes("/deliveries/dlv_")) {
      const endpoint = /whe_[a-z0-9]+/.exec(text)?.[0] ?? "";
      text = text.replaceAll(/dlv_[a-z0-9]+/g, (await made(`/webhooks/${endpoint}/test`)).id);
    }
    return text.replaceAll(
      /\b(jane|accounts|creators|Creators|JANE20|order-9001|signup-7001|refund-301|promo_1RTa2b)\b/g,
      (name) => `${name}-${next()}`,
    );
  }

  it("are curl commands that a shell runs", async () => {
    const shell = `set -euo pipefail\ncurl() { command curl -sS -o "$BODY" -w '%{http_code}\\n' "$@"; }\n`;
    const sending = { ...process.env, ...env, BODY: join(folder, "body") };
    for (const { id, samples } of prepared) {
      const command = await filled(id, samples.curl);
      const run = await carried(
        async () => spawnSync("bash", ["-c", shell + command], { env: sending, encoding: "utf8" }),
        async ({ stdout }) => [Number(stdout), await readFile(sending.BODY, "utf8").catch(() => "")],
      );
      assert.equal(run.status, 0, `${id}\n${command}\n${run.stderr}`);
      const status = Number(run.stdout);
      const wanted = id === EITHER ? [201, 409] : [REFUSED[id]?.status];
      const isWanted = wanted[0] === undefined ? status >= 200 && status < 300 : wanted.includes(status);
      assert.ok(isWanted, `${id}: ${status}\n${command}`);
    }
    const ids = new Set(prepared.map((one) => one.id));
    assert.deepEqual(
      Object.keys(REFUSED).filter((id) => !ids.has(id)),
      [],
    );
  });

  it("are TypeScript that compiles strictly and runs", async () => {
    const project = join(folder, "owner");
    await mkdir(join(project, "node_modules"), { recursive: true });
    await writeFile(join(project, "client.d.ts"), await (await fetch(`${url}/client.d.ts`)).text());
    await symlink(join(ROOT, "node_modules", "hono"), join(project, "node_modules", "hono"));
    await symlink(join(ROOT, "node_modules", "@types"), join(project, "node_modules", "@types"));
    await writeFile(join(project, "package.json"), JSON.stringify({ type: "module" }));
    const compilerOptions = {
      ...{ target: "ES2022", module: "NodeNext", lib: ["ES2022", "DOM", "DOM.AsyncIterable"], types: ["node"] },
      ...{ strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, noEmit: true },
      ...{ preserveSymlinks: true, skipLibCheck: true, moduleDetection: "force" },
    };
    await writeFile(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["*.ts"] }));
    for (const { id, samples } of prepared) {
      await writeFile(join(project, `${id}.ts`), await filled(id, samples.typescript));
    }
    const tsc = join(ROOT, "node_modules", "typescript", "bin", "tsc");
    const compiled = spawnSync(process.execPath, [tsc, "-p", project], { encoding: "utf8" });
    assert.equal(compiled.stdout, "");
    // One after the other, in one process: the samples' output is dropped.
    const order = JSON.stringify(prepared.map(({ id }) => id));
    await writeFile(
      join(project, "run.mjs"),
      `import { carriedFetch } from ${JSON.stringify(join(ROOT, "test/support/local-proxy.ts"))};
const { log } = console; console.log = () => {}; const thrown = {}; globalThis.fetch = carriedFetch;
for (const id of ${order}) await import("./" + id + ".ts").catch((error) => { thrown[id] = String(error); });
log(JSON.stringify(thrown));`,
    );
    const run = spawnSync(process.execPath, ["run.mjs"], {
      cwd: project,
      env: { ...process.env, ...env },
      encoding: "utf8",
    });
    assert.equal(run.status, 0, run.stderr);
    const { [EITHER]: _, ...thrown } = JSON.parse(run.stdout) as Record<string, string>;
    const unexpected = Object.entries(thrown).filter(([id]) => !(id in REFUSED));
    assert.deepEqual(unexpected, []);
    assert.deepEqual(Object.keys(thrown).toSorted(), Object.keys(REFUSED).toSorted());
  });

  it("have a client that another tool generates from the document, which compiles and calls", async () => {
    const project = join(folder, "generated");
    await mkdir(project);
    await symlink(join(ROOT, "node_modules"), join(project, "node_modules"));
    await writeFile(join(project, "package.json"), JSON.stringify({ type: "module" }));
    await writeFile(join(project, "document.json"), await (await fetch(`${url}/openapi.json`)).text());
    const compilerOptions = {
      ...{ target: "ES2022", module: "NodeNext", lib: ["ES2022", "DOM", "DOM.Iterable"], types: ["node"] },
      ...{ strict: true, noUncheckedIndexedAccess: true, noEmit: true, allowImportingTsExtensions: true },
      ...{ skipLibCheck: true },
    };
    await writeFile(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["*.ts"] }));
    const tool = (...args: string[]) =>
      spawnSync(process.execPath, args, { cwd: project, env: { ...process.env, ...env }, encoding: "utf8" });
    const generated = tool(join(ROOT, "node_modules", ".bin", "oazapfts"), "document.json", "sdk.ts");
    assert.equal(generated.status, 0, generated.stderr);
    await writeFile(join(project, "owner.ts"), ownerProgram(url, next()));
    const tsc = join(ROOT, "node_modules", "typescript", "bin", "tsc");
    assert.equal(tool(tsc, "-p", ".").stdout, "");
    assert.equal(tool("owner.ts").stdout, "invited 409 already_exists true\n");
    // A mistake is one for the compiler.
    await writeFile(
      join(project, "wrong.ts"),
      'import { createPartner } from "./sdk.ts";\nawait createPartner({ mail: "a" });',
    );
    assert.match(tool(tsc, "-p", ".").stdout, /wrong\.ts.*error TS/);
  });
});

/** An owner's code over the generated client: by operation ids, with the types of bodies and replies. */
function ownerProgram(url: string, slug: string): string {
  return `import { createPartner, defaults, listPartners, type PartnerCreate } from "./sdk.ts";

defaults.baseUrl = "${url}";
defaults.headers = { Authorization: \`Bearer \${process.env.API_KEY}\` };

const partner: PartnerCreate = { email: "${slug}@example.com", slug: "${slug}" };
const made = await createPartner(partner);
if (made.status !== 201) throw new Error(made.data.error.message);
const again = await createPartner(partner);
const code: string = again.status === 409 ? again.data.error.code : "";
const listed = await listPartners({ search: "${slug}", perPage: 1 });
const isListed: boolean = listed.status === 200 && listed.data.data[0]?.id === made.data.id;
console.log(made.data.status, again.status, code, isListed);
`;
}
