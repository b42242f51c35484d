// Written by src/dev/build-guides.ts.
import changelog from "./changelog.txt";
import deploy from "./deploy.txt";
import integrate from "./integrate.txt";
import migrate from "./migrate.txt";
import operate from "./operate.txt";
import payouts from "./payouts.txt";
import security from "./security.txt";
import start from "./start.txt";
import webhooks from "./webhooks.txt";

export const GUIDES = [
  { name: "start", title: "Start", about: "The local service, and a first sale step by step", html: start },
  { name: "integrate", title: "Integrate", about: "The script, the API, the typed client", html: integrate },
  { name: "migrate", title: "Migrate", about: "Imports from another product", html: migrate },
  { name: "payouts", title: "Payouts", about: "From an approved commission to the partner's money", html: payouts },
  { name: "webhooks", title: "Webhooks", about: "Endpoints, deliveries, and how to verify them", html: webhooks },
  { name: "deploy", title: "Deploy", about: "Configuration, upgrade, rollback, more than one database", html: deploy },
  { name: "operate", title: "Operate", about: "E-mail, monitoring, backups, rotating keys", html: operate },
  { name: "security", title: "Security", about: "What is protected by what, and what is not", html: security },
  { name: "changelog", title: "Changelog", about: "Changes of the API, by date", html: changelog },
];
