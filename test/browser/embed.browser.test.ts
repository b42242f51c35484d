/** The portal in a frame of the owner's own site, in a real browser (EMBED-1 to EMBED-3). */
import assert from "node:assert/strict";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Page } from "playwright-core";
import { startPagesWorld, type OwnedProgram, type PagesWorld } from "./pages-world.ts";

describe("the portal in a frame", () => {
  let world: PagesWorld;
  let program: OwnedProgram;
  let partner: { id: string };
  let site: Server;
  let html = "";

  before(async () => {
    world = await startPagesWorld();
    const domain = "framed.localhost";
    program = await world.createProgram({ name: "Framed", owner_email: "owner@framed.example", domain });
    partner = await program.api("POST", "/partners", { email: "jane@partners.example", slug: "jane" });
    // Every name below localhost leads here, each a site of its own.
    site = createServer((_, response) => response.setHeader("content-type", "text/html").end(html));
    await new Promise<void>((resolve) => site.listen(0, "127.0.0.1", resolve));
  });
  after(async () => {
    site.close();
    await world.close();
  });

  /** A page of a site that has the portal in a frame, and the browser's messages about refused frames. */
  async function pageAt(host: string): Promise<{ page: Page; refusals: string[] }> {
    const { url } = await program.api<{ url: string }>("POST", `/partners/${partner.id}/portal-links`);
    html = `<!doctype html><title>Account</title><iframe src="${url}" width="380" height="780"></iframe>`;
    const page = await world.visitor({ width: 390 });
    const refusals: string[] = [];
    page.on("console", (message) => {
      if (message.text().includes("frame-ancestors")) refusals.push(message.text());
    });
    await page.goto(`http://${host}:${(site.address() as AddressInfo).port}/account`);
    return { page, refusals };
  }

  for (const host of ["framed.localhost", "app.framed.localhost"]) {
    it(`is shown and used at ${host}`, async () => {
      const { page, refusals } = await pageAt(host);
      const frame = page.frameLocator("iframe");
      await frame.getByText("Menu", { exact: true }).click();
      await frame.getByRole("navigation", { name: "Menu" }).getByRole("link", { name: "Missing sale?" }).click();
      await frame.getByLabel("Order id").fill(`order of ${host}`);
      await frame.getByRole("button", { name: "Send" }).click();
      await frame.getByText("The program will review it, and the answer appears here.").waitFor();
      assert.deepEqual(refusals, []);
      const own = (await page.context().cookies()).filter(({ name }) => name === "__Host-framed");
      assert.deepEqual(
        own.map(({ sameSite, secure, httpOnly }) => [sameSite, secure, httpOnly]),
        [["None", true, true]],
      );
      // It does not sign in a page outside of the frame.
      await page.goto(`${world.url}/portal`);
      assert.equal(new URL(page.url()).pathname, "/sign-in");
      await page.context().close();
    });
  }

  it("is not shown by another site", async () => {
    const { page, refusals } = await pageAt("framed.other.localhost");
    for (let i = 0; refusals.length === 0 && i < 300; i++) await sleep(100);
    assert.ok(refusals.length > 0, "the browser refused nothing");
    assert.equal(await page.frameLocator("iframe").getByText("Menu", { exact: true }).count(), 0);
    await page.context().close();
  });
});
