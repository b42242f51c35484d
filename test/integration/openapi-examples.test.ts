/** The examples of the reference match their operation or event: they have its state and objects of their own (HTTP-36). */
import { describe, expect, it } from "vitest";
import { SENT_EVENT_TYPES } from "../../src/domain/event.ts";
import { CHANGED_EXAMPLES } from "../../src/http/openapi/example-states.ts";
import { schemaProblems } from "../support/json-schema.ts";
import { operations, servedDocument } from "../support/openapi.ts";
import { call } from "../support/program.ts";

type Shown = Record<string, unknown>;

/** Every success reply of an operation, with its example. */
const REPLIES = operations().flatMap(({ path, operation }) =>
  Object.entries(operation.responses).flatMap(([status, answer]) => {
    const { schema, example } = ("$ref" in answer ? {} : answer.content?.["application/json"]) ?? {};
    if (schema === undefined || "$ref" in answer) return [];
    return [{ id: operation.operationId, status, path, description: answer.description, schema, example }];
  }),
);

/** The state of the event's object, by the last word of the event's type. */
const STATES: Record<string, string> = {
  ...{ "applications.received": "pending", "claim.created": "open", "commission.created": "pending" },
  ...{ "partner.created": "invited", "payout.generated": "pending" },
  ...{ approved: "approved", declined: "declined", granted: "granted", paid: "paid" },
};

function sent(event: string): Shown {
  const content = servedDocument().webhooks[event]!.post.requestBody!.content["application/json"]!;
  return (content.example as { data: Shown }).data;
}

describe("the example of a reply (HTTP-36)", () => {
  it("fits its schema", () => {
    expect(REPLIES.length).toBeGreaterThan(60);
    for (const { id, schema, example } of REPLIES)
      expect([id, schemaProblems(schema, example, servedDocument())]).toEqual([id, []]);
  });

  it("has the state that the description names", () => {
    const named = REPLIES.flatMap((reply) => {
      const [, state] = /(?:now|still|commission,) `([a-z]+)`/.exec(reply.description) ?? [];
      return state === undefined ? [] : [{ ...reply, state }];
    });
    expect(named.map(({ id }) => id)).toEqual(
      expect.arrayContaining(["cancelPayout", "declineClaim", "deletePartner"]),
    );
    for (const { id, example, state } of named) expect([id, (example as Shown)["status"]]).toEqual([id, state]);
  });

  it("is of the object that the path names", () => {
    const kinds = REPLIES.flatMap(({ id, path, example }) => {
      const prefix = path.endsWith("{id}") ? String((example as Shown)["id"]).split("_")[0] : undefined;
      const { operation } = operations().find((one) => one.operation.operationId === id)!;
      const asked = operation.parameters?.find(({ name }) => name === "id")?.example?.split("_")[0];
      return prefix === undefined || asked === undefined ? [] : [[id, prefix, asked]];
    });
    expect(kinds.length).toBeGreaterThan(20);
    for (const [id, prefix, asked] of kinds) expect([id, prefix]).toEqual([id, asked]);
  });
});

describe("the example of an event (HTTP-36)", () => {
  it.each(SENT_EVENT_TYPES)(
    "of %s fits its schema, which has it too, and has the state that the event reports",
    async (event) => {
      const data = sent(event);
      const { body } = await call<{ examples: unknown[] }>(`/docs/events/${event}.json`);
      expect(schemaProblems(body, data, body)).toEqual([]);
      expect(body.examples).toEqual([data]);
      const state = STATES[event] ?? STATES[event.split(".").at(-1) ?? ""];
      if (state !== undefined) expect(data["status"]).toBe(state);
    },
  );

  it("has no decision before there is one, and no payment before it is paid", () => {
    for (const event of SENT_EVENT_TYPES) {
      const { status, decided_at, paid_at } = sent(event);
      if (decided_at !== undefined)
        expect([event, decided_at === null]).toEqual([event, ["open", "pending"].includes(String(status))]);
      if (paid_at !== undefined)
        expect([event, paid_at !== null]).toEqual([event, status === "paid" || status === "returned"]);
    }
  });
});

it("changes no example of what is not there", () => {
  const there = new Set([...SENT_EVENT_TYPES, ...REPLIES.flatMap(({ id, status }) => [id, `${id} ${status}`])]);
  expect(Object.keys(CHANGED_EXAMPLES).filter((name) => !there.has(name))).toEqual([]);
});
