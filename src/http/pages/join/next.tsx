/** The steps between the form and the first payout (JOIN-11). */
import type { Child } from "../../jsx.ts";
import type { Program } from "../../../core/kernel/rows.ts";
import { programText } from "../parts/shown-name.ts";

/** The stages of an application that its applicant sees. */
const STAGES = ["sent", "waiting", "partner"] as const;
type Stage = (typeof STAGES)[number];

interface NextProps {
  program: Program;
  /** The present stage. */
  at: Stage;
}

/** All steps to the first sale, with those that are done ticked. */
export function NextSteps({ program, at }: NextProps) {
  const name = <bdi>{programText(program)}</bdi>;
  const isReviewed = program.applications === "review";
  const steps: [until: Stage, text: Child][] = [
    [
      "sent",
      at === "sent" ? "Confirm your address: open the link in our e-mail within 24 hours." : "Address confirmed.",
    ],
    ...(isReviewed
      ? [["waiting", <>{name} reviews your application and e-mails you the decision.</>] as [Stage, Child]]
      : []),
    [
      "partner",
      `${at !== "partner" && isReviewed ? "If it is approved, the" : "Our"} e-mail has your link and a button that signs you in.`,
    ],
    ["partner", "Share your link. Your partner portal shows clicks, commissions and payouts."],
    ["partner", "Add your payout details, so that you can be paid."],
  ];
  const done = STAGES.indexOf(at);
  return (
    <>
      <h2>Next steps</h2>
      <ol class="steps">
        {steps.map(([until, text], i) => {
          const isDone = STAGES.indexOf(until) < done;
          return (
            <li class={isDone ? "step yes" : "step"}>
              <span class="step-mark" aria-hidden="true">
                {isDone ? "✓" : i + 1}
              </span>
              <div class="step-body">
                <p>
                  {isDone ? <span class="visually-hidden">Done: </span> : null}
                  {text}
                </p>
              </div>
            </li>
          );
        })}
      </ol>
    </>
  );
}

/** The way to the product while the applicant waits; empty for a program without a site. */
export function SiteLink({ program: { domain } }: { program: Program }) {
  if (domain === null) return null;
  return (
    <p>
      <a class="button wide" href={`https://${domain}/`}>
        Visit {domain}
      </a>
    </p>
  );
}
