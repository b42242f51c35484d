import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { dnsJson, playOutsideWorld, PUBLIC_IPV4, type ZoneEntry } from "../support/dns.ts";
import { attemptsOf, deliveriesOf, makeEndpoint, openOutbound } from "../support/outbound.ts";
import { makePartner, makeProgram, testContext } from "../support/program.ts";
import { URL_CASE_REDIRECTS, URL_CASE_ZONE, URL_CASES } from "../support/url-cases.ts";

beforeEach(() => void vi.spyOn(console, "info").mockImplementation(() => {}));
afterEach(() => vi.restoreAllMocks());

/** Create and PATCH refuse an address by its text alone; the other cases depend on the resolver or the receiver. */
const REFUSED_BY_TEXT = URL_CASES.filter(({ stage }) => !["dns", "redirect", "ok", "range"].includes(stage));
const TAKEN = URL_CASES.filter(({ stage }) => ["dns", "redirect", "ok", "range"].includes(stage));

describe("addresses at create and at PATCH (HOOK-7)", () => {
  it("have both kinds of cases", () => {
    expect([REFUSED_BY_TEXT.length > 80, TAKEN.length > 10]).toEqual([true, true]);
  });

  it("are refused by their text where it suffices, with the field's name, and nothing changes", async () => {
    const program = await makeProgram();
    const { id, url } = await makeEndpoint(program, "https://hooks.example/");
    type Failure = { error?: { code: string; details: { path: string }[] } };
    const answers = await Promise.all(
      REFUSED_BY_TEXT.flatMap(({ input }) => [
        program.api<Failure>("POST", "/api/v1/webhooks", { url: input, events: ["*"] }),
        program.api<Failure>("PATCH", `/api/v1/webhooks/${id}`, { url: input }),
      ]),
    );
    expect(answers.map(({ status, body: { error } }) => [status, error?.code, error?.details[0]?.path])).toEqual(
      answers.map(() => [422, "validation_failed", "url"]),
    );
    const { body } = await program.api<{ data: { url: string }[] }>("GET", "/api/v1/webhooks");
    expect(body.data.map((endpoint) => endpoint.url)).toEqual([url]);
  });

  it("are taken where only the look-up can decide", async () => {
    const program = await makeProgram();
    const { id } = await makeEndpoint(program, "https://hooks.example/");
    for (const { input } of TAKEN) {
      const reply = await program.api("PATCH", `/api/v1/webhooks/${id}`, { url: input });
      expect([input, reply.status]).toEqual([input, 200]);
    }
  });
});

/** Refused as targets too: the service's own hosts, `PUBLIC_URL` and the workers.dev name (HOOK-7). */
const OWN_URLS = [
  "https://service.example/api/v1/partners",
  "https://SERVICE.example:8443/",
  "https://affiliate-program-service.someone.workers.dev/",
  "https://0a1b2c3d-affiliate-program-service.someone.workers.dev/webhooks/provider_a",
];

describe("the service's own hosts (HOOK-7)", () => {
  it("are refused at create and at PATCH, with the field's name, and nothing changes", async () => {
    const program = await makeProgram();
    const { id, url } = await makeEndpoint(program, "https://hooks.example/");
    type Failure = { error?: { details: { path: string; message: string }[] } };
    for (const own of OWN_URLS) {
      for (const reply of [
        await program.api<Failure>("POST", "/api/v1/webhooks", { url: own, events: ["*"] }),
        await program.api<Failure>("PATCH", `/api/v1/webhooks/${id}`, { url: own }),
      ]) {
        expect([own, reply.status, reply.body.error?.details]).toEqual([
          own,
          422,
          [{ path: "url", message: "The URL must not lead to this service itself." }],
        ]);
      }
    }
    const { body } = await program.api<{ data: { url: string }[] }>("GET", "/api/v1/webhooks");
    expect(body.data.map((endpoint) => endpoint.url)).toEqual([url]);
  });

  it("are called at no attempt, whatever is stored or an alias leads to, and others on workers.dev are", async () => {
    const program = await makeProgram();
    const { id } = await makeEndpoint(program, "https://hooks.example/");
    const others = [
      "https://hooks.someone.workers.dev/",
      "https://affiliate-program-services.someone.workers.dev/",
      "https://affiliate-program-service.someone.workers.dev.example/",
      "https://sub.service.example/",
    ];
    const ok = () => new Response("ok");
    const world = playOutsideWorld({
      zone: Object.fromEntries([
        ...[...OWN_URLS, ...others].map((url) => [new URL(url).hostname, { A: [PUBLIC_IPV4] }]),
        ["alias.example", { CNAME: ["service.example."], A: [PUBLIC_IPV4] }],
      ]),
      receivers: Object.fromEntries(
        [...OWN_URLS, ...others, "https://alias.example/"].map((url) => [new URL(url).hostname, ok]),
      ),
    });
    const clock = { now: Date.now() };
    const outbound = openOutbound(world, clock);
    const statusAt = async (url: string) => {
      await env.DB.prepare("update webhook_endpoints set url = ? where id = ?").bind(url, id).run();
      const { body } = await program.api<{ id: string }>("POST", `/api/v1/webhooks/${id}/test`);
      clock.now = Date.now();
      await outbound.deliver(body.id);
      return (await deliveriesOf(program)).find((delivery) => delivery.id === body.id)?.status;
    };
    for (const url of [...OWN_URLS, "https://alias.example/"])
      expect([url, await statusAt(url)]).toEqual([url, "blocked"]);
    expect(world.requests).toEqual([]);
    for (const url of others) expect([url, await statusAt(url)]).toEqual([url, "succeeded"]);
  });
});

