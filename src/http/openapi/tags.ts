/** The sections of the document. */
export const TAGS = {
  Program: "The program's settings and its connections.",
  Team: "The people who sign in to the dashboard, and what they may do there.",
  Partners: "The people who refer customers, with their links, promotion codes and applications.",
  Flows: "Rules that decide what a payment earns. The first whose conditions all match applies.",
  Payments: "Payments from providers, and their outcomes.",
  Facts: "What your own server reports: leads, and the sales and refunds of a checkout without a payment provider.",
  Commissions: "Partners' earnings.",
  Claims: "Missing-sale claims and decisions.",
  Payouts: "What partners are paid: generated for a period, then paid by transfer or by hand.",
  Clicks: "Clicks on referral links.",
  Events: "The audit log.",
  Webhooks: "Endpoints of yours that receive events, signed and retried.",
  Customers: "Erasure of a customer's e-mail address.",
  Operator: "For the person who runs the deployment, with its ADMIN_TOKEN. Without that secret, /admin answers 404.",
  Inbound: "Called by the payment providers and verified by their signatures.",
  Tracking: "Called by visitors' browsers; needs no key.",
  Service: "The service itself.",
} as const;

export type Tag = keyof typeof TAGS;
