/** Signing in leads to the page that was opened without a session (PAGE-29). */
import { beforeAll, describe, expect, it } from "vitest";
import { returnPath } from "../../src/http/pages/return-to.ts";
import { countRequest, createLinkByHand, openRequest } from "../../src/core/sessions/sign-in.ts";
import { makePartner, makeProgram, testContext, type TestProgram } from "../support/program.ts";
import { followLink, makeVisitor, signInOwner, textOf, type Visitor } from "../support/visitor.ts";

const DEEP = "/dashboard/payouts?status=pending";

let program: TestProgram;

beforeAll(async () => {
  program = await makeProgram();
});

/** Opens a page without a session, and requests a link on the sign-in page. */
async function askFrom(visitor: Visitor, address: string): Promise<string> {
  const { headers } = await visitor.get(address);
  const at = headers.get("location") ?? "";
  const { body } = await visitor.get(at);
  return /name="to" value="([^"]*)"/.exec(body)?.[1]?.replaceAll("&amp;", "&") ?? "";
}

async function linkTo(email: string, to: string): Promise<string> {
  const opened = await openRequest(testContext(), await countRequest(testContext(), email, returnPath(to)));
  return opened?.link.token ?? "";
}

describe("a page that is opened without a session (PAGE-29)", () => {
  it("is what the link leads to, in another browser too", async () => {
    const visitor = makeVisitor();
    const to = await askFrom(visitor, DEEP);
    expect(to).toBe(DEEP);
    expect(textOf(visitor.html)).toContain("Please sign in to open this page. You continue there after you sign in.");
    const email = program.program.owner_email;
    expect((await visitor.post("/sign-in", { email, to })).status).toBe(200);
    const link = await linkTo(email, to);
    expect((await followLink(makeVisitor(), link)).headers.get("location")).toBe(DEEP);
  });

  it("says that a session has ended where the browser had one", async () => {
    const visitor = await signInOwner(program);
    await visitor.post("/sign-out");
    visitor.cookies.set("__Host-session", "A".repeat(43));
    await askFrom(visitor, DEEP);
    expect(textOf(visitor.html)).toContain("You were signed out: your session has ended.");
  });

  it("leads to no page of others: a partner's link goes to the portal", async () => {
    const { email } = await makePartner(program, {}, "active");
    expect((await followLink(makeVisitor(), await linkTo(email, DEEP))).headers.get("location")).toBe("/portal");
    const portal = "/portal/payouts";
    expect((await followLink(makeVisitor(), await linkTo(email, portal))).headers.get("location")).toBe(portal);
  });

  it("is opened at once by who is signed in already", async () => {
    const visitor = await signInOwner(program);
    const { headers } = await visitor.get(`/sign-in?${new URLSearchParams({ to: DEEP }).toString()}`);
    expect(headers.get("location")).toBe(DEEP);
  });

  it("is the first page where the link was made by hand", async () => {
    const { token } = await createLinkByHand(testContext(), program.program.owner_email);
    expect((await followLink(makeVisitor(), token)).headers.get("location")).toBe("/dashboard");
  });
});

describe("an address to return to (PAGE-29)", () => {
  it.each(["/dashboard", "/portal", "/dashboard/flows/flw_1", "/portal/payouts?page=2", "/dashboard?done=saved"])(
    "is one of the dashboard or portal: %s",
    (path) => expect(returnPath(path)).toBe(path),
  );

  it.each([
    ...["", "/", "//evil.example", "https://evil.example/dashboard", "/dashboardx", "/sign-out", "/switch", "/docs"],
    ...["/dashboard/../sign-out", "/dashboard/..//evil.example", "/dashboard/%2e%2e/switch", "/dashboard\\evil"],
    ...["/\\evil.example/dashboard", "/dashboard/\n//evil", "/dashboard/ x", "javascript:/dashboard", "dashboard"],
    ...['/dashboard/"x', "/dashboard/<x>", "/dashboard#x", `/dashboard/${"x".repeat(1_000)}`],
  ])("is nothing else: %j", (path) => expect(returnPath(path)).toBeNull());

  it("names nobody: a search for a person's address is left out", () => {
    expect(returnPath("/dashboard/customers?search=jane%40shop.example")).toBe("/dashboard/customers");
    expect(returnPath("/dashboard/customers/jane@shop.example")).toBeNull();
  });
});
