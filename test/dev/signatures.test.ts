/**
 * The verifiers of src/docs/signatures.md, as they are written there, against the guide's test vector, which the service's
 * own code computes. A language that is not installed is skipped.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, describe, it } from "node:test";
import { signatureHeaders } from "../../src/outbound/sign.ts";
import { ROOT } from "./process.ts";

interface Case {
  secret: string;
  id: string;
  timestamp: string;
  signature: string;
  body: string;
  now: number;
}

interface Language {
  /** The command that shows that it is installed. */
  installed: [string, ...string[]];
  /** The fence of its code block. */
  fence: string;
  file: string;
  /** A program that prints the results of all cases of `cases.json` as JSON, and its command. */
  caller: { file: string; code: string };
  run: [string, ...string[]];
}

const LANGUAGES: Record<string, Language> = {
  TypeScript: {
    installed: [process.execPath, "--version"],
    ...{ fence: "ts", file: "verify.ts" },
    caller: {
      file: "call.ts",
      code: `import { readFileSync } from "node:fs";
import { isGenuine } from "./verify.ts";
const cases = JSON.parse(readFileSync("cases.json", "utf8"));
console.log(JSON.stringify(cases.map((one) => isGenuine(one.secret, one, Buffer.from(one.body), one.now))));`,
    },
    run: [process.execPath, "call.ts"],
  },
  Python: {
    installed: ["python3", "--version"],
    ...{ fence: "python", file: "verify.py" },
    caller: {
      file: "call.py",
      code: `import json
from verify import is_genuine
cases = json.load(open("cases.json", encoding="utf-8"))
print(json.dumps([is_genuine(c["secret"], c["id"], c["timestamp"], c["signature"], c["body"].encode(), c["now"]) for c in cases]))`,
    },
    run: ["python3", "call.py"],
  },
  PHP: {
    installed: ["php", "--version"],
    ...{ fence: "php", file: "verify.php" },
    caller: {
      file: "call.php",
      code: `<?php
require 'verify.php';
$cases = json_decode(file_get_contents('cases.json'), true);
$call = fn ($c) => is_genuine($c['secret'], $c['id'], $c['timestamp'], $c['signature'], $c['body'], $c['now']);
echo json_encode(array_map($call, $cases));`,
    },
    run: ["php", "call.php"],
  },
  Go: {
    installed: ["go", "version"],
    ...{ fence: "go", file: "webhook/verify.go" },
    caller: {
      file: "main.go",
      code: `package main

import (
	"encoding/json"
	"os"
	"time"

	"shop.example/webhook"
)

func main() {
	text, _ := os.ReadFile("cases.json")
	var cases []struct {
		Secret, Id, Timestamp, Signature, Body string
		Now                                    int64
	}
	if err := json.Unmarshal(text, &cases); err != nil {
		panic(err)
	}
	results := []bool{}
	for _, c := range cases {
		results = append(results, webhook.IsGenuine(c.Secret, c.Id, c.Timestamp, c.Signature, []byte(c.Body), time.Unix(c.Now, 0)))
	}
	json.NewEncoder(os.Stdout).Encode(results)
}
`,
    },
    run: ["go", "run", "."],
  },
  Ruby: {
    installed: ["ruby", "--version"],
    ...{ fence: "ruby", file: "verify.rb" },
    caller: {
      file: "call.rb",
      code: `require "json"
require_relative "verify"
cases = JSON.parse(File.read("cases.json", encoding: "UTF-8"))
puts JSON.generate(cases.map { |c| genuine?(c["secret"], c["id"], c["timestamp"], c["signature"], c["body"], c["now"]) })`,
    },
    run: ["ruby", "call.rb"],
  },
};

describe("the guide about signatures (HOOK-17)", () => {
  let folder: string;
  let guide: string;
  let right: Case;
  let shown: Record<string, string>;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "affiliate-signatures-"));
    guide = await readFile(join(ROOT, "src", "docs", "signatures.md"), "utf8");
    const [, vector = ""] = /```text\n(.*?)```/s.exec(guide) ?? [];
    shown = Object.fromEntries(
      vector
        .trim()
        .split("\n")
        .map((line) => /^([\w-]+): +(.*)$/.exec(line)?.slice(1) ?? []),
    ) as Record<string, string>;
    const { secret = "", body = "" } = shown;
    const timestamp = shown["webhook-timestamp"] ?? "";
    right = {
      ...{ secret, body, timestamp, now: Number(timestamp) },
      ...{ id: shown["webhook-id"] ?? "", signature: shown["webhook-signature"] ?? "" },
    };
  });
  after(() => rm(folder, { recursive: true, force: true }));

  it("has a test vector that the service's own code computes", async () => {
    const { secret, id, body, now } = right;
    const headers = await signatureHeaders({
      event_id: id,
      timestamp: now,
      body: Buffer.from(body),
      secrets: [secret],
    });
    for (const [name, value] of Object.entries(headers)) assert.equal(shown[name], value, name);
    assert.ok(guide.includes(`at the time ${now},`));
  });

  for (const [name, { installed, fence, file, caller, run }] of Object.entries(LANGUAGES)) {
    const [command, ...args] = installed;
    const isThere = spawnSync(command, args).status === 0;
    it(
      `has a ${name} verifier that accepts the vector only`,
      { skip: isThere ? false : `${name} is not installed` },
      async () => {
        const [, code = ""] = new RegExp(`## ${name}\n.*?\`\`\`${fence}\n(.*?)\`\`\``, "s").exec(guide) ?? [];
        const home = join(folder, name);
        await mkdir(join(home, dirname(file)), { recursive: true });
        await writeFile(join(home, file), code);
        await writeFile(join(home, caller.file), caller.code);
        await writeFile(join(home, "package.json"), '{"type": "module"}');
        await writeFile(join(home, "go.mod"), "module shop.example\n");
        const changed: [string, Partial<Case>, boolean][] = [
          ["the vector", {}, true],
          ["a second signature before it", { signature: `v1,${"A".repeat(43)}= ${right.signature}` }, true],
          ["four minutes later", { now: right.now + 240 }, true],
          ["six minutes later", { now: right.now + 360 }, false],
          ["six minutes earlier", { now: right.now - 360 }, false],
          ["a changed body", { body: right.body.replace("Zürich", "Zurich") }, false],
          ["a longer body", { body: `${right.body}\n` }, false],
          ["a wrong signature", { signature: right.signature.replace("v1,v", "v1,w") }, false],
          ["a signature of another version", { signature: right.signature.replace("v1", "v2") }, false],
          [
            "another secret",
            { secret: `whsec_${Buffer.from("another key of 32 bytes, really.").toString("base64")}` },
            false,
          ],
          ["another id", { id: `${right.id}x` }, false],
          ["another timestamp", { timestamp: String(right.now + 1) }, false],
          ["no timestamp", { timestamp: "" }, false],
          ["a timestamp that is no number", { timestamp: "soon" }, false],
          ["no signature", { signature: "" }, false],
          ["a signature that is not ASCII", { signature: "v1,ü" }, false],
        ];
        const cases = changed.map(([, change]) => ({ ...right, ...change }));
        await writeFile(join(home, "cases.json"), JSON.stringify(cases));
        const [program, ...rest] = run;
        const { stdout, stderr } = spawnSync(program, rest, { cwd: home, encoding: "utf8" });
        assert.ok(stdout.trim().startsWith("["), stderr);
        const results = JSON.parse(stdout) as boolean[];
        for (const [i, [what, , expected]] of changed.entries()) assert.equal(results[i], expected, what);
      },
    );
  }
});
