/** The starts that several occasions of webhooks share. */
import { makeApplication, openLink } from "./applications.ts";
import { makeClaim } from "./claims.ts";
import { send } from "./every-event.ts";
import { well, sold, type Occasion, type Scene } from "./occasions.ts";
import { sendBody } from "./ledger.ts";
import { makeExport, makePayout } from "./payouts.ts";
import type { TestProgram } from "./program.ts";
import { takeBack, type VendorTransfer } from "./provider-a-api.ts";
import { saleAt } from "./sale.ts";
import type { Visitor } from "./visitor.ts";

/** The length of the longest month. */
export const MONTH = 31 * 86_400_000;

const RATE = { name: "Half", action_type: "percentage", action_value: 50 };
export const RATE_TYPED = { ...RATE, action_value: "50", priority: "0", active: "yes", apply: "yes" };

/** Rule changes that apply from a time before a payment, each with its route and body. */
type Rule = (scene: Scene) => Promise<[path: string, given: Record<string, unknown>]>;
export const ofPartner: Rule = async ({ partner_id }) => [`/partners/${partner_id}`, { commission_pct: 50 }];
export const ofProgram: Rule = async () => ["/programs/me", { default_commission_pct: 50 }];
export const ofFlow: Rule = async ({ api }) => {
  const { id } = await api("POST", "/flows", { ...RATE, active: false });
  return [`/flows/${id}`, { active: true }];
};
export const ofGroup: Rule = async ({ program }) => [`/groups/grp_${program.id.slice(5)}`, { commission_pct: 50 }];
export const ofNewFlow: Rule = async () => ["/flows", RATE];

export const applied = (rule: Rule, method = "PATCH"): Occasion => {
  return async (scene) => {
    const [path, given] = await rule(scene);
    const { apply_from } = await sold(scene);
    return () => scene.api(method, path, { ...given, apply_from });
  };
};
export const appliedByForm = (
  form: (scene: Scene) => Promise<[path: string, fields: Record<string, string>]>,
): Occasion => {
  return async (scene) => {
    const [path, fields] = await form(scene);
    const { day: apply_from } = await sold(scene);
    return () => send(scene.owner, path, { ...fields, apply_from, apply: "yes" });
  };
};

/** A payment that was refused while its partner was deactivated, and that can be decided again. */
export async function refused({ program, slug, partner_id, api }: Scene): Promise<string> {
  await api("PATCH", `/partners/${partner_id}`, { status: "deactivated" });
  await well(sendBody(program, "provider_a", saleAt("provider_a", { ref: slug, program: program.id })));
  await api("PATCH", `/partners/${partner_id}`, { status: "active" });
  const { body } = await program.api<{ data: { id: string }[] }>("GET", "/api/v1/payments");
  return body.data[0]!.id;
}

export async function importByForm({ owner }: Scene, csv: string): Promise<void> {
  await owner.get("/dashboard/partners/import");
  await well(owner.post("/dashboard/partners/import", { csv, confirmed: "yes" }));
}

type OfPayout = (scene: Scene, payout_id: string) => Promise<unknown>;
export const ofPayout = (act: OfPayout, make: (scene: Scene) => Promise<{ id: string }> = makePayout): Occasion => {
  return async (scene) => {
    const { id } = await make(scene);
    return () => act(scene, id);
  };
};

/** A file of one payout that is marked as paid. */
export async function paidExport(scene: Scene): Promise<{ id: string }> {
  const file = await makeExport(scene);
  await well(scene.program.api("POST", `/api/v1/payouts/exports/${file.id}/paid`));
  return file;
}

/** A result file with one status for all payouts. */
function reportOf(id: string, status: string): string {
  return `<Document><CstmrPmtStsRpt><OrgnlGrpInfAndSts><OrgnlMsgId>${id}</OrgnlMsgId><GrpSts>${status}</GrpSts></OrgnlGrpInfAndSts></CstmrPmtStsRpt></Document>`;
}

export function sendResults(program: TestProgram, id: string, status: string): Promise<unknown> {
  const xml = { "content-type": "application/xml" };
  return well(program.api("POST", `/api/v1/payouts/exports/${id}/results`, reportOf(id, status), xml));
}

export function postResults(owner: Visitor, id: string, status: string): Promise<void> {
  return send(owner, `/dashboard/payouts/exports/${id}/results`, { text: reportOf(id, status), confirmed: "yes" });
}

/** A pending claim, and a payment that is attributed to its partner. */
async function claimed({ program, slug, partner_id }: Scene): Promise<{ claim: string; payment_id: string }> {
  await well(sendBody(program, "provider_a", saleAt("provider_a", { ref: slug, program: program.id })));
  const { body } = await program.api<{ data: { id: string }[] }>("GET", "/api/v1/payments");
  return { claim: await makeClaim(program, partner_id, { order_id: "lost" }), payment_id: body.data[0]!.id };
}

export const ofClaim = (decide: (scene: Scene, claim: string, payment_id: string) => Promise<unknown>): Occasion => {
  return async (scene) => {
    const { claim, payment_id } = await claimed(scene);
    return () => decide(scene, claim, payment_id);
  };
};

/** A payout paid by a transfer, which the vendor reverses in full. */
export async function takenBack(scene: Scene): Promise<VendorTransfer> {
  await paid(scene);
  const [transfer] = scene.vendor.transfers;
  takeBack(transfer!);
  return transfer!;
}

export async function paid(scene: Scene): Promise<{ id: string }> {
  const { id } = await makePayout(scene);
  await scene.api("POST", `/payouts/${id}/pay`);
  return { id };
}

export const NOWHERE = {
  api: null,
  dashboard: null,
  portal: null,
  visitor: null,
  import: null,
  provider: null,
  job: null,
};
export const APPLICATIONS = "/dashboard/partners/applications";

export const applicant =
  (act: (scene: Scene, application_id: string) => Promise<unknown>): Occasion =>
  async (scene) => {
    const id = await makeApplication(scene.program);
    return () => act(scene, id);
  };

export const proved =
  (applications: "review" | "auto"): Occasion =>
  async ({ api, program }) => {
    await api("PATCH", "/programs/me", { applications });
    const press = await openLink(program);
    return () => well(press());
  };
