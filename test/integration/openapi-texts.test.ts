import { describe, expect, it } from "vitest";
import type { JsonSchema } from "../../src/http/openapi/types.ts";
import { ERROR_CODES } from "../../src/http/errors.ts";
import { ERRORS } from "../../src/http/openapi/errors.ts";
import { FIELD_TEXTS } from "../../src/http/openapi/field-texts.ts";
import { operations, servedDocument } from "../support/openapi.ts";
import { call } from "../support/program.ts";

/** Published ids never change, because generated clients call operations by them. */
const PUBLISHED_IDS = `
  allowClick checkInstallation approveApplication cancelPayout createApiKey createCommission createFlow createImport
  createIntegrationDestination createMember createPartner createPartnerCode createPartnerPortalLink
  createProgram createProgramApiKey createSignInLink createWebhook decideApplications declineApplication
  declineClaim deleteApiKey deleteCode deleteFlow deleteMember deletePartner deleteWebhook eraseCustomer
  concludePayout exportCodes exportPayouts followLink forgetPartnerAccount generatePayouts getApplication getClaim getClickSummary getCode
  getCodeSummary getCommission getDocs getDocsSection getDocument getEvent getEventSchema getFlow getGuide
  getHealth getIntegrationStatus getPartner getPartnerBalance getPayment getPayout getProgram getScript
  getSearchIndex getTextIndex getWebhook grantClaim invitePartner listApiKeys listApplications listClaims
  listCommissions listEvents listFlows listMembers listPartnerCodes listPartnerEntries listPartners
  listPayments listPayouts listPrograms listWebhookDeliveries listWebhooks markPayoutPaid payPayout
  receiveProviderA receiveProviderB reconcileIntegration reconcileLedger recordClick recoverWebhook
  redeliverWebhookDelivery reprocessPayment resealSecrets rotateWebhookSecret searchDocs simulateFlow
  startPartnerOnboarding testWebhook trackLead trackRefund trackSale updateCommission updateCommissions
  updateFlow updateMember updatePartner updateProgram updateWebhook
`;

interface Property {
  at: string;
  description: string | undefined;
  /** The descriptions of the alternatives inside it. */
  within: string[];
  isObject: boolean;
}

/** Every property that a schema holds, at any depth. */
function propertiesOf(schema: JsonSchema, at: string): Property[] {
  const { properties = {}, items, anyOf = [], oneOf = [], allOf = [], additionalProperties: more } = schema;
  return [
    ...Object.entries(properties).flatMap(([name, property]) => [
      propertyOf(`${at}.${name}`, property),
      ...propertiesOf(property, `${at}.${name}`),
    ]),
    ...[...anyOf, ...oneOf, ...allOf, ...(items ? [items] : []), ...(typeof more === "object" ? [more] : [])].flatMap(
      (one) => propertiesOf(one, at),
    ),
  ];
}

function propertyOf(at: string, { description, properties, anyOf = [], oneOf = [] }: JsonSchema): Property {
  const choices = [...anyOf, ...oneOf];
  const within = choices.flatMap((one) => (one.description === undefined ? [] : [one.description]));
  return {
    at,
    description,
    within,
    isObject: [{ properties }, ...choices].some((one) => one.properties !== undefined),
  };
}

function everyProperty(): Property[] {
  const { components, webhooks } = servedDocument();
  const bodies = Object.entries(webhooks).map(
    ([event, { post }]) => [event, post.requestBody?.content["application/json"]?.schema ?? {}] as const,
  );
  return [...Object.entries(components.schemas), ...bodies].flatMap(([name, schema]) => propertiesOf(schema, name));
}

describe("the document's operation ids", () => {
  it("keep all that were published (HTTP-31)", () => {
    const ids = operations().map(({ operation }) => operation.operationId);
    expect(ids).toEqual(expect.arrayContaining(PUBLISHED_IDS.trim().split(/\s+/)));
  });

  it("are a verb and a noun (HTTP-31)", () => {
    for (const { operation, method } of operations()) {
      expect(operation.operationId).toMatch(/^[a-z]+([A-Z][a-z]*)+$/);
      if (operation.operationId.startsWith("list")) expect(method).toBe("GET");
    }
  });
});