describe("addresses at delivery, whatever is stored (HOOK-7)", () => {
  it("have the verdict of every case", async () => {
    const program = await makeProgram();
    const { id } = await makeEndpoint(program, "https://hooks.example/");
    // Stored without the API, as if before the rules or by a mistake of ours.
    const stored = URL_CASES.map(async ({ input }, i) => {
      const row = `whe_${i}${program.id}`;
      const place = { table: "webhook_endpoints", column: "secret", row } as const;
      return { row, input, secret: await testContext().sealer.seal("whsec_c2VjcmV0", place) };
    });
    await env.DB.prepare(
      `insert into webhook_endpoints (id, program_id, url, secret, events, created_at, updated_at)
      select u.value ->> 'row', e.program_id, u.value ->> 'input', u.value ->> 'secret', e.events, e.created_at,
        e.updated_at
      from webhook_endpoints e join json_each(?) u where e.id = ?`,
    )
      .bind(JSON.stringify(await Promise.all(stored)), id)
      .run();
    await makePartner(program, {}, "invited");
    const hostOf = (input: string) => (URL.canParse(input) ? new URL(input).hostname : "");
    const receivers = Object.fromEntries(
      [...URL_CASES.map(({ input }) => hostOf(input)), "public2.example", "hooks.example"].map((host) => {
        const [status, location] = URL_CASE_REDIRECTS[host] ?? [204, "none"];
        return [host, () => new Response(null, { status, headers: { location } })];
      }),
    );
    const world = playOutsideWorld({ zone: URL_CASE_ZONE, receivers });
    const outbound = openOutbound(world, { now: Date.now() });
    const ids = (await deliveriesOf(program)).map((row) => row.id);
    for (let i = 0; i < ids.length; i += 5) await outbound.deliver(...ids.slice(i, i + 5));

    const { results } = await env.DB.prepare(
      `select e.url as url, d.status as status, a.error as error from deliveries d
      join webhook_endpoints e on e.id = d.endpoint_id left join delivery_attempts a on a.delivery_id = d.id
      where d.program_id = ?`,
    )
      .bind(program.id)
      .all<{ url: string; status: string; error: string | null }>();
    const verdicts = new Map(results.map(({ url, status, error }) => [url, `${status} ${error}`]));
    for (const { input, stage } of URL_CASES) {
      let expected = "blocked blocked";
      if (stage === "ok" || stage === "range") expected = "succeeded null";
      else if (stage === "redirect") expected = "pending redirect";
      else if (hostOf(input) === "empty.example") expected = "pending dns";
      expect([input, verdicts.get(input)]).toEqual([input, expected]);
    }
    const called = TAKEN.filter(({ stage }) => stage !== "dns").map(({ input }) => new URL(input).href);
    const reached = world.requests.map(({ url }) => url.href);
    expect(reached.toSorted()).toEqual([...called, "https://hooks.example/"].toSorted());
  });

  const PRIVATE = "192.168.1.1";
  it("are resolved again at every attempt: a second answer that differs is judged alone", async () => {
    const program = await makeProgram();
    await makeEndpoint(program, "https://moving.example/");
    await makePartner(program, {}, "invited");
    const answers: ZoneEntry[] = [{ A: [PUBLIC_IPV4] }, { status: 2 }, { A: [PRIVATE] }];
    const world = playOutsideWorld({
      zone: { "moving.example": ({ name, type, nth }) => dnsJson(name, type, answers[nth - 1]!) },
      receivers: { "moving.example": () => new Response(null, { status: 500 }) },
    });
    const clock = { now: Date.now() };
    const outbound = openOutbound(world, clock);
    const [row] = await deliveriesOf(program);
    for (const wait of [0, 300_000, 1_800_000, 7_200_000]) {
      clock.now += wait;
      await outbound.deliver(row!.id);
    }
    expect((await attemptsOf(row!.id)).map(({ error }) => error)).toEqual(["http", "dns", "blocked"]);
    expect((await deliveriesOf(program))[0]).toMatchObject({ status: "blocked", attempt_count: 3 });
    expect(world.requests).toHaveLength(1);
  });
});
