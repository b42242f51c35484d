/**
 * `npm run build:client`: writes src/client/index.d.ts, the types by which `hono/client` calls the API. They are what the
 * compiler infers of the routes in src/http/routes.ts, written out, so that an owner's project reads this one file and nothing
 * of the service's source. With --check it writes nothing and fails where the file does not follow the routes.
 */
import { spawnSync } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { ROOT } from "./root.ts";

const COMMITTED = join(ROOT, "src", "client", "index.d.ts");

/** What is asked of the compiler: the types that follow, with nothing in them but what they come down to. */
const QUESTION = `
import type { TypedResponse } from "hono";
import type { JSONParsed, JSONValue } from "hono/utils/types";
import type * as z from "zod";
import type { ErrorStatus } from "../../src/http/errors.ts";
import type { replies } from "../../src/http/openapi/replies.ts";
import type { Address, Called, RequestBody, Route } from "../../src/http/route.ts";
import type { API } from "../../src/http/routes.ts";
import type { ListedVendor } from "../../src/providers/registry.ts";

type At = (typeof API)[number]["at"];
type Path<A = At> = A extends \`\${string} \${infer P}\` ? P : never;
type Methods<P extends string, A = At> = A extends \`\${infer M} \${P}\` ? M : never;
type Method<R> = R extends Route<infer A, Called<infer Q, infer B, infer S, infer V>>
  ? V extends TypedResponse<infer T, infer Own, infer F>
    ? { input: Input<A, Q, B>; output: F extends "json" ? Plain<T> : string; outputFormat: F; status: Plain<Own> }
    : { input: Input<A, Q, B>; output: Plain<JSONParsed<V>>; outputFormat: "json"; status: Plain<S> }
  : never;
type Input<A, Q, B> = Plain<Param<A> & Query<Q> & Json<B>>;
type Param<A> = [ParamName<A>] extends [never] ? {} : { param: { [N in ParamName<A>]: string } };
type ParamName<A> = A extends \`\${string}:\${infer N}/\${infer Rest}\` ? N | ParamName<\`/\${Rest}\`> : A extends \`\${string}:\${infer N}\` ? N : never;
type Query<Q> = Q extends z.ZodObject ? { query: z.input<Q> } : {};
type Json<B> = B extends RequestBody<infer S, "required"> ? { json: z.input<S> } : B extends RequestBody<infer S, "optional"> ? { json?: z.input<S> } : {};
type Plain<T> = IsJson<T> extends true ? JSONValue : Literals<Listed<Extract<T, Key>>> | Structures<Exclude<T, Key>>;
type IsJson<T> = [JSONValue] extends [T] ? ([T] extends [JSONValue] ? true : false) : false;
type Key = string | number;
/** A union of "a" and "b" as one of ["a"] and ["b"]: of itself the compiler would write its name. An amount is a number. */
type Literals<T extends Key> = string extends T ? T : number extends T ? T : T extends z.$brand ? number : T extends Key ? [T] : never;
/** Of all the names that a provider could have, those of the list. */
type Listed<T extends Key> = T extends unknown
  ? string extends T ? T
  : \`provider_\${string}\` extends T ? ListedVendor
  : \`webhook.provider_\${string}\` extends T ? \`webhook.\${ListedVendor}\` : T
  : never;
type Structures<T> = T extends (infer U)[] ? Plain<U>[] : T extends object ? { [K in keyof T]: Plain<T[K]> } : T;

declare function plain<T>(): Plain<T>;
declare function routesOf(): { [P in Path]: { [M in Methods<P> as \`$\${Lowercase<M>}\`]: Method<Extract<(typeof API)[number], { at: \`\${M} \${P}\` }>> } };
export const routes = routesOf();
export const refusal = plain<z.output<ReturnType<typeof replies>["Error"]>>();
export const statuses = plain<ErrorStatus>();
`;

const written = await readFile(COMMITTED, "utf8").catch(() => "");
const current = await formatted(await clientTypes());
if (written === current) {
  console.log("src/client/index.d.ts is up to date.");
} else if (process.argv.includes("--check")) {
  console.error("src/client/index.d.ts does not follow the routes: run npm run build:client.");
  process.exitCode = 1;
} else {
  await mkdir(join(ROOT, "src", "client"), { recursive: true });
  await writeFile(COMMITTED, current);
  console.log("src/client/index.d.ts written.");
}

async function clientTypes(): Promise<string> {
  const answers = await inferred();
  const answer = (name: string) => {
    const found = new RegExp(`^export declare const ${name}: (.*?);\\n(?=export |$)`, "ms").exec(answers)?.[1];
    // With the methods of a number, an amount came out as an object.
    if (found === undefined || /\b(any|import\(|toString:)/.test(found))
      throw new Error(`the compiler did not print: ${name}`);
    return found.replaceAll(/\[("[^"]*"|\d+)\]/g, "$1");
  };
  return `// Made by npm run build:client from the routes of src/http/routes.ts.
import type { Hono } from "hono";
import type { ApplyGlobalResponse } from "hono/client";
import type { BlankEnv } from "hono/types";
import type { JSONValue } from "hono/utils/types";

/** The body of every refusal. */
export type ApiError = ${answer("refusal")};

/** Any route may refuse; \`reply.ok\` distinguishes the two. */
type Refusals = { [Status in ${answer("statuses")}]: { json: ApiError } };

/** The API as \`hc<AffiliateApi>(url)\` of \`hono/client\` calls it: each route with what it takes and answers. */
export type AffiliateApi = ApplyGlobalResponse<Hono<BlankEnv, Routes, "/">, Refusals>;

type Routes = ${answer("routes")};
`;
}

/** The declarations that the compiler gives for the question. */
async function inferred(): Promise<string> {
  await mkdir(join(ROOT, ".wrangler"), { recursive: true });
  const folder = await mkdtemp(join(ROOT, ".wrangler", "client-"));
  try {
    await writeFile(join(folder, "question.ts"), QUESTION);
    const config = {
      extends: "../../tsconfig.json",
      compilerOptions: {
        ...{ noEmit: false, declaration: true, emitDeclarationOnly: true, rootDir: "../..", outDir: "out" },
        types: ["@cloudflare/workers-types", "../../src/worker-configuration.d.ts"],
      },
      files: ["question.ts", "../../src/text-modules.d.ts"],
      include: [],
    };
    await writeFile(join(folder, "tsconfig.json"), JSON.stringify(config));
    // What is wrong elsewhere in the source is reported by the type check; a type that it spoils comes out as `any`.
    const output = run("typescript/bin/tsc", ["-p", folder]);
    const answers = join(folder, "out", ".wrangler", basename(folder), "question.d.ts");
    return await readFile(answers, "utf8").catch(() => {
      throw new Error(`the compiler gave no types:\n${output}`);
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function formatted(text: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "client-"));
  try {
    const file = join(folder, "index.d.ts");
    await writeFile(file, text);
    const output = run("oxfmt/bin/oxfmt", ["--config", join(ROOT, ".oxfmtrc.json"), file]);
    const result = await readFile(file, "utf8");
    if (result === text) throw new Error(`not formatted:\n${output}`);
    return result;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function run(script: string, args: string[]): string {
  const { stdout, stderr } = spawnSync(process.execPath, [join(ROOT, "node_modules", script), ...args], {
    encoding: "utf8",
  });
  return stdout + stderr;
}
