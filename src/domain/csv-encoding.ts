export type DecodedCsv = { ok: true; text: string } | { ok: false; message: string };

/** Decodes CSV as programs write it: UTF-8, UTF-16 with byte order mark, else Windows-1252 of spreadsheets. */
export function decodeCsv(bytes: Uint8Array): DecodedCsv {
  const text = textOf(bytes);
  // A spreadsheet file is a ZIP archive; a file that contains NUL is not text in any of the three encodings.
  if (text.startsWith("PK\u0003\u0004") || text.includes("\0")) {
    return { ok: false, message: "This is not a CSV file. Export or save it as CSV." };
  }
  return { ok: true, text };
}

function textOf(bytes: Uint8Array): string {
  const [first, second] = bytes;
  if (first === 0xff && second === 0xfe) return new TextDecoder("utf-16le").decode(bytes);
  if (first === 0xfe && second === 0xff) return new TextDecoder("utf-16be").decode(bytes);
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(bytes);
  } catch {
    return new TextDecoder("windows-1252").decode(bytes);
  }
}
