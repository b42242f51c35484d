/** Each occasion of a webhook is played, and sends its event once (HOOK-15). */
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { OUTBOUND_EVENT_TYPES } from "../../src/domain/event.ts";
import { deliveriesOf } from "../support/conformance.ts";
import { makeEndpoint } from "../support/outbound.ts";
import type { Occasions, Scene, Way } from "../support/occasions.ts";
import { PLAYED_ELSEWHERE, SENDING_NOTHING } from "../support/unsent-routes.ts";
import { routeOf, WRITING } from "../support/writing-routes.ts";
import { makePayingProgram, playOutside } from "../support/payouts.ts";
import { CALLS } from "../support/program.ts";
import { signInOwner } from "../support/visitor.ts";
import { OCCASIONS } from "../support/event-occasions.ts";

afterEach(() => vi.restoreAllMocks());

const CASES = OUTBOUND_EVENT_TYPES.flatMap((type) =>
  (Object.entries(OCCASIONS[type]) as [Way, Occasions | null][]).flatMap(([way, occasions]) =>
    Object.entries(occasions ?? {}).map(([what, occasion]) => [type, way, what, occasion] as const),
  ),
);

const played = new Set<string>();
let cases = 0;

describe("each occasion of a webhook is an event that is sent (HOOK-15)", () => {
  it.each(CASES)("%s, %s: %s", async (type, _way, _what, occasion) => {
    const paying = await makePayingProgram();
    const { program, vendor, partner_id } = paying;
    playOutside(vendor);
    const api: Scene["api"] = async (method, path, body) => {
      const reply = await program.api<{ id: string }>(method, `/api/v1${path}`, body);
      expect([reply.status < 300, reply.body]).toEqual([true, reply.body]);
      return reply.body;
    };
    const { slug } = (await api("GET", `/partners/${partner_id}`)) as unknown as { slug: string };
    const act = await occasion({ ...paying, slug, api, owner: await signInOwner(program) });
    const { id: endpoint } = await makeEndpoint(program, "https://one.example/", [type]);
    const { id: everything } = await makeEndpoint(program, "https://all.example/");
    const before = CALLS.length;
    await act();
    for (const call of CALLS.slice(before)) played.add(routeOf(call) ?? call);
    cases++;
    const toAll = (await deliveriesOf(program, everything)).filter(({ event }) => event === type);
    const sent = await deliveriesOf(program, endpoint);
    expect(sent.map(({ event }) => event)).toEqual([type]);
    expect(toAll.map(({ event_id }) => event_id)).toEqual(sent.map(({ event_id }) => event_id));
    const { results } = await env.DB.prepare("select type from events where id = ?").bind(sent[0]!.event_id).all();
    expect(results).toHaveLength(1);
  });

  it("is asked for of every route that writes", ({ skip }) => {
    skip(cases < CASES.length, "not all were played");
    const unplayed = WRITING.filter((route) => !played.has(route));
    expect(unplayed.toSorted()).toEqual(
      [...Object.values(SENDING_NOTHING), ...Object.values(PLAYED_ELSEWHERE)].flat().toSorted(),
    );
  });
});
