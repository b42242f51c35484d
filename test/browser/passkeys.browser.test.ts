/**
 * A passkey in Chromium with a device that the browser plays: added, used, removed, and not offered if the browser
 * cannot create one.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Page } from "playwright-core";
import { signInOwner, startPagesWorld, type PagesWorld } from "./pages-world.ts";

let world: PagesWorld;

before(async () => {
  world = await startPagesWorld();
});
after(async () => world.close());

/** Gives the browser of this page a device; `verifies` is whether its person is recognized. */
async function plugIn(page: Page, verifies: boolean) {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("WebAuthn.enable");
  const { authenticatorId } = await devtools.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      transport: "internal",
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: verifies,
      automaticPresenceSimulation: true,
    },
  });
  return {
    verify: (isUserVerified: boolean) => devtools.send("WebAuthn.setUserVerified", { authenticatorId, isUserVerified }),
    async credentials() {
      return (await devtools.send("WebAuthn.getCredentials", { authenticatorId })).credentials.length;
    },
  };
}

const press = (page: Page, name: string) => page.getByRole("button", { name, exact: true }).click();

describe("a member's passkey (PASS-1, PASS-2)", () => {
  it("is added on the page of sessions, signs in without an e-mail, and is removed", async () => {
    const { owner_email } = await world.createProgram({ name: "Keys", owner_email: "keys@example.com" });
    const page = await world.visitor();
    const device = await plugIn(page, true);
    await signInOwner(world, page, owner_email);
    await page.getByRole("link", { name: "Settings" }).first().click();
    await page.getByRole("link", { name: "Sessions" }).first().click();
    assert.equal(await page.getByText("does not support passkeys").isVisible(), false);
    await press(page, "Add a passkey");
    await page.getByText("Passkey added.").waitFor();
    assert.equal(await device.credentials(), 1);

    await press(page, "Add a passkey");
    await page.getByText("We got no passkey from your browser.").waitFor();

    await page.getByRole("row").filter({ hasText: "this one" }).getByRole("button", { name: "Sign out" }).click();
    await page.waitForURL("**/sign-in");
    await press(page, "Sign in with a passkey");
    await page.waitForURL("**/dashboard");

    await page.goto(`${world.url}/dashboard/settings/sessions`);
    await press(page, "Remove");
    await page.getByText("Passkey removed.").waitFor();
    await page.context().clearCookies();
    await page.goto(`${world.url}/sign-in`);
    await press(page, "Sign in with a passkey");
    await page.getByRole("heading", { name: "This passkey was not accepted" }).waitFor();
  });

  it("is not given where the device does not recognize its person, and can be tried again", async () => {
    const { owner_email } = await world.createProgram({ name: "Keys", owner_email: "again@example.com" });
    const page = await world.visitor();
    const device = await plugIn(page, false);
    await signInOwner(world, page, owner_email);
    await page.goto(`${world.url}/dashboard/settings/sessions`);
    await press(page, "Add a passkey");
    await page.getByText("We got no passkey from your browser.").waitFor();
    assert.equal(await device.credentials(), 0);
    await device.verify(true);
    await press(page, "Add a passkey");
    await page.getByText("Passkey added.").waitFor();
  });

  it("is not offered where the browser cannot give one, and the page says so", async () => {
    const { owner_email } = await world.createProgram({ name: "Keys", owner_email: "old@example.com" });
    const page = await world.visitor();
    await page.addInitScript(() => Reflect.deleteProperty(globalThis, "PublicKeyCredential"));
    await signInOwner(world, page, owner_email);
    await page.goto(`${world.url}/dashboard/settings/sessions`);
    await page.getByText("This browser does not support passkeys").waitFor();
    assert.equal(await page.getByRole("button", { name: "Add a passkey" }).isVisible(), false);
  });

  it("is not offered without scripts", async () => {
    const page = await world.visitor({ scripts: false });
    await page.goto(`${world.url}/sign-in`);
    await page.getByRole("button", { name: "E-mail me a link" }).waitFor();
    assert.equal(await page.getByRole("button", { name: "Sign in with a passkey" }).isVisible(), false);
  });
});
