/** What a stranger cannot do with the page for applications: take a reference that others carry (JOIN-6). */
import { describe, expect, it } from "vitest";
import { proveAddress } from "../../src/core/applications/apply.ts";
import { sendForm } from "../support/applications.ts";
import { sendA } from "../support/ledger.ts";
import { makePartner, makeProgram, testContext, type TestProgram } from "../support/program.ts";
import { sessionCompleted } from "../support/provider-a.ts";

/** The slug of a partner who applied under a name. */
async function joinAs(program: TestProgram, name: string): Promise<string> {
  const proof = await proveAddress(testContext(), (await sendForm(program, { name }))!);
  if (proof.outcome !== "proved") throw new Error(proof.outcome);
  return (await program.api<{ slug: string }>("GET", `/api/v1/partners/${proof.application.partner_id}`)).body.slug;
}

const makeJoinable = () => makeProgram({ applications: "auto" });

/** A slug with chance after it. */
const apart = (stem: string): unknown => expect.stringMatching(new RegExp(`^${stem}-[\\w-]{8}$`));

describe("the slug of somebody who applied (JOIN-6)", () => {
  it.each([
    ["1042", "1042"],
    ["10 42", "10-42"],
    ["NULL", "null"],
    ["undefined", "undefined"],
    ["null null", "null-null"],
    ["[object Object]", "object-object"],
    ["None", "none"],
    ["NaN", "nan"],
    ["True", "true"],
  ])("is not what is written where there is no partner: %j", async (name, stem) => {
    expect(await joinAs(await makeJoinable(), name)).toEqual(apart(stem));
  });

  it.each(["True North", "Nan Goldin", "Agent 47", "Nullarbor"])("is made of the name %j", async (name) => {
    expect(await joinAs(await makeJoinable(), name)).toBe(name.toLowerCase().replace(" ", "-"));
  });

  it("is not a reference that a payment carried and that led to nobody, and earns on none", async () => {
    const program = await makeJoinable();
    const other = await makeJoinable();
    const pay = async (ref: string) => (await sendA(program, sessionCompleted({ ref }))).body.outcome;
    expect(await pay("ProductHunt")).toBe("unknown_ref");
    expect(await joinAs(program, "producthunt")).toEqual(apart("producthunt"));
    expect(await pay("ProductHunt")).toBe("unknown_ref");
    expect(await joinAs(other, "producthunt")).toBe("producthunt");
  });

  it("is not one that a payment carried beside another, nor with a number after it", async () => {
    const program = await makeJoinable();
    const event = sessionCompleted({ ref: "cart-77", metadata: { service_ref: "newsletter" } });
    expect((await sendA(program, event)).body.outcome).toBe("unknown_ref");
    expect(await joinAs(program, "Newsletter")).toEqual(apart("newsletter"));
    await makePartner(program, { slug: "jane-roe" });
    await sendA(program, sessionCompleted({ ref: "jane-roe-2" }));
    expect(await joinAs(program, "Jane Roe")).toBe("jane-roe-3");
  });
});
