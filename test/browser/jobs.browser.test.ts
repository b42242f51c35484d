/**
 * The number of clicks for an owner's weekly jobs in a browser, from the overview and from the page of the job
 * (PAGE-22).
 */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { Locator, Page } from "playwright-core";
import { ROOT } from "../../src/dev/root.ts";
import { sessionCompleted } from "../support/provider-a.ts";
import { apply } from "./pages-seed.ts";
import {
  mailedLink,
  SECRET_A,
  signInOwner,
  startPagesWorld,
  type OwnedProgram,
  type PagesWorld,
} from "./pages-world.ts";

/**
 * Clicks in the trial of the first version, from the overview; null if the pages could not do it. It paid 20 payouts by
 * 8.
 */
const JOBS = {
  "invite a partner": 3,
  "approve an application": null,
  "see who earns": 1,
  "find a payment, and why it earned nothing": 4,
  "approve a month of 89 commissions": 15,
  "make and pay 29 payouts": 16,
  "send a webhook again": 3,
  "change a rule, with its preview": 4,
  "rotate an API key that ends soon": 3,
  "rotate any other API key": 3,
  "import partners": 5,
  "erase a customer": null,
} as const satisfies Record<string, number | null>;

type JobName = keyof typeof JOBS;

/** The overview does not have it, because it only lists pending decisions: a click to its page, and one there. */
const MISSED: readonly JobName[] = ["rotate any other API key"];

let world: PagesWorld;

/** How an owner gets from page to page: by the links, without scripts too, or by the keys of PAGE-26. */
const WAYS = ["mouse", "mouse, without scripts", "shortcuts"] as const;
type Way = (typeof WAYS)[number];

/** The clicks of a job, by the way that was taken. */
const counted = new Map<JobName, Map<Way, number>>();

before(async () => {
  world = await startPagesWorld();
});
after(() => world.close());

/** An owner who begins on the overview: each click counts, and each form that a key sends. */
class Owner {
  readonly page: Page;
  readonly way: Way;
  clicks = 0;

  constructor(page: Page, way: Way) {
    this.page = page;
    this.way = way;
  }

  static async of({ owner_email }: OwnedProgram, way: Way): Promise<Owner> {
    const page = await world.visitor({ scripts: way !== "mouse, without scripts", isApart: true });
    await signInOwner(world, page, owner_email);
    return new Owner(page, way);
  }

  async click(place: Locator): Promise<void> {
    await place.click();
    this.clicks++;
  }

  link(name: string | RegExp): Promise<void> {
    return this.click(this.page.getByRole("main").getByRole("link", { name }).first());
  }

  press(name: string | RegExp): Promise<void> {
    return this.click(this.page.getByRole("main").getByRole("button", { name }).first());
  }

  async go(place: string): Promise<void> {
    const link = this.page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: place });
    if (this.way === "shortcuts") {
      for (const key of (await link.getAttribute("aria-keyshortcuts"))?.split(" ") ?? [])
        await this.page.keyboard.press(key);
    } else await this.click(link);
    await this.page.getByRole("heading", { level: 1, name: place }).waitFor();
  }

  async enter(field: Locator, text: string): Promise<void> {
    await field.fill(text);
    await field.press("Enter");
    this.clicks++;
  }

  /** The page reports the result and leads on. */
  async ends(job: JobName, said: string | RegExp): Promise<void> {
    await this.page.getByRole("main").getByText(said).first().waitFor();
    assert.ok((await this.page.locator("main a[href]:visible").count()) > 0, `${job} ends where nothing leads on`);
    const before = counted.get(job)?.get(this.way) ?? this.clicks;
    assert.equal(this.clicks, before, `${job} takes as many clicks each time`);
    counted.set(job, (counted.get(job) ?? new Map<Way, number>()).set(this.way, this.clicks));
    await this.page.context().close();
  }
}

let made = 0;

async function makeProgram(partners: number): Promise<OwnedProgram> {
  const owner_email = `jobs-${++made}@shop.example`;
  const program = await world.createProgram({ name: "Jobs", owner_email, domain: "shop.example" });
  await program.api("PATCH", "/programs/me", { provider_a_webhook_secret: SECRET_A, min_payout_cents: 0 });
  for (let i = 0; i < partners; i++) {
    const fields = {
      slug: `partner-${i}`,
      email: `partner-${i}@partners.example`,
      first_name: "Ada",
      last_name: `No. ${i}`,
      // Details that are set later would hold the payouts.
      ...{ payout_method: "wallet", payout_email: `partner-${i}@wallet.example` },
    };
    const { id } = await program.api("POST", "/partners", fields);
    await program.api("PATCH", `/partners/${id}`, { status: "active" });
  }
  return program;
}

