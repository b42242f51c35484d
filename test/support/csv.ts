/** A reader of RFC 4180, written from the RFC's grammar alone. */
export function readCsv(text: string): string[][] {
  const records: string[][] = [];
  let at = 0;
  while (at < text.length) {
    const record: string[] = [];
    for (;;) {
      let cell = "";
      if (text[at] === '"') {
        at += 1;
        for (;;) {
          if (at >= text.length) throw new Error("unclosed quote");
          if (text[at] === '"' && text[at + 1] === '"') {
            cell += '"';
            at += 2;
          } else if (text[at] === '"') {
            at += 1;
            break;
          } else cell += text[at++];
        }
      } else {
        while (at < text.length && text[at] !== "," && !text.startsWith("\r\n", at)) {
          if (text[at] === '"' || text[at] === "\r" || text[at] === "\n") throw new Error("bare character");
          cell += text[at++];
        }
      }
      record.push(cell);
      if (text[at] === ",") at += 1;
      else if (text.startsWith("\r\n", at)) {
        at += 2;
        break;
      } else throw new Error(`neither a comma nor a line end at ${at}`);
    }
    records.push(record);
  }
  return records;
}
