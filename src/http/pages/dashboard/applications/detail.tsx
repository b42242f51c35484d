import type { SamePerson } from "../../../../core/applications/applications.ts";
import type { Application } from "../../../../core/kernel/rows.ts";
import type { PartnerView } from "../../../../core/kernel/views.ts";
import { PageHead } from "../../layout.tsx";
import { ActionButton, Form, TextArea, Actions } from "../../parts/form.tsx";
import { Badge, When } from "../../parts/figures.tsx";
import { Notice } from "../../parts/notice.tsx";
import { partnerText } from "../../parts/partner.tsx";
import { Facts } from "../../parts/table.tsx";
import { IfMay } from "../../rights.tsx";
import { applicantText } from "../../parts/shown-name.ts";
import { type Sent } from "../../act.ts";

const AT = "/dashboard/partners/applications";

export type Detailed = Pick<
  Application,
  | ("id" | "status" | "email" | "name" | "website" | "answers" | "terms_version" | "consented_at")
  | ("partner_id" | "note" | "created_at" | "decided_at")
>;

interface DetailProps {
  application: Detailed;
  same: SamePerson;
  /** Partners with a name like it. */
  similar: readonly PartnerView[];
  /** The refused input. */
  sent?: Partial<Sent> | undefined;
}

/** An application: the applicant, the answers, existing partners like it, and the decision. */
export function ApplicationDetail({ application, same, similar, sent = {} }: DetailProps) {
  const { id, status, answers } = application;
  const { problems } = sent;
  return (
    <>
      <PageHead
        title={
          <>
            <bdi>{applicantText(application) ?? "Application, deleted"}</bdi> <Badge state={status} />
          </>
        }
        back={{ href: AT, label: "Applications" }}
        actions={
          status === "pending" ? <ActionButton action={`${AT}/${id}/approve`} label="Approve" kind="primary" /> : null
        }
      />
      {problems && Object.keys(problems.fields).length === 0 ? (
        <Notice tone="warn">
          <p role="alert">{problems.message}</p>
        </Notice>
      ) : null}
      {same.partner && same.partner.id !== application.partner_id ? (
        <Notice tone="warn">
          <p>
            This address belongs to <a href={`/dashboard/partners/${same.partner.id}`}>a partner</a>, who is{" "}
            {same.partner.status}. You cannot approve the application: decline it, or change the partner.
          </p>
        </Notice>
      ) : null}
      <div class="grid wide-left">
        <section class="card">
          <h2>Answers</h2>
          {answers === null || answers.length === 0 ? (
            <p class="muted">{answers === null ? "They are deleted." : "Your program has no extra questions."}</p>
          ) : (
            <dl class="answers">
              {answers.map(({ question, answer }) => (
                <div>
                  <dt>{question}</dt>
                  <dd>{answer || <span class="muted">no answer</span>}</dd>
                </div>
              ))}
            </dl>
          )}
        </section>
        <ApplicationFacts application={application} />
      </div>
      <Others application={application} same={same} similar={similar} />
      <IfMay right="manage">{status === "pending" ? <Decline id={id} sent={sent} /> : null}</IfMay>
    </>
  );
}

function ApplicationFacts({ application }: { application: Detailed }) {
  const { id, email, website, terms_version, consented_at, partner_id, note, created_at, decided_at } = application;
  return (
    <section class="card">
      <h2>Details</h2>
      <Facts
        rows={[
          ["E-mail (verified)", email ?? "Deleted"],
          website === null
            ? null
            : [
                "Website",
                <a href={website} rel="noopener noreferrer nofollow" target="_blank">
                  {website}
                </a>,
              ],
          ["Applied", <When at={created_at} />],
          [
            "Terms",
            consented_at === null ? (
              "There were none"
            ) : (
              <>
                Version {terms_version}, agreed to <When at={consented_at} />
              </>
            ),
          ],
          decided_at === null ? null : ["Decided", <When at={decided_at} />],
          partner_id === null ? null : ["Partner", <a href={`/dashboard/partners/${partner_id}`}>Open the partner</a>],
          note === null ? null : ["Your note", note],
          ["Id", <code>{id}</code>],
        ]}
      />
    </section>
  );
}

/** Partners and applications that may be the same person. */
function Others({ application, same, similar }: Pick<DetailProps, "application" | "same" | "similar">) {
  const others = similar.filter(({ id }) => id !== application.partner_id);
  if (others.length === 0 && same.earlier.length === 0) return null;
  return (
    <section class="card">
      <h2>Possibly the same person</h2>
      <ul>
        {others.map((partner) => (
          <li>
            Partner with a similar name: <a href={`/dashboard/partners/${partner.id}`}>{partnerText(partner)}</a>,{" "}
            {partner.email}, {partner.status}
          </li>
        ))}
        {same.earlier.map(({ id, status, created_at }) => (
          <li>
            Application with the same address: <a href={`${AT}/${id}`}>{status}</a>, <When at={created_at} only="day" />
          </li>
        ))}
      </ul>
    </section>
  );
}

function Decline({ id, sent }: { id: string; sent: Partial<Sent> }) {
  return (
    <section class="card form-narrow">
      <h2>Decline</h2>
      <Form action={`${AT}/${id}/decline`} class="stack" values={sent.fields}>
        <TextArea
          name="note"
          label="Note to the applicant"
          problems={sent.problems}
          maxlength={1_000}
          hint="Included in the e-mail to the applicant. The application is deleted after 90 days."
        />
        <Actions submit="Decline" kind="danger" />
      </Form>
    </section>
  );
}
