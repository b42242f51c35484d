/**
 * What is left of a click, of a list and of writes when all is taken away but what nobody can do without: the measure for
 * how near the service is to what this runtime allows on this machine. It checks nothing but signatures, limits nothing,
 * flushes nothing.
 *
 * The click: its JSON is read, it waits for the group commit in the isolate, one call stores the group as one row. The
 * list: the key is hashed, and one statement at hand looks it up and reads the total and 20 partners as JSON.
 * The partner created: one batch looks the key up and writes the partner and its event. The provider's webhook: its
 * signature is verified with a secret at hand, one batch stores it and reads the partner, for what is read decides what
 * is written; another one writes the payment, the commission and their event.
 *
 * Beside them an empty call to the object for each request, whose p99 is the limit for a click's.
 */
export const LEAST_WORKER = `
import { DurableObject } from "cloudflare:workers";

export class Clicks extends DurableObject {
  constructor(state, env) {
    super(state, env);
    state.storage.sql.exec("create table if not exists batches (id integer primary key, entries text not null)");
  }
  nothing() {}
  async commit(entries) {
    this.ctx.storage.sql.exec("insert into batches (entries) values (?)", entries);
  }
}

let waiting = [];
let leading = false;

async function lead(env) {
  leading = true;
  while (waiting.length > 0) {
    const group = waiting;
    waiting = [];
    const stored = await env.CLICKS.getByName("clicks").commit(group.map(({ entry }) => entry).join(",")).then(
      () => true,
      () => false,
    );
    for (const { settle } of group) settle(stored);
  }
  leading = false;
}

async function click(request, env, execution) {
  const { program_id, ref, landing, referrer } = await request.json();
  const created_at = new Date().toISOString();
  const entry = JSON.stringify({ id: crypto.randomUUID(), created_at, program_id, ref, landing, referrer });
  const { promise, resolve } = Promise.withResolvers();
  // A request that only waits for other requests is judged hung.
  const timer = setTimeout(resolve, 5_000, false);
  waiting.push({ entry, settle: resolve });
  if (!leading) execution.waitUntil(lead(env));
  const stored = await promise;
  clearTimeout(timer);
  return answer(null, stored ? 202 : 503);
}

async function hashOfKey(request) {
  const key = new TextEncoder().encode(request.headers.get("authorization"));
  return new Uint8Array(await crypto.subtle.digest("SHA-256", key)).toHex();
}

const FIELDS = ["id", "program_id", "email", "slug", "status", "first_name", "last_name", "commission_pct",
  "payout_method", "payout_email", "metadata", "created_at", "updated_at"];
const LIST = "select name, (select total from totals where program_id = id) from programs where key_hash = ?" +
  " union all select object, null from (select json_object(" + FIELDS.map((name) => "'" + name + "', " + name) +
  ") as object from partners where program_id = (select id from programs where key_hash = ?) order by id desc limit 21)";

async function list(request, env) {
  const hash = await hashOfKey(request);
  const [program, ...objects] = await env.DB.prepare(LIST).bind(hash, hash).raw();
  if (program === undefined) return answer(null, 401);
  const data = objects.slice(0, 20).map(([object]) => object);
  return answer('{"data":[' + data + '],"total":' + program[1] + ',"next_cursor":null}', 200);
}

const CREATE = "insert into partners (program_id, id, email, slug, status, created_at, updated_at)" +
  " select id, ?, ?, ?, 'invited', ?, ? from programs where key_hash = ?";
const LOG = "insert into log (id, payload, created_at) values (?, ?, ?)";

async function create(request, env) {
  const hash = await hashOfKey(request);
  const { email, slug } = await request.json();
  const [id, stamp] = [crypto.randomUUID(), new Date().toISOString()];
  const [made] = await env.DB.batch([
    env.DB.prepare(CREATE).bind(id, email, slug, stamp, stamp, hash),
    env.DB.prepare(LOG).bind(crypto.randomUUID(), JSON.stringify({ id, email, slug }), stamp),
  ]);
  return made.meta.changes === 1 ? answer(JSON.stringify({ id, email, slug }), 201) : answer(null, 401);
}

/** The key of webhook signatures. */
let secret = "";

async function isSigned(request, body) {
  const [, time, signature] = /^t=(\\d+),v1=([0-9a-f]+)$/.exec(request.headers.get("provider-a-signature"));
  const start = new TextEncoder().encode(time + ".");
  const signed = new Uint8Array(start.length + body.length);
  signed.set(start);
  signed.set(body, start.length);
  const hmac = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", new TextEncoder().encode(secret), hmac, false, ["verify"]);
  return crypto.subtle.verify("HMAC", key, Uint8Array.fromHex(signature), signed);
}

async function webhook(request, env) {
  const body = new Uint8Array(await request.arrayBuffer());
  if (!(await isSigned(request, body))) return answer(null, 401);
  const text = new TextDecoder().decode(body);
  const { id, data } = JSON.parse(text);
  const { amount_paid, currency, customer, parent } = data.object;
  const stamp = new Date().toISOString();
  const [, { results: [partner] }] = await env.DB.batch([
    env.DB.prepare("insert into received (id, body, created_at) values (?, ?, ?) on conflict do nothing")
      .bind(id, text, stamp),
    env.DB.prepare("select program_id, id from partners where slug = ?")
      .bind(parent.subscription_details.metadata.service_ref),
  ]);
  const commission = crypto.randomUUID();
  await env.DB.batch([
    env.DB.prepare("insert into payments (id, customer, amount, currency, created_at) values (?, ?, ?, ?, ?)" +
      " on conflict do nothing").bind(data.object.id, customer, amount_paid, currency, stamp),
    env.DB.prepare("insert into commissions (id, partner_id, payment_id, amount, created_at) values (?, ?, ?, ?, ?)")
      .bind(commission, partner.id, data.object.id, Math.round(amount_paid / 5), stamp),
    env.DB.prepare(LOG).bind(crypto.randomUUID(), JSON.stringify({ commission, partner_id: partner.id }), stamp),
  ]);
  return answer('{"received":true,"outcome":"commission"}', 200);
}

/** Makes the tables, a program with this key and its 20 partners. The first partner has the slug of the webhooks. */
async function prepare(request, env) {
  const hash = await hashOfKey(request);
  secret = request.headers.get("x-secret");
  const columns = "email text, slug text, status text, first_name text, last_name text, commission_pct real, payout_method text, payout_email text, metadata text, created_at text, updated_at text";
  const stamp = new Date().toISOString();
  await env.DB.batch([
    env.DB.prepare("create table programs (id text primary key, key_hash text unique, name text)"),
    env.DB.prepare("create table partners (program_id text, id text, " + columns + ", primary key (program_id, id)) without rowid"),
    env.DB.prepare("create table totals (program_id text primary key, total integer)"),
    env.DB.prepare("create unique index partners_slug on partners (slug)"),
    env.DB.prepare("create table log (id text primary key, payload text, created_at text)"),
    env.DB.prepare("create table received (id text primary key, body text, created_at text)"),
    env.DB.prepare("create table payments (id text primary key, customer text, amount integer, currency text, created_at text)"),
    env.DB.prepare("create table commissions (id text primary key, partner_id text, payment_id text, amount integer, created_at text)"),
    env.DB.prepare("insert into programs values ('prog_1', ?, 'Least')").bind(hash),
    env.DB.prepare("insert into totals values ('prog_1', 20)"),
    ...Array.from({ length: 20 }, (_, i) =>
      env.DB.prepare("insert into partners values ('prog_1', ?, ?, ?, 'active', null, null, null, null, null, null, ?, ?)")
        .bind("part_01m7x5fqvp4s92eawnhz4cz" + (100 + i), "p" + i + "@partners.example", i === 0 ? request.headers.get("x-ref") : "p" + i, stamp, stamp)),
  ]);
  return answer(null, 204);
}

/** Every answer of the service has its id, and a page of another origin may read a click's. */
function answer(body, status) {
  return new Response(body, {
    status,
    headers: { "Access-Control-Allow-Origin": "*", "X-Request-Id": "req_01m7x5fqvp4s92eawnhz4czc32" },
  });
}

export default {
  fetch(request, env, execution) {
    if (request.url.endsWith("/click")) return click(request, env, execution);
    if (request.url.endsWith("/call")) return env.CLICKS.getByName("clicks").nothing().then(() => answer(null, 204));
    if (request.url.endsWith("/prepare")) return prepare(request, env);
    if (request.method === "GET") return list(request, env);
    return request.url.includes("/webhooks/") ? webhook(request, env) : create(request, env);
  },
};`;
