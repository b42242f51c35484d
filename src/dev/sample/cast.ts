/** The people of the sample. Their addresses end in `.example`, so that no e-mail can reach anybody. */

export interface Member {
  first_name: string;
  last_name: string;
  slug: string;
  /** The site or channel that their visitors come from. */
  referrer: string;
  country: string;
  group: "creators" | "agencies" | null;
  /** How many visitors they bring, beside the others. */
  weight: number;
  /** How many days ago they joined. */
  joined: number;
  payout: "wallet" | "bank_transfer" | null;
  code?: string;
  /** Their own rate in percent. */
  rate?: number;
}

type Row = [
  ...[first_name: string, last_name: string, slug: string, referrer: string, country: string],
  ...[group: Member["group"], weight: number, joined: number, payout: Member["payout"]],
  ...[more?: Pick<Member, "code" | "rate">],
];

const ROWS: Row[] = [
  ["Maya", "Lindqvist", "maya", "https://maya.example/", "SE", "creators", 16, 362, "wallet", { code: "MAYA20" }],
  ["Tomás", "Herrera", "tomas", "https://www.youtube.com/", "ES", "creators", 13, 360, "wallet", { code: "TOMAS15" }],
  ["Priya", "Raman", "priya", "https://saasnotes.example/", "IN", "creators", 11, 355, "bank_transfer"],
  ["Daniel", "Okafor", "daniel-okafor", "https://okafor.example/blog", "NG", "creators", 9, 350, "wallet"],
  ["Claire", "Beaumont", "claire", "https://atelier-web.example/", "FR", "agencies", 9, 341, "bank_transfer"],
  ["Northlight", "Studio", "northlight", "https://northlight.example/", "GB", "agencies", 10, 330, "bank_transfer"],
  ["美咲", "山田", "misaki", "https://note.example/misaki", "JP", "creators", 8, 322, "wallet", { code: "MISAKI" }],
  ["ليلى", "منصور", "layla", "https://layla.example/", "AE", "creators", 6, 310, "wallet"],
  ["Jonas", "Weber", "jonas", "https://toolvergleich.example/", "DE", null, 8, 301, "bank_transfer"],
  ["Hannah", "Whitfield", "hannah", "https://www.linkedin.com/", "GB", "creators", 5, 288, "wallet"],
  ["Sofia", "Marchetti", "sofia", "https://sofiascrive.example/", "IT", null, 5, 272, "wallet"],
  [
    "Maximiliane",
    "von Hohenfels-Brandenstein-Waldburg",
    "maximiliane",
    "https://hohenfels.example/",
    "AT",
    "agencies",
    6,
    263,
    "bank_transfer",
  ],
  [
    "Ben",
    "Carter",
    "bencarter",
    "https://indiefounders.example/",
    "US",
    "creators",
    12,
    250,
    "wallet",
    { code: "BEN10" },
  ],
  ["Aoife", "Byrne", "aoife", "https://news.ycombinator.com/", "IE", null, 4, 236, "bank_transfer"],
  ["Lucas", "Ferreira", "lucas", "https://www.reddit.com/", "BR", null, 4, 221, "wallet"],
  ["Ingrid", "Haugen", "ingrid", "https://haugen.example/", "NO", "agencies", 5, 207, "bank_transfer"],
  ["Kwame", "Mensah", "kwame", "https://accrabuilds.example/", "GH", "creators", 3, 190, "wallet"],
  ["Emily", "Tran", "emilytran", "https://emilyships.example/", "US", "creators", 8, 171, "wallet", { code: "EMILY" }],
  ["Mateusz", "Kowalczyk", "mateusz", "https://kowalczyk.example/", "PL", null, 3, 155, "bank_transfer"],
  ["Chloe", "Dubois", "chloe", "https://chloe-no-code.example/", "CA", "creators", 4, 133, "wallet"],
  ["Ravi", "Shankar", "ravi", "https://x.example/ravi", "IN", null, 2, 110, null],
  ["Olivia", "Grant", "olivia", "https://olivia.example/newsletter", "AU", "creators", 6, 92, "wallet", { rate: 35 }],
  ["Noor", "van Dijk", "noor", "https://noorvandijk.example/", "NL", null, 3, 64, "bank_transfer"],
  ["Samuel", "Adeyemi-Oluwaseun Fitzgerald", "samuel", "https://fitz.example/", "US", null, 2, 41, null],
  ["Yuki", "Tanaka", "yuki", "https://yuki.example/", "JP", null, 2, 23, null],
];

export const CAST: readonly Member[] = ROWS.map(
  ([first_name, last_name, slug, referrer, country, group, weight, joined, payout, more]) => {
    return { first_name, last_name, slug, referrer, country, group, weight, joined, payout, ...more };
  },
);

/** Invited, and has not signed in yet. */
export const INVITED = { first_name: "Grace", last_name: "Kim", slug: "grace-kim", email: "grace@kim.example" };
/** A partner who left. */
export const LEFT = "kwame";

export const emailOf = ({ slug }: { slug: string }): string => `${slug}@partners.example`;

/** Countries of visitors, with their weights. */
export const VISITORS = [
  { country: "US", weight: 34 },
  { country: "GB", weight: 15 },
  { country: "DE", weight: 13 },
  { country: "FR", weight: 8 },
  { country: "JP", weight: 7 },
  { country: "CA", weight: 6 },
  { country: "NL", weight: 5 },
  { country: "IN", weight: 5 },
  { country: "AU", weight: 4 },
  { country: "BR", weight: 3 },
];

export const LANDINGS = [
  { path: "/", weight: 42 },
  { path: "/pricing", weight: 26 },
  { path: "/features", weight: 12 },
  { path: "/blog/getting-started", weight: 9 },
  { path: "/compare", weight: 7 },
  { path: "/templates", weight: 4 },
];

const GIVEN =
  "Anna Marco Leila Peter Sara Victor Nina Oscar Julia Henry Elena Louis Mia Arthur Zoe Felix Ada Hugo Iris Leon";
const FAMILY =
  "Novak Rossi Schmidt Dupont Silva Jensen Moreau Walsh Keller Sato Nowak Bauer Costa Evans Lang Petit Ito Berg";
const HOSTS = [
  "acme",
  "brightside",
  "cobalt",
  "driftwood",
  "evergreen",
  "fjord",
  "harbor",
  "juniper",
  "lumen",
  "orchard",
];

/** The address of the nth customer, of 360. */
export function customerEmail(n: number): string {
  const [given, family] = [GIVEN.split(" "), FAMILY.split(" ")];
  const first = given[n % given.length]!;
  const last = family[(Math.floor(n / given.length) + 5 * (n % given.length)) % family.length]!;
  return `${first}.${last}@${HOSTS[(n * 3) % HOSTS.length]}.example`.toLowerCase();
}
