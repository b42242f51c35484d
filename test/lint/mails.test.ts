/** Each kind of e-mail is sent: a kind that core never uses would compile without an error. */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { MAIL_KINDS } from "../../src/domain/mail.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
/** These handle every kind, but do not send any. */
const KNOWING = ["kernel/notices.ts", "mails/subjects.ts", "mails/owner-subjects.ts"].map((name) => `src/core/${name}`);

/** The kinds that no file sends: `{ kind: "invitation", … }`, or by a maker of e-mails. */
function unsent(kinds: readonly string[], texts: readonly string[]): string[] {
  return kinds.filter((kind) => {
    const isSent = new RegExp(String.raw`(?:\bkind: |\bmailsAbout\w*\()"${kind}"`);
    return !texts.some((text) => isSent.test(text));
  });
}

describe("kinds of e-mails", () => {
  it("are each sent by a verb", () => {
    const files = globSync("src/core/**/*.ts", { cwd: ROOT })
      .map((file) => file.replaceAll("\\", "/"))
      .filter((file) => !KNOWING.includes(file));
    assert.ok(files.length > 50);
    const texts = files.map((file) => readFileSync(`${ROOT}${file}`, "utf8"));
    assert.deepEqual(unsent(Object.keys(MAIL_KINDS), texts), []);
    assert.deepEqual(unsent(["partner_noted"], texts), ["partner_noted"]);
  });
});