describe("the document's texts", () => {
  it("name each operation by what it does: a verb first, once", () => {
    const summaries = operations().map(({ operation }) => operation.summary);
    const verbs =
      /^(?:Add|Answer|Approve|Cancel|Change|Check|Create|Deactivate|Decide|Decline|Delete|Download|Erase|Export|Fetch|Follow|Forget|Generate|Get|Give|Grant|Import|Invite|List|Mark|Pay|Put|Receive|Record|Recover|Redeliver|Remove|Replace|Report|Reprocess|Reseal|Release|Rotate|Search|Send|Set|Simulate|Start|Summarize|Take|Update)\b/;
    expect(summaries.filter((summary) => !verbs.test(summary))).toEqual([]);
    expect(new Set(summaries).size).toBe(summaries.length);
  });

  it("describe every property of every schema (HTTP-32)", async () => {
    const properties = everyProperty();
    const missing = properties.filter(({ description = "" }) => !/^\S.*[.)]$/s.test(description));
    expect(missing).toEqual([]);
    const published = await Promise.all(
      Object.keys(servedDocument().webhooks).map(async (event) => {
        const { body } = await call<JsonSchema>(`/docs/events/${event}.json`);
        return propertiesOf(body, event);
      }),
    );
    expect(published.flat().filter(({ description }) => description === undefined)).toEqual([]);
    // Checks the walk itself against a text search.
    const named = JSON.stringify(servedDocument().components.schemas).match(/"description":/g)?.length ?? 0;
    expect(properties.length).toBeGreaterThan(named / 2);
  });

  it("say what a property is where it is: no text hides one within, is of another thing or says nothing (HTTP-32)", () => {
    const all = everyProperty();
    const hidden = all.filter(({ within, description }) => within.some((text) => text !== description));
    expect(hidden).toEqual([]);
    const isEmpty = /^(?:When|Why|Its id|The objects?|It is \w+|Shown only here|Null: [^.]*)\.$/;
    expect(all.filter(({ at, description = "" }) => isEmpty.test(description) && !at.endsWith(".data"))).toEqual([]);
    const ofObjects = all.filter(
      ({ isObject, description = "" }) => isObject && /^(?:The e-mail address|When|How many days)/.test(description),
    );
    expect(ofObjects).toEqual([]);
    const ids = [
      ...all.map(({ description = "" }) => description),
      ...operations().flatMap(({ operation }) =>
        (operation.parameters ?? []).map(({ description = "" }) => description),
      ),
    ];
    expect(ids.filter((text) => /\b(?:api key|the id of the webhook)\b/.test(text))).toEqual([]);
  });

  it("describe every parameter (HTTP-32)", () => {
    const parameters = operations().flatMap(({ path, operation }) =>
      (operation.parameters ?? []).map(({ name, description = "" }) => [path, name, description.endsWith(".")]),
    );
    expect(parameters.filter(([, , isDescribed]) => isDescribed !== true)).toEqual([]);
  });

  it("are of fields that are there", () => {
    const used = JSON.stringify(servedDocument());
    const unused = Object.values(FIELD_TEXTS).filter((text) => !used.includes(JSON.stringify(text).slice(1, -1)));
    expect(unused).toEqual([]);
  });

  it("give of each error its cause and its cure (HTTP-32)", () => {
    const { responses } = servedDocument().components;
    for (const code of ERROR_CODES) {
      const { cause, cure } = ERRORS[code];
      expect([code, cause.endsWith("."), cure.endsWith("."), cause === cure]).toEqual([code, true, true, false]);
    }
    for (const [name, { description }] of Object.entries(responses)) {
      for (const code of ERROR_CODES.filter((one) => name.split("-or-").includes(one)))
        expect(description).toContain(`\`${code}\`: ${ERRORS[code].cause} ${ERRORS[code].cure}`);
    }
  });

  it("keep the operator's sections apart from the owner's (HTTP-31)", () => {
    const document = servedDocument();
    const [api, operator, others] = document["x-tagGroups"];
    expect([api?.name, operator?.tags, others?.tags.includes("Tracking")]).toEqual(["API", ["Operator"], true]);
    const grouped = document["x-tagGroups"].flatMap(({ tags }) => tags);
    expect(grouped.toSorted()).toEqual(document.tags.map(({ name }) => name).toSorted());
    for (const { path, operation } of operations()) {
      const isOperators = Object.keys(operation.security[0] ?? {})[0] === "operator_token";
      expect([path, operation.tags.includes("Operator")]).toEqual([path, isOperators]);
      expect([path, isOperators]).toEqual([path, path.startsWith("/admin/")]);
    }
  });
});