for (const way of WAYS) {
  describe(`an owner's weekly jobs by ${way} (PAGE-22)`, () => {
    it("invites a partner, who gets an e-mail", async () => {
      const owner = await Owner.of(await makeProgram(0), way);
      const email = `jane.doe-${WAYS.indexOf(way)}@partners.example`;
      await owner.enter(owner.page.getByLabel("E-mail address of a new partner"), email);
      await owner.ends("invite a partner", "We sent an invitation");
      await mailedLink(world, email);
    });

    it("approves an application", async () => {
      const program = await makeProgram(0);
      await apply(world, program);
      const owner = await Owner.of(program, way);
      await owner.link("1 application");
      await owner.page.getByRole("table", { name: "Applications" }).waitFor();
      await owner.press(/^Approve Wolfe/);
      await owner.ends("approve an application", "Application approved. We e-mailed the partner their link");
    });

    it("sees who earns", async () => {
      const program = await makeProgram(1);
      await program.sendA(sessionCompleted({ ref: "partner-0", amount: 10_000 }));
      const owner = await Owner.of(program, way);
      const top = owner.page.getByRole("table", { name: /^Top partners/ }).getByRole("row", { name: /Ada No\. 0/ });
      assert.match((await top.textContent()) ?? "", /20\.00.USD/);
      await owner.ends("see who earns", "Top partners");
    });

    it("finds a payment from anywhere, by customer, order and partner, and why it earned nothing", async () => {
      const program = await makeProgram(1);
      await program.api(
        "DELETE",
        `/partners/${(await program.api<{ data: { id: string }[] }>("GET", "/partners")).data[0]?.id}`,
      );
      const sale = {
        ref: "partner-0",
        customer: "cus_jobs",
        email: "buyer@customers.example",
        payment_intent: "pi_jobs",
      };
      await program.sendA(sessionCompleted({ ...sale, amount: 4_000 }));
      const { data } = await program.api<{ data: Record<string, string>[] }>("GET", "/payments");
      const order = data[0]?.["provider_transaction_id"] ?? "";
      const searches = ["buyer@customers.example", "cus_jobs", order, "partner-0", "partner-0@partners.example"];
      for (const search of searches) {
        const owner = await Owner.of(program, way);
        await owner.page.goto(`${world.url}/dashboard/settings/team`);
        await owner.enter(owner.page.getByRole("searchbox", { name: "Find" }).first(), search);
        const rows = owner.page.getByRole("table", { name: "Payments" }).getByRole("row");
        await rows.nth(1).waitFor();
        assert.equal(await rows.count(), 2, search);
        await owner.click(rows.nth(1).getByRole("link").first());
        await owner.ends("find a payment, and why it earned nothing", /deactivated/);
      }
    });

    it("approves a month of 89 commissions and none of the flagged ones, then makes and pays 29 payouts", async () => {
      const program = await makeProgram(29);
      for (let i = 0; i < 89; i++)
        await program.sendA(sessionCompleted({ ref: `partner-${i % 29}`, amount: 5_000, payment_intent: `pi_${i}` }));
      await program.sendA(sessionCompleted({ ref: "partner-1", amount: 5_000, email: "partner-1@partners.example" }));
      let owner = await Owner.of(program, way);
      await owner.link("89 commissions");
      await owner.link("Approve all that match");
      await owner.press("Approve 89 commissions");
      await owner.ends("approve a month of 89 commissions", "89 commissions approved");
      const totalOf = async (list: string) => (await program.api<{ total: number }>("GET", list)).total;
      assert.equal(await totalOf("/commissions?status=pending"), 1);

      owner = await Owner.of(program, way);
      await owner.link("Prepare payouts");
      await owner.press("Prepare 29 payouts");
      await owner.press(/^Download/);
      await owner.page.getByLabel(/^Reference/).fill("SEPA 11");
      await owner.press("Mark these 29 as paid");
      await owner.ends("make and pay 29 payouts", "29 payouts marked as paid: ");
      assert.equal(await totalOf("/payouts?status=paid"), 29);
    });

    it("sends a webhook again that did not arrive", async () => {
      const program = await makeProgram(0);
      const endpoint = await program.api("POST", "/webhooks", { url: "https://away.example.com/hooks", events: ["*"] });
      await program.api("POST", "/partners", { slug: "jane", email: "jane@partners.example" });
      interface Tried {
        data: { attempts: unknown[] }[];
      }
      const tried = async (times: number) => {
        for (let i = 0; i < 600; i++) {
          const { data } = await program.api<Tried>("GET", `/webhooks/${endpoint.id}/deliveries`);
          if (data[0]?.attempts.length === times) return;
          await new Promise((resolve) => setTimeout(resolve, 100));
        }
        throw new Error(`the delivery was not tried ${times} times`);
      };
      await tried(1);
      const owner = await Owner.of(program, way);
      await owner.press(/^Resend/);
      await owner.ends("send a webhook again", "1 delivery that failed or was missed: being resent.");
      await tried(2);
    });

    it("changes a rule, and sees first what that would have changed", async () => {
      const program = await makeProgram(1);
      const conditions = [{ field: "txn_amount_cents", op: "gt", value: 9_000 }];
      const flow = { name: "Large orders", action_type: "percentage", action_value: 25, priority: 1, conditions };
      const { id } = await program.api("POST", "/flows", flow);
      await program.sendA(sessionCompleted({ ref: "partner-0", amount: 10_000 }));
      const owner = await Owner.of(program, way);
      await owner.go("Flows");
      const rate = owner.page.getByLabel("How much Large orders pays");
      // Scripts show the preview as it is typed.
      if (way === "mouse, without scripts") await owner.enter(rate, "40");
      else await rate.fill("40");
      await owner.page.getByText("Preview: nothing is saved yet").waitFor();
      await owner.page
        .getByRole("row", { name: /40\.00.USD/ })
        .first()
        .waitFor();
      await owner.press("Save");
      await owner.ends("change a rule, with its preview", "Saved. Applies to new payments only.");
      const saved = await program.api<Record<string, unknown>>("GET", `/flows/${id}`);
      assert.deepEqual([saved["action_value"], saved["conditions"]], [40, conditions]);
    });

    it("rotates an API key, from the overview where it ends soon, while the one before goes on", async () => {
      const program = await makeProgram(0);
      const works = async (key: string) => {
        const headers = { authorization: `Bearer ${key}` };
        assert.equal((await fetch(`${world.url}/api/v1/partners`, { headers })).status, 200);
      };
      const rotates = async (owner: Owner, job: JobName) => {
        await owner.press("Rotate Shop");
        const key = await owner.page.getByText(/^sk_/).first().textContent();
        await owner.ends(job, "Copy it now");
        await works(key?.trim() ?? "");
      };
      const fields = {
        name: "Shop",
        scopes: ["read"],
        expires_at: new Date(Date.now() + 10 * 86_400_000).toISOString(),
      };
      const { api_key } = await program.api<{ api_key: string }>("POST", "/api-keys", fields);
      await works(api_key);
      // Its use is recorded after the answer.
      const isUsed = async () => {
        const { data } = await program.api<{ data: { last_used_at: string | null }[] }>("GET", "/api-keys");
        return data[0]?.last_used_at !== null;
      };
      while (!(await isUsed())) await new Promise((resolve) => setTimeout(resolve, 50));
      await world.sql(`update api_keys set created_at = '2026-01-01T00:00:00.000Z' where program_id = '${program.id}'`);
      await rotates(await Owner.of(program, way), "rotate an API key that ends soon");
      const owner = await Owner.of(program, way);
      await owner.go("API keys");
      await rotates(owner, "rotate any other API key");
      await works(api_key);
    });

    it("imports partners, and sees first what will happen", async () => {
      const program = await makeProgram(0);
      const owner = await Owner.of(program, way);
      await owner.go("Import");
      await owner.page.getByLabel("Or paste it here").fill("email,slug\nlin@import.example,lin\n");
      // Scripts show the preview once the lines are entered.
      if (way === "mouse, without scripts") await owner.press("Preview");
      await owner.press("Import 1 line");
      await owner.ends("import partners", "1 partner added, 0 completed.");
      assert.equal((await program.api<{ total: number }>("GET", "/partners")).total, 1);
    });

    it("erases a customer", async () => {
      const program = await makeProgram(0);
      await program.sendA(sessionCompleted({ customer: "cus_1", email: "ada@customers.example", amount: 1_000 }));
      const owner = await Owner.of(program, way);
      await owner.go("Customers");
      await owner.link("ada@customers.example");
      await owner.link("Erase");
      await owner.press("Erase");
      await owner.ends("erase a customer", "Customer erased");
    });
  });
}

it("takes the clicks that src/docs/figures.md names: at most half of those of the trial, but for what it names", async () => {
  const rows = (Object.keys(JOBS) as JobName[]).map((job) => {
    const clicks = new Map(counted.get(job));
    const taken = (["mouse", "shortcuts", "mouse, without scripts"] as const).map(
      (way) => clicks.get(way) ?? Number.NaN,
    );
    const trial = JOBS[job];
    const [mouse = Number.NaN] = taken;
    if (trial !== null)
      assert.equal(mouse * 2 <= trial, !MISSED.includes(job), `${job}: ${mouse}, in the trial ${trial}`);
    return [job, ...taken, trial ?? "not possible"].join(" | ");
  });
  console.log(rows.join("\n"));
  const figures = (await readFile(join(ROOT, "src/docs/figures.md"), "utf8")).replaceAll(/ +/g, " ");
  assert.deepEqual(
    rows.filter((row) => !figures.includes(`| ${row} |`)),
    [],
  );
});
