import { describe, expect, it } from "vitest";
import { amountIn, readResultFile, type ResultFile } from "../../src/domain/result-file.ts";
import { readXml, xmlAttribute, xmlText } from "../../src/domain/xml.ts";

function read(text: string): ResultFile {
  const steps = readResultFile(text);
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

function linesOf(text: string) {
  const file = read(text);
  if (!file.ok) throw new Error(file.message);
  return file.lines;
}

const report = (inside: string) =>
  `<?xml version="1.0" encoding="UTF-8"?>\n<Document xmlns="urn:iso:std:iso:20022:tech:xsd:pain.002.001.10"><CstmrPmtStsRpt>
${inside}</CstmrPmtStsRpt></Document>`;

describe("a result file", () => {
  it("is a CSV with the columns of PayPal, of a bank, or its own, in any order (OUT-28)", () => {
    const line = { reported: "paid", reason: null, amount: null, currency: null };
    expect(linesOf("payout_id,status,reason\npay_1,paid,\n")).toEqual([
      { ...line, line: 2, reference: "pay_1", status: "paid" },
    ]);
    expect(
      linesOf(
        'Transaction ID,Unique ID,Gross Amount,Currency,Status,Error Message\n0C4,pay_1,"-1,234.50",USD,Completed,\n',
      ),
    ).toEqual([{ ...line, line: 2, reference: "pay_1", status: "Completed", amount: "-1,234.50", currency: "USD" }]);
    expect(linesOf("Status;End to End ID;Reason Code\r\n\r\nRJCT;pay-1;AC04\r\n")).toEqual([
      { ...line, line: 3, reference: "pay-1", status: "RJCT", reported: "failed", reason: "AC04" },
    ]);
  });

  it.each([
    ["SUCCESS", "paid"],
    ["acsc", "paid"],
    ["Denied", "failed"],
    ["Canceled", "failed"],
    ["RETURNED", "returned"],
    ["On hold", "open"],
    ["Unclaimed", "open"],
    // Accepted by the bank, and not yet paid.
    ["ACCP", "open"],
    ["ACSP", "open"],
    ["Teleported", null],
    ["", null],
  ])("reports %s as %s", (status, reported) => {
    expect(linesOf(`payout_id,status\npay_1,${status}\n`)[0]?.reported).toBe(reported);
  });

  it("is a pain.002 with the status of each transfer, or of all (OUT-28)", () => {
    const file = read(
      report(`<OrgnlGrpInfAndSts><OrgnlMsgId>exp-1</OrgnlMsgId><GrpSts>PART</GrpSts></OrgnlGrpInfAndSts>
<OrgnlPmtInfAndSts><OrgnlPmtInfId>exp-1</OrgnlPmtInfId><PmtInfSts>PART</PmtInfSts>
<TxInfAndSts><OrgnlEndToEndId>pay-1</OrgnlEndToEndId><TxSts>ACSC</TxSts>
<OrgnlTxRef><Amt><InstdAmt Ccy="EUR">12.34</InstdAmt></Amt></OrgnlTxRef></TxInfAndSts>
<x:TxInfAndSts xmlns:x="urn:x"><x:OrgnlEndToEndId>pay-2</x:OrgnlEndToEndId><x:TxSts>RJCT</x:TxSts>
<x:StsRsnInf><x:Rsn><x:Cd>AC04</x:Cd></x:Rsn><x:AddtlInf>Closed &amp; gone</x:AddtlInf></x:StsRsnInf></x:TxInfAndSts>
</OrgnlPmtInfAndSts>`),
    );
    expect(file).toEqual({
      ok: true,
      message_id: "exp-1",
      lines: [
        {
          line: 5,
          reference: "pay-1",
          status: "ACSC",
          reported: "paid",
          reason: null,
          amount: "12.34",
          currency: "EUR",
        },
        {
          line: 7,
          reference: "pay-2",
          status: "RJCT",
          reported: "failed",
          reason: "AC04 Closed & gone",
          amount: null,
          currency: null,
        },
      ],
    });
    const refused = report(
      "<OrgnlGrpInfAndSts><OrgnlMsgId>exp-1</OrgnlMsgId><GrpSts>RJCT</GrpSts><StsRsnInf><Rsn><Prtry>X1</Prtry></Rsn></StsRsnInf></OrgnlGrpInfAndSts>",
    );
    expect(linesOf(refused)).toMatchObject([{ reference: null, reported: "failed", reason: "X1", line: 3 }]);
    // The bank has accepted all of it: the money has not moved.
    expect(linesOf(refused.replace("RJCT", "ACCP"))).toEqual([]);
  });

  it.each([
    ["", null, "empty"],
    ["payout_id,reason\npay_1,x\n", 1, "status"],
    ["status,reason\npaid,x\n", 1, "payout's id"],
    ['payout_id,status\npay_1,paid\npay_2,"pa"id\n', 3, "quote"],
    ['payout_id,status\npay_1,"paid\n', null, "not closed"],
    [`payout_id,status\n${"pay_1,paid\n".repeat(10_001)}`, null, "10000 lines"],
    ["<html></html>", 1, "pain.002"],
    [
      report("<OrgnlPmtInfAndSts>\n<TxInfAndSts><TxSts>ACSC</TxSts></TxInfAndSts></OrgnlPmtInfAndSts>"),
      4,
      "OrgnlEndToEndId",
    ],
    [report("<a>\n\n</b>"), 5, "fits no start tag"],
  ])("is refused with the line: %j", (text, line, message) => {
    expect(read(text)).toEqual({ ok: false, line, message: expect.stringContaining(message) as string });
  });

  it.each([
    ["1234.56", 2, 123_456],
    ["-1,234.56", 2, 123_456],
    ["1.234,56", 2, 123_456],
    ["1'234.5", 2, 123_450],
    ["1,234", 2, 123_400],
    ["1,234", 3, 1_234],
    ["500", 0, 500],
    ["500.00", 0, 500],
    ["500.50", 0, null],
    ["12.345", 2, 1_234_500],
    ["1,23,4", 2, null],
    ["abc", 2, null],
    ["", 2, null],
    ["9".repeat(40), 2, null],
  ])("reads the amount %s of a currency with %i decimals", (text, exponent, amount) => {
    expect(amountIn(text, exponent)).toBe(amount);
  });
});

describe("the XML reader", () => {
  it("reads elements, attributes and character references", () => {
    const read = readXml(
      `\uFEFF<?xml version="1.0"?><!-- a > b --><a x='1'><b y = "2>3"/>&lt;&#65;&#x42; <c> t </c></a>\n<!-- end -->`,
    );
    if (!read.ok) throw new Error(read.message);
    const { root } = read;
    expect([root.name, root.text, xmlText(root, "c"), xmlText(root, "b")]).toEqual(["a", "<AB", "t", null]);
    expect([xmlAttribute(root, "x"), xmlAttribute(root.children[0]!, "y"), xmlAttribute(root, "y")]).toEqual([
      "1",
      "2>3",
      null,
    ]);
  });

  it.each([
    '<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>',
    "<a>&x;</a>",
    "<a>&amp</a>",
    "<a>&#0;</a>",
    "<a>&#xD800;</a>",
    "<a><![CDATA[x]]></a>",
    "<a><?php ?></a>",
    "<a><b></a></b>",
    "<a>",
    "</a>",
    "<a/><b/>",
    "x<a/>",
    "<a/>x",
    "<a x=1/>",
    "<a x='<'/>",
    "<!-- ",
    "",
    "<".repeat(10),
    "<a>".repeat(40) + "</a>".repeat(40),
  ])("refuses %s", (text) => {
    expect(readXml(text)).toMatchObject({ ok: false });
  });
});
