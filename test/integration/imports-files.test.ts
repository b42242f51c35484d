/** Files of partners that are read in any encoding, or refused as a whole (IMP-1). */
import { describe, expect, it } from "vitest";
import { countsOf, eventsOf, partnersOf, sendImport } from "../support/imports.ts";
import { makeProgram, programContext } from "../support/program.ts";
import { importPartners } from "../../src/core/imports/partners.ts";

describe("a file that is (IMP-1)", () => {
  const query = { kind: "partners" };

  it("in Windows-1252 or UTF-16 is read as well, under an Idempotency-Key too", async () => {
    const text = "email;code;first_name\r\nzoe@old.example;zoe;Zoë\r\n";
    const latin = Uint8Array.from(text, (char) => char.charCodeAt(0));
    const utf16 = new Uint8Array([0xff, 0xfe, ...[...text].flatMap((char) => [char.charCodeAt(0), 0])]);
    for (const [i, bytes] of [latin, utf16].entries()) {
      const program = await makeProgram();
      await sendImport(program, query, bytes, { "idempotency-key": `import-${i}` });
      expect((await partnersOf(program))[0]?.first_name).toBe("Zoë");
    }
  });

  it("sent again under the same Idempotency-Key gets the stored reply; a dry run is another request", async () => {
    const program = await makeProgram();
    const file = "email,code\nann@old.example,ann\n";
    const headers = { "idempotency-key": "once" };
    const first = await sendImport(program, query, file, headers);
    const second = await sendImport(program, query, file, headers);
    expect(second.headers.get("idempotent-replayed")).toBe("true");
    expect(second.body).toEqual(first.body);
    const dry = await sendImport(program, { ...query, dry_run: "true" }, file, headers);
    expect(dry.status).toBe(422);
  });

  it.each([
    ["empty", "", "The file is empty."],
    ["only names", "email,code\n", "There is no line below the column names."],
    [
      "without the code",
      "email,name\na@b.co,x",
      "No column has the code in the partner's link. Choose one, or name one code.",
    ],
    ["with a name twice", "email,code,E-mail\na@b.co,a,b@b.co", "The column email occurs twice."],
    ["all columns", `${"x,".repeat(1_000)}x\n1\n`, "The file has 1001 columns; the limit is 200."],
    ["cut off", 'email,code\n"a@b.co,a', "A quoted cell is not closed."],
    ["a spreadsheet", "PK\u0003\u0004\u0014\0", "This is not a CSV file. Export or save it as CSV."],
  ])("%s is refused as a whole", async (_, file, message) => {
    const program = await makeProgram();
    const { status, body } = await sendImport(program, query, file);
    expect([status, body.error?.code, body.error?.details]).toEqual([
      ...[422, "validation_failed", [{ path: "body", message }]],
    ]);
  });

  it("too long or too large is refused, and one at the limit is not", async () => {
    const program = await makeProgram();
    const file = (count: number) =>
      ["email,code", ...Array.from({ length: count }, (_, i) => `p${i}@many.example,p${i}`)].join("\n");
    const tooMany = await sendImport(program, query, file(5_001));
    expect(tooMany.body.error?.details?.[0]?.message).toBe("The file has 5001 lines; the limit is 5000 at a time.");
    const tooLarge = await sendImport(program, query, `email,code\n${"x".repeat(1024 * 1024)}`);
    expect([tooLarge.status, tooLarge.body.error?.code]).toEqual([413, "payload_too_large"]);
    const most = await sendImport(program, query, file(5_000));
    expect([most.status, countsOf(most.body)]).toEqual([200, [5_000, 0, 0, 0, 0]]);
    expect(await eventsOf(program, "partner.created")).toBe(5_000);
    const other = await program.api("POST", "/api/v1/partners", { metadata: { x: "x".repeat(70_000) } });
    expect(other.status).toBe(413);
  });

  it("not text/csv, or asked for with what is unknown, is refused", async () => {
    const program = await makeProgram();
    const file = "email,code\nann@old.example,ann\n";
    const json = await sendImport(program, query, file, { "content-type": "application/json" });
    expect([json.status, json.body.error?.code]).toEqual([415, "unsupported_media_type"]);
    for (const [name, value] of [
      ["kind", "clicks"],
      ["product", "constructor"],
      ["dry_run", "yes"],
      ["param", "a b"],
      ["status", "deactivated"],
      ["provider", "provider_none"],
      ["columns", "{"],
      ["columns", '["code"]'],
      ["columns", '{"email":"customer_id"}'],
      ["columns", '{"nothing":"code"}'],
    ] as const) {
      const { status, body } = await sendImport(program, { ...query, [name]: value }, file);
      expect([name, status, body.error?.details?.[0]?.path]).toEqual([name, 422, name]);
    }
    expect(await partnersOf(program)).toEqual([]);
  });

  it("more lines than core takes is refused there too", async () => {
    const program = await makeProgram();
    const line = {
      line: 2,
      input: { email: "a@b.co" },
      codes: ["a"],
      promotion_codes: [],
      group: null,
      status: "invited" as const,
    };
    const lines = Array.from({ length: 5_001 }, () => line);
    await expect(importPartners(programContext(program), lines, "invited")).rejects.toMatchObject({
      code: "validation_failed",
    });
  });
});
