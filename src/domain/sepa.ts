/** The file of credit transfers in the form pain.001.001.09 (ISO 20022), within the rules of SEPA (OUT-27). */
import { decimalAmount } from "./currency.ts";
import type { Cents } from "./money.ts";
import type { Debtor } from "./payout-export.ts";
import type { BankDetails } from "./payout-details.ts";
import { sepaId, sepaName } from "./sepa-text.ts";

export const SEPA_CURRENCY = "EUR";

/** The most that one credit transfer can move: 999,999,999.99 EUR. */
const MAX_TRANSFER = 99_999_999_999;

export interface SepaFile {
  id: string;
  count: number;
  amount_cents: Cents;
  /** An ISO 8601 instant; its day in UTC is the requested day of execution. */
  created_at: string;
  debtor: Debtor;
}

export interface SepaTransfer {
  /** The payout's id. */
  id: string;
  amount_cents: Cents;
  to: BankDetails;
}

/** Whether a file can contain the transfer: to an IBAN, within the largest amount, and to a name it can write. */
export function fitsSepa({ amount_cents, to }: Omit<SepaTransfer, "id">): boolean {
  return to.iban !== undefined && amount_cents <= MAX_TRANSFER && sepaName(to.account_holder) !== null;
}

/** The file's beginning, before its transfers: the group header and the only payment information. */
export function sepaHead({ id, count, amount_cents, created_at, debtor }: SepaFile): string {
  const sums = `<NbOfTxs>${count}</NbOfTxs><CtrlSum>${decimal(amount_cents)}</CtrlSum>`;
  const name = `<Nm>${escaped(sepaName(debtor.name) ?? "")}</Nm>`;
  const [day = ""] = created_at.split("T");
  return `<?xml version="1.0" encoding="UTF-8"?>
<Document xmlns="urn:iso:std:iso:20022:tech:xsd:pain.001.001.09">
<CstmrCdtTrfInitn>
<GrpHdr><MsgId>${sepaId(id)}</MsgId><CreDtTm>${created_at.slice(0, 19)}Z</CreDtTm>${sums}<InitgPty>${name}</InitgPty></GrpHdr>
<PmtInf><PmtInfId>${sepaId(id)}</PmtInfId><PmtMtd>TRF</PmtMtd>${sums}<PmtTpInf><SvcLvl><Cd>SEPA</Cd></SvcLvl></PmtTpInf>
<ReqdExctnDt><Dt>${day}</Dt></ReqdExctnDt><Dbtr>${name}</Dbtr>${account("DbtrAcct", debtor.iban)}
<DbtrAgt><FinInstnId>${agent(debtor.bic)}</FinInstnId></DbtrAgt><ChrgBr>SLEV</ChrgBr>
`;
}

/** One transfer. */
export function sepaTransfer({ id, amount_cents, to }: SepaTransfer): string {
  const { iban = "", bic, account_holder } = to;
  const agentOf = bic === undefined ? "" : `<CdtrAgt><FinInstnId><BICFI>${bic}</BICFI></FinInstnId></CdtrAgt>`;
  return `<CdtTrfTxInf><PmtId><EndToEndId>${sepaId(id)}</EndToEndId></PmtId><Amt><InstdAmt Ccy="${SEPA_CURRENCY}">${decimal(amount_cents)}</InstdAmt></Amt>${agentOf}<Cdtr><Nm>${escaped(sepaName(account_holder) ?? "")}</Nm></Cdtr>${account("CdtrAcct", iban)}<RmtInf><Ustrd>${sepaId(id)}</Ustrd></RmtInf></CdtTrfTxInf>
`;
}

export const SEPA_FOOT = "</PmtInf>\n</CstmrCdtTrfInitn>\n</Document>\n";

function decimal(amount_cents: Cents): string {
  return decimalAmount(amount_cents, SEPA_CURRENCY);
}

function account(element: string, iban: string): string {
  return `<${element}><Id><IBAN>${iban}</IBAN></Id></${element}>`;
}

/** A debtor without a BIC is as the rulebook wants it. */
function agent(bic: string | null): string {
  return bic === null ? "<Othr><Id>NOTPROVIDED</Id></Othr>" : `<BICFI>${bic}</BICFI>`;
}

const ENTITIES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;" };

function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character]!);
}
