/** The library and the simple verifier of src/docs/signatures.md, as they are written there, against deliveries that the service's code signs. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { freePort } from "../../src/dev/local-service.ts";
import { signatureHeaders } from "../../src/outbound/sign.ts";
import { ROOT } from "./process.ts";

const MARK = "<!-- run by test/dev/webhooks.test.ts -->";
const SECRET = `whsec_${Buffer.from("a secret of 32 bytes for a test.").toString("base64")}`;
const BODY = JSON.stringify({ event: "payout.paid", timestamp: "2026-03-02T09:30:00.000Z", data: { id: "pay_1" } });

const NEW_SECRET = `whsec_${Buffer.from("what replaces it, of 32 bytes...").toString("base64")}`;

async function headersFor(
  body: string,
  timestamp = Math.floor(Date.now() / 1000),
  secrets: [string, ...string[]] = [SECRET],
): Promise<Record<string, string>> {
  return signatureHeaders({ event_id: "evt_1", timestamp, body: Buffer.from(body), secrets });
}

describe("the verifiers of the guide (HOOK-3, HOOK-17)", () => {
  let folder: string;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "affiliate-verifier-"));
    await symlink(join(ROOT, "node_modules"), join(folder, "node_modules"));
    await writeFile(join(folder, "package.json"), JSON.stringify({ type: "module" }));
    const guide = await readFile(join(ROOT, "src", "docs", "signatures.md"), "utf8");
    const [server = "", check = ""] = guide
      .split(MARK)
      .slice(1)
      .map((text) => /```ts\n(.*?)```/s.exec(text)?.[1] ?? "");
    await writeFile(join(folder, "server.ts"), server);
    await writeFile(join(folder, "check.ts"), check);
    const [, verifier = ""] = /## TypeScript\n.*?```ts\n(.*?)```/s.exec(guide) ?? [];
    await writeFile(join(folder, "verifier.ts"), verifier);
    const compilerOptions = {
      ...{ target: "ESNext", module: "NodeNext", types: ["node"], strict: true, noEmit: true },
      ...{ exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, skipLibCheck: true },
    };
    await writeFile(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["*.ts"] }));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  it("compile", () => {
    const tsc = join(ROOT, "node_modules", "typescript", "bin", "tsc");
    assert.equal(spawnSync(process.execPath, [tsc, "-p", folder], { encoding: "utf8" }).stdout, "");
  });

  it("take what the service signed, and nothing that is changed, old or of another secret", async () => {
    const port = await freePort();
    const env = { ...process.env, WEBHOOK_SECRET: SECRET, PORT: String(port) };
    const server = spawn(process.execPath, ["server.ts"], { cwd: folder, env, stdio: ["ignore", "pipe", "inherit"] });
    let printed = "";
    server.stdout.on("data", (data: Buffer) => (printed += data.toString()));
    const send = async (body: string, headers: Record<string, string>): Promise<number> => {
      try {
        return (await fetch(`http://localhost:${port}/`, { method: "POST", body, headers })).status;
      } catch (error) {
        // The server is still starting.
        if (server.exitCode !== null) throw error;
        await new Promise((resolve) => setTimeout(resolve, 50));
        return send(body, headers);
      }
    };
    try {
      assert.equal(await send(BODY, await headersFor(BODY)), 204);
      assert.equal(await send(BODY.replace("pay_1", "pay_2"), await headersFor(BODY)), 401);
      assert.equal(await send(BODY, await headersFor(BODY, Math.floor(Date.now() / 1000) - 600)), 401);
      assert.equal(await send(BODY, {}), 401);
      // While the secret is replaced, a server with the old one takes it still (HOOK-8).
      assert.equal(await send(BODY, await headersFor(BODY, undefined, [NEW_SECRET, SECRET])), 204);
      assert.equal(await send(BODY, await headersFor(BODY, undefined, [NEW_SECRET])), 401);
      assert.match(printed, /^(?:payout\.paid \{ id: 'pay_1' \}\n){2}$/);
    } finally {
      server.kill();
    }
  });

  it("compare the own signature over the bytes", async () => {
    const { isOurs } = (await import(join(folder, "check.ts"))) as {
      isOurs: (rawBody: Uint8Array, signature: string, secret: string) => boolean;
    };
    const { "X-Service-Signature": signature = "" } = await headersFor(BODY);
    assert.equal(isOurs(Buffer.from(BODY), signature, SECRET), true);
    assert.equal(isOurs(Buffer.from(`${BODY} `), signature, SECRET), false);
    const { "X-Service-Signature": replaced = "" } = await headersFor(BODY, undefined, [NEW_SECRET, SECRET]);
    assert.equal(isOurs(Buffer.from(BODY), replaced, NEW_SECRET), true);
    assert.equal(isOurs(Buffer.from(BODY), replaced, SECRET), false);
    assert.equal(isOurs(Buffer.from(BODY), signature, `${SECRET}x`), false);
    for (const given of ["", "no hex", signature.slice(2)])
      assert.equal(isOurs(Buffer.from(BODY), given, SECRET), false);
  });
});
