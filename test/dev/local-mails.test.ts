/** E-mails of the local service become files (MAIL-4). */
import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { keptMail, writeMail } from "../../src/dev/local-mails.ts";

describe("the e-mails of the local service", () => {
  it("are named by their lines of the log, and by no other", () => {
    const line = { level: "info", what: "no e-mail is set up", mail_id: "mail_01abc" };
    assert.equal(keptMail(JSON.stringify(line)), "mail_01abc");
    for (const other of [{ ...line, what: "x" }, { ...line, mail_id: "../x" }, { ...line, mail_id: undefined }, null]) {
      assert.equal(keptMail(JSON.stringify(other)), null);
    }
    assert.equal(keptMail("no JSON"), null);
  });

  it("are files of both parts", async () => {
    const server = createServer((request, response) => response.end(`the part at ${request.url}`));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const folder = await mkdtemp(join(tmpdir(), "mails-"));
    try {
      const { port } = server.address() as AddressInfo;
      await writeMail(`http://127.0.0.1:${port}`, "mail_1", join(folder, "mails"));
      assert.deepEqual((await readdir(join(folder, "mails"))).toSorted(), ["mail_1.html", "mail_1.txt"]);
      const text = await readFile(join(folder, "mails", "mail_1.txt"), "utf8");
      assert.equal(text, "the part at /dev/mails/mail_1/text");
    } finally {
      server.close();
      await rm(folder, { recursive: true });
    }
  });
});
