import { singular } from "./field-texts.ts";
import type { Route } from "./route.ts";

/** Those whose path does not say it. */
const IRREGULAR: Record<string, string> = {
  "GET /api/v1/programs/me": "getProgram",
  "PATCH /api/v1/programs/me": "updateProgram",
  "POST /api/v1/partners/:id/provider-a-account": "startPartnerOnboarding",
  "POST /api/v1/partners/:id/provider-a-account/forget": "forgetPartnerAccount",
  "POST /api/v1/applications/bulk": "decideApplications",
  "POST /api/v1/commissions/bulk": "updateCommissions",
  "POST /api/v1/integrations/:provider/destination": "createIntegrationDestination",
  "GET /api/v1/codes/export.csv": "exportCodes",
  "GET /api/v1/payouts/export.csv": "exportPayouts",
  "POST /api/v1/track/lead": "trackLead",
  "POST /api/v1/track/sale": "trackSale",
  "POST /api/v1/track/refund": "trackRefund",
  "POST /api/v1/customers/erase": "eraseCustomer",
  "POST /api/v1/payouts/generate": "generatePayouts",
  "POST /admin/programs/:id/api-key": "createProgramApiKey",
  "POST /admin/reconcile": "reconcileLedger",
  "POST /admin/secrets/reseal": "resealSecrets",
  "GET /api/v1/integrations/script": "checkInstallation",
  "GET /service.js": "getScript",
  "POST /click": "recordClick",
  "OPTIONS /click": "allowClick",
  "GET /r/:program_id/:slug": "followLink",
  "GET /healthz": "getHealth",
  "GET /openapi.json": "getDocument",
  "GET /docs/events/:file": "getEventSchema",
  "GET /docs": "getDocs",
  "GET /docs/:guide": "getGuide",
  "GET /docs/api/:section": "getDocsSection",
  "GET /llms.txt": "getTextIndex",
  "GET /docs/search": "searchDocs",
  "GET /docs/search.json": "getSearchIndex",
};

const VERBS = { GET: "get", POST: "create", PATCH: "update", DELETE: "delete", PUT: "replace", OPTIONS: "allow" };

/**
 * The id of an operation, by which generated clients call it: `listPartners`, `approveApplication`. It follows from the
 * method and the path, and never changes once published (HTTP-31).
 */
export function operationIdOf({ method, path }: Pick<Route, "method" | "path">): string {
  return IRREGULAR[`${method} ${path}`] ?? derived(method, path);
}

function derived(method: Route["method"], path: string): string {
  const parts = path
    .replace(/^\/(api\/v1|admin)\//, "")
    .split("/")
    .filter(Boolean);
  const isOne = (i: number) => parts[i + 1]?.startsWith(":") === true;
  const nouns = parts.flatMap((part, i) => (part.startsWith(":") ? [] : [isOne(i) ? singular(part) : part]));
  const last = nouns.pop() ?? "";
  if (parts.at(-1)?.startsWith(":")) return camel(VERBS[method], ...nouns, last);
  const isList = last.endsWith("s") && !last.endsWith("ss") && last !== "status";
  if (method === "GET") return camel(isList ? "list" : "get", ...nouns.map(singular), last);
  if (method !== "POST") return camel(VERBS[method], ...nouns.map(singular), last);
  if (isList) return camel("create", ...nouns.map(singular), singular(last));
  if (parts[0] === "webhooks" && parts.length === 2 && path.startsWith("/webhooks/")) return camel("receive", last);
  // An action: `mark-paid` of payouts is `markPayoutPaid`.
  const [verb = "", ...rest] = last.split("-");
  return camel(verb, ...nouns.map(singular), ...rest);
}

/** `["list", "sign-in", "links"]` as `listSignInLinks`. */
function camel(...words: string[]): string {
  const [first = "", ...others] = words.join("-").split(/[^A-Za-z0-9]/);
  return first + others.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("");
}
