/** The pieces of a file as a response that names it: the arguments of `c.body`. */
export function download(name: string, media_type: string, pieces: AsyncIterable<string>) {
  const headers = { "Content-Type": media_type, "Content-Disposition": `attachment; filename="${name}"` };
  return [streamOf(pieces), 200, headers] as const;
}

/** The same for a CSV file. `name` has no ending; `header` is whether the first line names the columns. */
export function csvDownload(name: string, pieces: AsyncIterable<string>, header: "absent" | "present" = "present") {
  return download(`${name}.csv`, `text/csv; charset=utf-8; header=${header}`, pieces);
}

/** Pulls the next piece when the reader is ready for it, and stops once the reader is gone. */
function streamOf(pieces: AsyncIterable<string>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const iterator = pieces[Symbol.asyncIterator]();
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await iterator.next();
      if (done) controller.close();
      else controller.enqueue(encoder.encode(value));
    },
    async cancel() {
      await iterator.return?.();
    },
  });
}
